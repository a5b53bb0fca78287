"""Families with people and moving things; levels with heights."""
