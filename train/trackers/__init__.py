"""Training of body trackers."""
