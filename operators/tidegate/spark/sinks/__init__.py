"""The end of an epoch: what tasks stage, and the driver commits."""
