"""Sources and sinks: a connector has a folder, with a `connector.Connector` that speaks for it."""
