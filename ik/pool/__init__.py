"""A pool of worker processes that solve poses."""
