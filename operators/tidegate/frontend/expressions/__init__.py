"""Scalar expressions: names, types, functions, times."""
