"""Cycles of clips: which frames, on the body, and what the file is like there."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference import configured
from ambulo.envs.reference.configured import (
    chosen_cycle,
    configured_character,
    reference_of,
)
from ambulo.envs.reference.cycles.building import build_reference
from ambulo.envs.reference.cycles.captured import CapturedCycle, captured_cycle
from ambulo.envs.reference.cycles.prepare import WARN_SLIP, physical_cycle
from ambulo.motion.formats.files import write_motion
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.motion import Motion
from ambulo.motion.operations import concatenate, resample, unbent

PERIOD = 1.1
"""Of the plain walk, [s]."""


@pytest.fixture(scope="module")
def walk(character: Character) -> Motion:
    """Three cycles of the plain walk as a file has them, 120 frames per second."""
    return resample(plain_walk(character.skeleton).motion(3), 120.0)


def standing(walk: Motion, seconds: float) -> Motion:
    """The first pose of a walk for some time."""
    count = round(seconds * walk.fps)
    return walk.replace(
        root_positions=np.repeat(walk.root_positions[:1], count, axis=0),
        rotations=np.repeat(walk.rotations[:1], count, axis=0),
    )


def test_the_frames_of_a_cycle(character: Character, walk: Motion) -> None:
    found = captured_cycle(walk, character.skeleton)
    assert found.last - found.first == pytest.approx(PERIOD * 120.0, abs=1)
    assert found.cycle.period == pytest.approx(PERIOD, abs=0.01)
    cut = captured_cycle(walk, character.skeleton, frames="150:330")
    assert 150 <= cut.first < cut.last <= 330
    assert cut.text().startswith(
        f"cycle: frames {cut.first}:{cut.last}, a cycle of 1.1"
    )
    assert "knees" in cut.text()


def test_frames_choose_the_walk_of_a_clip_that_stands(
    character: Character, walk: Motion
) -> None:
    clip = concatenate([standing(walk, 2.0), walk])
    with pytest.raises(MotionError, match=r"--frames \d+:\d+ holds a cycle that moves"):
        captured_cycle(clip, character.skeleton)
    found = captured_cycle(clip, character.skeleton, frames="260:")
    assert found.first >= 260
    assert found.cycle.speed > 0.9
    still = captured_cycle(clip, character.skeleton, standing=True)
    assert still.last < 260


def test_what_the_file_slides(character: Character, walk: Motion) -> None:
    plain = captured_cycle(walk, character.skeleton)
    pushed = walk.replace(
        root_positions=walk.root_positions + 0.3 * walk.times[:, None] * [0.0, 1.0, 0.0]
    )
    slid = captured_cycle(pushed, character.skeleton)
    assert [foot.side for foot in slid.feet] == ["left", "right"]
    assert slid.slide == pytest.approx(np.hypot(plain.slide, 0.3), abs=0.05)
    for foot in slid.feet:
        assert slid.first <= foot.first < foot.last < slid.last


def test_a_file_of_24_frames_per_second(character: Character, walk: Motion) -> None:
    found = captured_cycle(resample(walk, 24.0), character.skeleton)
    assert found.last - found.first == pytest.approx(PERIOD * 24.0, abs=1)
    # The cycle ends between two frames of the file.
    assert found.cycle.period == pytest.approx(PERIOD, abs=0.008)


def test_a_turning_walk_does_not_slide(character: Character, walk: Motion) -> None:
    turning = unbent(walk, np.linspace(0.0, 1.5, len(walk)))
    found = captured_cycle(turning, character.skeleton)
    report = prepared(found, character).report
    assert report.slip < WARN_SLIP
    assert report.slip <= found.slide
    assert report.speed > 0.9


def prepared(found: CapturedCycle, character: Character):
    return physical_cycle(
        found.cycle, character.model, character.soles, name=found.name, captured=found
    )


@pytest.mark.integration
def test_feet_are_planted_only_where_processing_adds_slide(
    character: Character, walk: Motion
) -> None:
    found = captured_cycle(walk, character.skeleton)
    plain = physical_cycle(found.cycle, character.model, character.soles)
    assert plain.report.slip <= found.slide
    same = prepared(found, character)
    np.testing.assert_array_equal(plain.dynamics.qpos, same.dynamics.qpos)
    # Of a file whose feet rest completely, they are.
    calm = CapturedCycle(found.cycle, found.name, found.first, found.last, ())
    planted = prepared(calm, character)
    assert planted.report.slip < 0.7 * plain.report.slip


def test_a_refusal_tells_of_the_file(character: Character, walk: Motion) -> None:
    shaken = walk.root_positions.copy()
    shaken[:, 1] += 0.1 * np.sin(2.0 * np.pi * 3.0 * walk.times / PERIOD)
    found = captured_cycle(walk.replace(root_positions=shaken), character.skeleton)
    with pytest.raises(
        MotionError,
        match=rf"In the file \(frames {found.first}:{found.last}\) the force is largest at "
        r"frame \d+; where feet are slowest they slide at 0\.\d+ m/s, the (left|right) one "
        r"at 0\.\d+ m/s in frames \d+ to \d+: no reference",
    ):
        prepared(found, character)


def test_what_was_chosen_is_in_the_reference(
    character: Character, walk: Motion
) -> None:
    reference = build_reference(walk, character, balance=False, frames="20:200")
    first, last = (reference.report[f"{name}_frame"] for name in ("first", "last"))
    assert 20 <= first < last <= 200
    (line,) = chosen_cycle(reference, character)
    assert line.startswith(f"cycle: frames {first:.0f}:{last:.0f}, a cycle of 1.1")
    own = build_reference(None, character, balance=False)
    assert chosen_cycle(own, character) == []


def test_frames_of_the_configuration(
    walk: Motion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path / "kept"))
    clip = tmp_path / "walk.npz"
    write_motion(clip, walk)
    config = LocomotionEnvironmentConfig(
        task="locomote", speed=(1.0, 1.0), reference=str(clip), reference_frames="150:",
        balance_law=False,
    )  # fmt: skip
    # Its balance controller takes seconds and does not look at frames.
    monkeypatch.setattr(
        configured, "build_reference", partial(build_reference, balance=False)
    )
    whole = reference_of(
        config.replace(reference_frames=None), configured_character(config)
    )
    part = reference_of(config, configured_character(config))
    assert whole.report["first_frame"] < 150 <= part.report["first_frame"]
    for wrong in (config.replace(reference=None), config.replace(task="stand")):
        with pytest.raises(
            ConfigError, match="reference_frames = 150: cuts a motion clip"
        ):
            reference_of(wrong, configured_character(wrong))
    with pytest.raises(ConfigError, match="reference_frames"):
        config.replace(reference_frames="half")


def test_faults_of_a_clip_come_first(
    character: Character, walk: Motion, caplog: pytest.LogCaptureFixture
) -> None:
    root = walk.root_positions.copy()
    root[200:] += [0.0, 0.5, 0.0]
    jump = walk.replace(root_positions=root)
    with pytest.raises(
        MotionError, match=r"frames 199 to 200: the root jumps by 0\.50 m"
    ):
        build_reference(jump, character)
    assert captured_cycle(jump, character.skeleton, frames=":200").last <= 200
    root[201:] -= [0.0, 0.5, 0.0]
    with caplog.at_level(logging.WARNING):
        captured_cycle(walk.replace(root_positions=root), character.skeleton)
    assert "frame 200: the root jumps by 0.50 m and back; interpolated" in caplog.text
