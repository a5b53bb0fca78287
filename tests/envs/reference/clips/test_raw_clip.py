"""Clips as references of the physics: flights keep their height, feet stand at rest."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import (
    DEPTH,
    WITHIN,
    keep_within_limits,
    lowest_points,
    raw_clip,
)
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.simulation.tangent import Tangent
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.filters import low_pass
from ambulo.motion.formats.files import read_motion
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.planting import slide
from ambulo.motion.gaits.variants import standing_cycle
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.roles import SIDES, roles_of


def jump(character: Character, height: float, fps: float = 120.0) -> Motion:
    """A stiff body that stands, flies freely to `height` [m], and stands again."""
    one = standing_cycle(character.skeleton, character.soles).motion()[:1]
    count = round(2.0 * fps)
    fall = np.arange(count) / fps - 1.0
    up = np.maximum(height - 0.5 * 9.81 * fall**2, 0.0)
    root = np.repeat(one.root_positions, count, axis=0)
    root[:, 2] += up
    rotations = np.repeat(one.rotations, count, axis=0)
    return one.replace(fps=fps, root_positions=root, rotations=rotations)


@pytest.mark.integration
@pytest.mark.parametrize("height", [0.15, 0.3])
def test_a_flight_keeps_its_height(character: Character, height: float) -> None:
    raw = raw_clip(jump(character, height), character)
    assert raw.height.max() == pytest.approx(height, abs=0.025)
    np.testing.assert_allclose(raw.height[:60], -DEPTH, atol=0.002)
    own = lowest_points(raw.table.qpos, character)  # on the spot: hardly to be balanced
    np.testing.assert_allclose(raw.height, own, atol=1e-3)


@pytest.mark.integration
def test_standing_feet_are_at_rest(character: Character) -> None:
    walk = resample(plain_walk(character.skeleton).motion(3), 120.0)
    path = 0.1 * walk.times[:, None] * [1.0, 0.0, 0.0]
    for clip in (walk, walk.replace(root_positions=walk.root_positions + path)):
        raw = raw_clip(clip, character)
        dt = character.model.opt.timestep
        body = motion_of_positions(
            raw.table.qpos, character.model, character.skeleton, 1.0 / dt
        )
        assert slide(body, character.soles) < 0.07
        assert slide(body, character.soles) < 0.7 * slide(clip, character.soles)


def test_the_force_that_is_missing_is_a_vector(character: Character) -> None:
    raw = raw_clip(jump(character, 0.3), character)
    np.testing.assert_allclose(np.linalg.norm(raw.force, axis=1), raw.residual)
    assert np.abs(raw.force[:60]).max() < 0.05


def feet(motion: Motion) -> np.ndarray:
    """Horizontal speed of the slower of ankle and toes, without noise, [m/s]. (T, 2)."""
    roles = roles_of(motion.skeleton)
    speeds = []
    for side in SIDES:
        names = [f"{side}_{part}" for part in ("foot", "toe")]
        points = [roles[name] for name in names if name in roles]
        path = joint_positions(motion)[:, points, :2]
        path = low_pass(path, motion.fps, 0.3 * motion.fps)
        rates = np.gradient(path, axis=0) * motion.fps
        speeds.append(np.linalg.norm(rates, axis=-1).min(axis=1))
    return np.stack(speeds, axis=1)


@pytest.mark.slow
def test_feet_slide_less_than_in_the_file(cmu: Path, character: Character) -> None:
    """Of one clip of each person and release, in the frames in which its feet stand."""
    rows = list(csv.DictReader((cmu / "manifest.csv").open()))
    seen = set()
    for row in rows:
        key = (row["subject"], row["release"])
        if row["format"] not in ("amc", "bvh") or key in seen:
            continue
        seen.add(key)
        source = read_motion(cmu / row["file"], drop_tpose=True)
        source = source[: round(5.0 * source.fps)]
        done = retarget(source, character.skeleton)
        raw = raw_clip(done.motion, character)
        dt = character.model.opt.timestep
        body = motion_of_positions(
            raw.table.qpos, character.model, character.skeleton, 1.0 / dt
        )
        stands = foot_contacts(source)
        rows_of_body = np.rint(np.arange(len(source)) / source.fps / dt).astype(int)
        rows_of_body = np.minimum(rows_of_body, len(body) - 1)
        captured = done.scale * feet(source)[stands].mean()
        assert feet(body)[rows_of_body][stands].mean() < captured, row["file"]
    assert len(seen) >= 15


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
