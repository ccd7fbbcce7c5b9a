"""The Spark runtime: the sole importer of pyspark."""
