"""References that are no cycles: clips of any movement, made feasible for a body."""
