"""The published comfort score and smoothness, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.vr.task.comfort import comfort_score, smoothness


@pytest.mark.parametrize(
    ("yaw_rate", "speed", "expected"),
    [
        (0.0, 0.0, 1.0),
        (0.7, 1.6, 1.0),  # at both limits is still comfortable
        (0.71, 0.0, 0.7),
        (-0.71, 0.0, 0.7),
        (0.0, 1.61, 0.8),
        (1.5, 2.0, 0.5),
    ],
)
def test_published_score(yaw_rate: float, speed: float, expected: float) -> None:
    score = comfort_score(np.array([yaw_rate]), np.array([speed]), 2.0)
    assert score[0] == pytest.approx(expected)


def test_smoothness_falls_with_acceleration() -> None:
    change = np.array([[0.0, 0.0], [0.3, 0.4], [0.0, -1.0], [3.0, 0.0]])
    np.testing.assert_allclose(smoothness(change, 0.1), [1.0, 0.5, 0.0, 0.0])
