"""Families that resemble real places: homes, offices, shops, gardens, storeys."""
