"""Evaluation of neural inverse kinematics."""
