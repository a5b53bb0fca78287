"""Training and evaluation of VR navigation."""
