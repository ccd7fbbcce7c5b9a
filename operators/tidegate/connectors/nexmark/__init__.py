"""The `nexmark` source: Nexmark's auctions, made from a seed."""
