"""Trained agents, one folder each with its card, in the safe format (no pickles)."""
