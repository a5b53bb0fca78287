"""Sizes of the input and output of body trackers; importing them loads nothing."""

TRACKERS = 6
"""Number of trackers."""
WIDTH = 17
"""Columns of a tracker in the input."""
INPUTS = WIDTH * TRACKERS + 4
"""Size of the input: 106."""
JOINTS = 23
"""Number of joints of human23."""
POSE = 3 + 6 * JOINTS
"""Size of the pose in the output: 141."""
CONTACTS = POSE
"""First of the four logits of contacts."""
CORRECTION = CONTACTS + 4
"""First of the three corrections of proportions."""
VARIANCE = CORRECTION + 3
"""First of their log-variances."""
OUTPUTS = VARIANCE + 3
"""Size of the output: 151."""
