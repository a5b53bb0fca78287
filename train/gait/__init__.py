"""The training and the use of gait networks."""
