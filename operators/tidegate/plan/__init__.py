"""Plan nodes and the passes over them."""
