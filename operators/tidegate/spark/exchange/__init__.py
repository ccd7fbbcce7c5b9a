"""Messages between fragments as Spark rows."""
