"""Gait cycles: found in clips, measured, varied, and stored as frames and shards."""
