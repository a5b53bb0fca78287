"""Training of the neural IK."""
