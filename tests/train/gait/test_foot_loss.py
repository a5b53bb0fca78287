"""The feet of predicted poses against the whole body's kinematics."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ambulo.configs.gait import gait_space
from ambulo.motion.gaits.frames import frame_rate, motion_of
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.human23 import to_sixdof
from ambulo.motion.landmarks import body_points, foot_points
from ambulo.train.gait.foot_loss import STILL, feet_loss, foot_velocities, legs_of

SPACE = gait_space("human23")


@pytest.fixture
def bodies() -> tuple[np.ndarray, np.ndarray]:
    """Parameters (5, P) and frames (5, 8, 101) of moving bodies."""
    rng = np.random.default_rng(3)
    params = SPACE.sample(rng, 5)
    paths = np.cumsum(0.05 * rng.standard_normal((5, 8, 56)), axis=1)
    frames = np.asarray(to_sixdof(paths))
    frames[..., 6:8] = 0.04 + 0.01 * rng.standard_normal((5, 8, 2))
    return params, frames


def test_feet_move_as_those_of_the_whole_body(
    bodies: tuple[np.ndarray, np.ndarray],
) -> None:
    params, frames = bodies
    legs = legs_of(SPACE, SPACE.normalize(params).astype(np.float32))
    rates = frame_rate(SPACE, params)
    np.testing.assert_allclose(legs.rate, rates, rtol=1e-5)
    for body, row in enumerate(params):
        skeleton = gait_skeleton(SPACE, row)
        motion = motion_of(frames[body], float(rates[body]), skeleton)
        places = body_points(motion)
        tensor = torch.from_numpy(frames[body]).float()
        rows = torch.full((7,), body)
        found = foot_velocities(tensor[:-1], tensor[1:], legs[rows]).numpy()
        for side, (name, letter) in enumerate([("left", "L"), ("right", "R")]):
            ankle, pinky, thumb = (
                skeleton.index(joint + letter)
                for joint in ("Talus", "FootPinky", "FootThumb")
            )
            heel = len(skeleton) + skeleton.tip_parents.index(ankle)
            ends = [
                len(skeleton) + skeleton.tip_parents.index(t) for t in (pinky, thumb)
            ]
            points = [ankle, heel, pinky, thumb, *ends]
            assert set(points) == set(foot_points(skeleton, name))
            wanted = np.diff(places[:, points], axis=0) * motion.fps
            np.testing.assert_allclose(found[:, side], wanted, atol=2e-4)


def test_the_loss_is_the_squared_error_of_velocities_of_slow_points(
    bodies: tuple[np.ndarray, np.ndarray],
) -> None:
    params, frames = bodies
    legs = legs_of(SPACE, SPACE.normalize(params).astype(np.float32))
    true = torch.from_numpy(np.concatenate([frames[:, 0], frames[:, 1]])).float()
    assert feet_loss(true, true, legs).item() == 0.0
    faster = true.clone()
    faster[:, 6] += 0.3 / 30.0  # 0.3 m/s forward, of every point
    half = len(true) // 2
    speed = foot_velocities(true[:half], true[half:], legs).norm(dim=-1)
    share = (1.0 / (1.0 + (speed / STILL) ** 2)).mean().item()
    assert 0.0 < share < 0.5
    assert feet_loss(faster, true, legs).item() == pytest.approx(0.09 * share, rel=2e-3)
    bent = true.clone().requires_grad_(True)
    feet_loss(bent + 0.01, true, legs).backward()  # type: ignore[no-untyped-call]
    assert bent.grad is not None
    told = set(torch.nonzero(bent.grad.abs().sum(dim=0)).flatten().tolist())
    assert {0, 5, 6, 7, 8} < told  # root
    assert not told & set(range(60, 101))  # arms
