"""Poses beyond a body's limits are turned back within them."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import WITHIN, keep_within_limits
from ambulo.envs.simulation.tangent import Tangent


def test_joints_are_kept_within_their_limits(character: Character) -> None:
    model = character.model
    step = np.zeros((3, model.nv))
    head = model.joint("Head")
    step[1, head.dofadr[0]] = np.deg2rad(50.0)  # the limit is 30 degrees
    knee = model.joint("TibiaR")
    step[2, knee.dofadr[0]] = np.deg2rad(-20.0)  # a knee does not bend forwards
    qpos = Tangent(model).moved(np.tile(model.qpos0, (3, 1)), step)
    before = qpos.copy()
    found = keep_within_limits(qpos, model)
    assert set(found) == {"Head", "TibiaR"}
    angle, row = found["Head"]
    assert row == 1
    assert np.rad2deg(angle) == pytest.approx(21.0, abs=1e-6)
    turned = Tangent(model).difference(qpos, np.tile(model.qpos0, (3, 1)))
    limit = np.deg2rad(30.0) - WITHIN
    assert turned[1, head.dofadr[0]] == pytest.approx(limit, abs=1e-9)
    assert turned[2, knee.dofadr[0]] == 0.0
    moved = [*range(int(head.qposadr[0]), int(head.qposadr[0]) + 4), knee.qposadr[0]]
    rest = np.setdiff1d(np.arange(model.nq), moved)
    np.testing.assert_array_equal(qpos[:, rest], before[:, rest])


def test_a_joint_that_passes_half_a_turn_does_not_jump(character: Character) -> None:
    model = character.model
    arm = model.joint("ArmR")
    angles = np.deg2rad(np.linspace(100.0, 260.0, 81))
    qpos = np.tile(model.qpos0, (81, 1))
    at = int(arm.qposadr[0])
    qpos[:, at], qpos[:, at + 1] = np.cos(0.5 * angles), np.sin(0.5 * angles)
    keep_within_limits(qpos, model)
    steps = Tangent(model).difference(qpos[1:].copy(), qpos[:-1].copy())
    assert np.rad2deg(np.abs(steps).max()) < 3.0
    assert 2.0 * np.arctan2(qpos[-1, at + 1], qpos[-1, at]) > np.deg2rad(130.0)
