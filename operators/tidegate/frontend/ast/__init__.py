"""What a file says, as data: its statements and queries as they were written."""
