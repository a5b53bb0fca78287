"""Families of places that people build: homes, offices, shops, gardens, storeys."""
