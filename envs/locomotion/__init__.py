"""Locomotion: characters that imitate a reference gait, follow commands or stand."""
