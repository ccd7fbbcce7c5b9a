"""The same job without Spark: straight on (`local`), or under a seed (`world`)."""
