"""Twins of shipped walkers, one JSON file each; see `ambulo.configs.twin`."""
