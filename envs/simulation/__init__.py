"""Batched MuJoCo simulation of characters."""
