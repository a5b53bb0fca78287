"""Evaluation of VR navigation."""
