"""Gait as a function of parameters: rescaled bodies, their gaits, and the environment."""
