"""Evaluation of policies that track clips."""
