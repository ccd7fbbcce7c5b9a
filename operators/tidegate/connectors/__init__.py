"""Sources and sinks: one connector per file, registered in `registry`."""
