"""The two ends of an exchange: dispatcher and merger (S3)."""
