"""What the command line shows of a job: from its checkpoint, or its metrics."""
