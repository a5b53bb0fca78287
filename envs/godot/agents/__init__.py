"""The agents of a user's own Godot game: what they are, and how they are stepped."""
