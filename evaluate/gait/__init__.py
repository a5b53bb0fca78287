"""Evaluation of gait networks and gait policies."""
