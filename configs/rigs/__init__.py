"""Rigs as data."""
