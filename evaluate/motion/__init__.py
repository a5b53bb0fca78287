"""Evaluation of motion prediction."""
