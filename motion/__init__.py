"""Skeletons, motions, rotations, kinematics, motion files and data sets.

Metres, Z up, radians, quaternions wxyz; at rest a character faces +X, its left is +Y.
"""
