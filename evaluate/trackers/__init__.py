"""Evaluation of body trackers."""
