"""Where clips need what is not there: chairs, ladders, pushes; made of a standing body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import MAX_SECONDS, RawClip, raw_clip
from ambulo.envs.reference.clips.support import (
    MissingSupport,
    missing_support,
    too_fast,
)
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.motion import Motion
from ambulo.motion.operations import at_speed, resample
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply

FPS = 60.0


def smooth_step(times: np.ndarray, start: float, seconds: float) -> np.ndarray:
    """From 0 to 1 in some time, with zero speed at both ends."""
    part = np.clip((times - start) / seconds, 0.0, 1.0)
    return part**3 * (10.0 - 15.0 * part + 6.0 * part**2)


def moved(still: Motion, path: np.ndarray) -> Motion:
    """`still` with its root moved along `path` (T, 3)."""
    return still.replace(root_positions=still.root_positions + path)


def needs(
    motion: Motion, character: Character, first: int = 0
) -> tuple[MissingSupport, ...]:
    return missing_support(raw_clip(motion, character), motion.fps, first)


@pytest.mark.integration
def test_standing_and_walking_need_the_ground_alone(
    character: Character, still: Motion
) -> None:
    assert needs(still, character) == ()
    walk = resample(plain_walk(character.skeleton).motion(2), FPS)
    assert needs(walk, character) == ()


@pytest.mark.integration
def test_standing_on_something(character: Character, still: Motion) -> None:
    times = still.times
    up = 0.5 * (smooth_step(times, 1.0, 0.5) - smooth_step(times, 3.0, 0.5))
    (need,) = needs(moved(still, up[:, None] * [0.0, 0.0, 1.0]), character, first=100)
    assert 1.0 < need.begin < 1.6
    assert 2.9 < need.end < 3.5
    assert need.first == 100 + round(need.begin * FPS)
    assert need.last == 100 + round(need.end * FPS)
    assert need.height == pytest.approx(0.5, abs=0.03)
    assert need.text().startswith(
        f"{need.begin:.2f} to {need.end:.2f} s (frames {need.first} to {need.last}): "
    )
    assert f"is borne {need.height:.2f} m above the ground: a chair or box" in need.why


def test_momentum_from_nowhere(character: Character, still: Motion) -> None:
    # Back and forth with 1.5 times gravity, feet and all: no friction gives that.
    sway = 0.4 * np.sin(6.0 * still.times) * smooth_step(still.times, 1.0, 0.3)
    found = needs(moved(still, sway[:, None] * [1.0, 0.0, 0.0]), character)
    assert found
    assert all("momentum along the ground changes" in need.why for need in found)


def test_words_follow_the_force() -> None:
    def why(upwards: float, sideways: float, height: float, aside: float = 0.0) -> str:
        return MissingSupport(0.0, 1.0, 0, 60, upwards, sideways, height, aside).why

    assert why(0.5, 0.1, 0.0).startswith("50% of the body's weight rests on something")
    assert why(0.2, 0.4, 0.0, 0.3).startswith("the body's weight acts 0.30 m beside")
    assert why(0.9, 0.1, 0.4).startswith("90% of the body's weight is borne 0.40 m")
    assert why(-0.6, 0.1, 0.4).startswith("it is pulled down by 60%")
    assert "a chair or box" in why(0.5, 0.1, 0.0)
    assert why(0.2, 0.5, 0.0).startswith("its momentum along the ground changes by 50%")


def test_leaning_on_something(character: Character, still: Motion) -> None:
    lean = quat_from_rotvec(np.array([0.0, np.deg2rad(25.0), 0.0]))
    rotations = still.rotations.copy()
    rotations[:, 0] = quat_multiply(lean, rotations[:, 0])
    (need,) = needs(still.replace(rotations=rotations), character)
    assert (need.begin, need.end) == (0.0, pytest.approx(4.0, abs=0.05))
    assert need.aside == pytest.approx(0.25, abs=0.08)
    assert "beside its feet: a chair or box, a wall, a load or a partner" in need.why


def test_short_peaks_do_not_count(character: Character, still: Motion) -> None:
    raw = raw_clip(still, character)

    def lifted(rows: slice, force: float) -> RawClip:
        peak = raw.force.copy()
        peak[rows, 2] += force
        return replace(raw, force=peak)

    assert missing_support(lifted(slice(100, 107), 2.0), FPS) == ()  # a landing
    (need,) = missing_support(lifted(slice(100, 200), 0.6), FPS)
    assert need.upwards > 0.35


def test_a_walk_at_three_times_its_speed_is_doubted(character: Character) -> None:
    walk = resample(plain_walk(character.skeleton).motion(4), 60.0)
    assert too_fast(walk, character) is None
    doubt = too_fast(at_speed(walk, 3.0), character)
    assert doubt is not None
    assert "--speed" in doubt


@pytest.mark.integration
def test_what_stands_on_nothing_does_so_at_any_speed(
    character: Character, still: Motion
) -> None:
    part = np.clip(still.times - 1.0, 0.0, 1.0)
    path = np.outer(part * part * (3.0 - 2.0 * part), [0.0, 0.0, 0.6])
    ladder = still.replace(root_positions=still.root_positions + path)
    assert too_fast(ladder, character) is None
    long = at_speed(
        ladder, still.duration / (0.75 * MAX_SECONDS)
    )  # twice it is too long
    assert too_fast(long, character) is None
