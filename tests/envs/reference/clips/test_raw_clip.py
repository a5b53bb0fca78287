"""Clips as references of the physics: flights keep their height, feet stand at rest."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import DEPTH, lowest_points, raw_clip
from ambulo.envs.reference.joint_positions import motion_of_positions
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
