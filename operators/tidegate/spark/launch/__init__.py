"""How Spark is started: settings, Java, jars, Python workers."""
