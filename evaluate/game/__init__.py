"""Evaluation of the policies of a Godot game."""
