"""The `datagen` source: orders made from a seed."""
