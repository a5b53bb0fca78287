"""A clip of one skeleton, played by another."""
