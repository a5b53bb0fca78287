"""Targets in, poses out: a network's guess, refined."""
