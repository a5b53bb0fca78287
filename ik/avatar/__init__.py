"""Full-body poses of a walking character from its head; its feet stay where they stand."""
