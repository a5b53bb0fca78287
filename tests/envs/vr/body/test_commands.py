"""Sticks become commands within the envelope of a walker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import Envelope
from ambulo.envs.vr.body.commands import StickCommands
from ambulo.envs.vr.contract import WorldSpec

SPEC = WorldSpec(max_speed=1.6, max_yaw_rate=np.radians(30.0))
AHEAD = Envelope(speed=(0.6, 1.6), turn=(-30.0, 30.0))
EVERYWHERE = Envelope(
    speed=(-0.2, 1.6), side=(-0.3, 0.3), turn=(-120.0, 120.0), lateral=0.8
)


def test_the_stick_points_as_in_vr_and_commands_stay_in_the_envelope():
    sticks = StickCommands(SPEC, AHEAD, "walker")
    stick = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, -0.5], [0.0, -1.0, 0.0]])
    expected = [[1.6, 0.0, -0.5236], [0.6, 0.0, 0.2618], [0.6, 0.0, 0.0]]
    np.testing.assert_allclose(sticks.of(stick), expected, atol=1e-4)


def test_side_steps_and_backwards_where_the_walker_does_them():
    spec = replace(SPEC, max_yaw_rate=np.radians(120.0))
    sticks = StickCommands(spec, EVERYWHERE, "walker")
    stick = np.array(
        [[0.1, 0.0, 0.0], [-1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.5, -0.25]]
    )
    # The third turns no faster than 0.8 m/s^2 to the side allow. The last turns half as fast
    # as it may, which leaves half of the side.
    expected = [
        [0.0, -0.16, 0.0], [-0.2, 0.3, 0.0], [1.6, 0.0, 0.5], [0.8, 0.1429, 0.5236],
    ]  # fmt: skip
    np.testing.assert_allclose(sticks.of(stick), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"max_speed": 2.0},
            r"max_movement_speed = 2: walker slow walks at 0\.6 to 1\.6",
        ),
        (
            {"max_yaw_rate": np.radians(90.0)},
            "max_rotation_speed = 90: walker slow turns at -30 to 30 deg/s",
        ),
    ],
)
def test_full_sticks_outside_the_envelope_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        StickCommands(replace(SPEC, **changes), AHEAD, "slow")
