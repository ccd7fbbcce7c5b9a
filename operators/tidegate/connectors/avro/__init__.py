"""Avro datums to Arrow arrays and back, all rows of a chunk at once; see `connectors.avro_format`."""
