"""Avro datums to Arrow arrays and back, a chunk at once; see `connectors.formats.avro_format`."""
