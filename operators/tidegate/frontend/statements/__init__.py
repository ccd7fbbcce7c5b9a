"""What statements other than queries mean: functions, plans, DROP, and what is asked."""
