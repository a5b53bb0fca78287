"""Layers over an animation: additive, override and IK, with transitions."""
