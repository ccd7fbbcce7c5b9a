"""Where a job keeps what must outlive it: a local directory, or a bucket of S3 (see `base`)."""
