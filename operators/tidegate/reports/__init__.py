"""What is told of a job, running or stopped: status, watermarks, why, the live line; and replay."""
