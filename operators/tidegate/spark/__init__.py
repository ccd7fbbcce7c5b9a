"""The Spark runtime: the sole importer of pyspark.

An epoch goes through `source`, `exchange`, `stages` and `sinks`; `driver` and `runtime` carry it.
"""
