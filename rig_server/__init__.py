"""A server that learns one character's anatomy from the poses that an engine sends."""
