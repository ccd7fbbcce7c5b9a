"""Tables that a file declares: columns, options, watermarks."""
