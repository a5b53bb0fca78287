"""Inverse kinematics of the full body: network, refinement, workers, layers."""
