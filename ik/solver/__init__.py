"""The solver: a network's prediction, refined."""
