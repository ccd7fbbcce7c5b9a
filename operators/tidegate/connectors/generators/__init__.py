"""Rows made from a seed: orders, and Nexmark's auctions."""
