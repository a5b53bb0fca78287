"""Many runs of one training: seeds, grids of settings, and what they show."""
