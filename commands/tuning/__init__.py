"""Search for good settings of a training."""
