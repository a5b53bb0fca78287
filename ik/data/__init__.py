"""Training data of poses: extracted from clips, kept in one file."""

POSE_FPS = 30.0
"""Rate of poses that are extracted, by default, [Hz]."""
STEP = 0.005
"""A pose is kept when a joint has moved this far in the root frame since the last kept
pose, [m]."""
MIN_UNIQUE = 500
"""Minimum number of unique poses for training."""
SEQUENCE_FPS = 60.0
"""Rate of sequences for body trackers, by default, [Hz]."""
