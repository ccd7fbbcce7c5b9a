"""What an epoch is: planned, read, entered, committed. It knows no Spark, which drives it."""
