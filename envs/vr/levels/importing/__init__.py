"""From the collision shapes of a Godot scene to a level."""
