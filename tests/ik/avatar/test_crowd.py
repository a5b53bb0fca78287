"""Many avatars walk as each would alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ambulo.ik.avatar.crowd import AvatarCrowd
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.policies.agents.avatar import load_avatar

DT = 0.1


@pytest.fixture(scope="module")
def avatar() -> AvatarPose:
    return load_avatar(prior=None)


def places(count: int, steps: int, seed: int = 0) -> np.ndarray:
    """Ways of players: x, y, ground, yaw. Shape (steps + 1, count, 4)."""
    rng = np.random.default_rng(seed)
    moves = rng.normal([0.05, 0.0, 0.0, 0.0], [0.02, 0.02, 0.0, 0.1], (steps, count, 4))
    return np.concatenate([np.zeros((1, count, 4)), np.cumsum(moves, axis=0)])


def walked(crowd: AvatarCrowd, ways: np.ndarray, parts: int = 3) -> None:
    everyone = np.arange(ways.shape[1])
    crowd.reset(everyone)
    crowd.step(everyone, ways[0], ways[0], DT, 1)
    for before, after in pairwise(ways):
        crowd.step(everyone, before, after, DT, parts)


def test_each_body_is_that_of_an_avatar_alone(avatar: AvatarPose) -> None:
    ways, parts = places(2, 12), 3
    crowd = AvatarCrowd(avatar, 2)
    walked(crowd, ways, parts)
    height = avatar.table.stand_head[2] + avatar.eyes[2]
    for body in range(2):
        avatar.reset()
        x, y, ground, yaw = ways[0, body]
        look = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        avatar.step((x, y, ground + height), look, DT)
        for before, after in pairwise(ways[:, body]):
            for k in range(1, parts + 1):
                x, y, ground, yaw = before + k / parts * (after - before)
                look = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
                frame = avatar.step((x, y, ground + height), look, DT / parts)
        np.testing.assert_allclose(crowd.positions[body], frame.positions, atol=1e-9)
        np.testing.assert_allclose(
            crowd.rotations[body, -1], frame.rotations, atol=1e-9
        )
        np.testing.assert_array_equal(crowd.roots[body, -1], crowd.positions[body, 0])


def test_bodies_do_not_depend_on_each_other(avatar: AvatarPose) -> None:
    ways = places(5, 8)
    many, few = AvatarCrowd(avatar, 5), AvatarCrowd(avatar, 2)
    walked(many, ways)
    walked(few, ways[:, :2])
    np.testing.assert_array_equal(many.positions[:2], few.positions)
    before = many.positions.copy()
    many.reset(np.array([3]))
    many.step(np.array([3]), ways[-1], ways[-1], DT, 3)
    others = [0, 1, 2, 4]
    np.testing.assert_array_equal(many.positions[others], before[others])
    assert not np.array_equal(many.positions[3], before[3])


def test_a_body_that_was_placed_elsewhere_does_not_run_there(
    avatar: AvatarPose,
) -> None:
    crowd, one = AvatarCrowd(avatar, 1), np.arange(1)
    here, there = np.zeros((1, 4)), np.array([[2.0, 0.0, 0.0, 0.0]])
    crowd.reset(one)
    crowd.step(one, here, here, DT, 1)
    standing = crowd.positions - crowd.positions[:, :1]
    crowd.step(one, here, there, DT, 3)
    assert np.ptp(crowd.roots[0, :, 0]) < 0.01  # there at once, and stays
    np.testing.assert_allclose(
        crowd.positions - crowd.positions[:, :1], standing, atol=0.05
    )
