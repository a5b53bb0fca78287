"""Evaluation of locomotion."""
