"""Motion commands, and training and evaluation of MotionNN."""
