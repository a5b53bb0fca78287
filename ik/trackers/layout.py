"""Input and output layout of body trackers, per network step.

All positions and velocities are in the head's frame: its origin on the ground under the head,
its yaw that of the head. They are divided by the body's scale (standing height over that of
human23).

Input: for each row of `TARGETS` position (3), rotation (6), velocity (3), angular velocity (3),
presence (1), age (1, time since its last sample over `FORGET`); then the logarithms of the
lengths of trunk, arms and legs over the scale (3), and the time since the last network step
over `TICK` (1). A lost tracker keeps its last position in the world with zero velocity; after
`FORGET`, or if it was never present, all is 0 and its age 1.

Output: hips in the frame (3), then six numbers of each joint's local rotation (of the hips in
the frame), both `lead` seconds ahead of the input; logits of contacts of left heel, left ball,
right heel, right ball (4); corrections of the logarithms of trunk, arms and legs (3) and the
logarithms of their variances (3).
"""

from __future__ import annotations

from ambulo.ik.avatar.layout import ANKLE, CLAVICLES, HAND, HEAD, PELVIS, THIGHS
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers.sizes import INPUTS, TRACKERS, WIDTH

assert len(TARGETS) == TRACKERS
TRACKED = (
    CLAVICLES[0] + HAND,
    CLAVICLES[1] + HAND,
    THIGHS[0] + ANKLE,
    THIGHS[1] + ANKLE,
    HEAD,
    PELVIS,
)
"""The tracked joint of each tracker, in the order of `TARGETS`."""
LEFT_HAND, RIGHT_HAND, LEFT_FOOT, RIGHT_FOOT, HEAD_ROW, HIPS_ROW = range(TRACKERS)
POSITION, ROTATION, VELOCITY, SPIN, PRESENT, AGE = 0, 3, 9, 12, 15, 16
"""First column of each quantity of a tracker."""
SHAPE = WIDTH * TRACKERS
"""First of the three columns of the proportions."""
STEP = SHAPE + 3
"""Column of the time since the last network step."""
assert STEP + 1 == INPUTS

TICK = 1.0 / 30.0
"""Nominal time between network steps, [s]."""
FORGET = 2.0
"""Time for which the last position of a lost tracker is an input, [s]."""
