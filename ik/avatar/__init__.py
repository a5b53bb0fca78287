"""Full-body poses of a walking character from its head, with feet that stay where they stand."""
