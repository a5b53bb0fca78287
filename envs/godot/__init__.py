"""VR navigation in a running Godot engine: processes, HTTP transport and the world."""
