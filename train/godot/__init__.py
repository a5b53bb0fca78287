"""Training of the agents of a Godot game."""
