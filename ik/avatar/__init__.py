"""Full-body poses of a walking character from its head; feet in stance do not slide."""
