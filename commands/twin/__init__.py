"""Twins: what walkers do is measured, and fast models are fitted to it."""
