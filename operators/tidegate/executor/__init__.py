"""Pure operators: Arrow in, Arrow out; no Spark, no SQL parser, no broker."""
