"""Moving frames: a leash, and the way to the feet of those that stand."""

from __future__ import annotations

import numpy as np

from ambulo.envs.tasks.walk_commands.frames import (
    LEASH,
    TIED,
    TOUCHED_LEASH,
    go_on,
    stay_near,
    tie,
)


def test_a_frame_goes_to_the_side_too() -> None:
    anchor = np.array([[0.0, 0.0, np.pi / 2.0, 0.0]])
    go_on(anchor, np.array([0.5]), np.zeros(1), np.array([0.2]), 0.1)
    np.testing.assert_allclose(anchor, [[-0.02, 0.05, np.pi / 2.0, 0.0]], atol=1e-12)


def test_frames_are_on_a_leash_in_place_and_heading() -> None:
    anchor = np.array([[3.0, 1.0, 0.0, 0.0]] * 3 + [[0.05, 1.0, 0.0, 0.0]])
    root = np.tile([0.0, 1.0], (4, 1))
    yaw = np.array([0.1, -1.0, 1.0, 0.3])
    stay_near(anchor, root, yaw, np.array([False, False, True, False]))
    np.testing.assert_allclose(anchor[:, 0], [LEASH, LEASH, TOUCHED_LEASH, 0.05])
    np.testing.assert_allclose(anchor[:, 1], 1.0)
    np.testing.assert_allclose(anchor[:, 2], [0.0, -0.6, 0.6, 0.0])


def test_the_frame_of_a_standing_body_goes_to_its_feet() -> None:
    # Feet that look to the left, a body that stood with its ankles 0.02 m behind.
    c, s = 0.0, 1.0
    turn = np.array([c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0])
    feet = np.array([[[0.91, 2.0, 0.07], [1.09, 2.0, 0.07]]])
    anchor = np.zeros((1, 4))
    goal = np.array([1.0, 2.02, np.pi / 2.0, 0.0])
    tie(anchor, feet, np.tile(turn, (1, 2, 1)), -0.02)
    np.testing.assert_allclose(anchor[0], TIED * goal, atol=1e-12)
    for _ in range(40):
        tie(anchor, feet, np.tile(turn, (1, 2, 1)), -0.02)
    np.testing.assert_allclose(anchor[0], goal, atol=1e-5)
