"""Training data of poses: extracted from clips, kept in one file."""
