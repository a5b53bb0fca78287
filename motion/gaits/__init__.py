"""Gait cycles: extraction from clips, measurement, variants, and files of frames and shards."""
