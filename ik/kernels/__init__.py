"""Compiled arithmetic of inverse kinematics (numba)."""
