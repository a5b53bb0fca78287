"""Pictures, films and HTML parts, without windows."""
