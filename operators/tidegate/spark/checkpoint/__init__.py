"""What a job keeps: its description, the epoch log, the lease."""
