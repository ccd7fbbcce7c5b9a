"""Benchmarks: Tidegate side by side with its peers on the same bytes, in one run."""
