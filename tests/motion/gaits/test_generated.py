"""Cycles and references out of motions that repeat."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.cycles.building import generated_reference
from ambulo.motion.gaits.generated import generated_cycle
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.gaits.variants import with_amplitude
from ambulo.motion.motion import Motion
from ambulo.motion.operations import transform


@pytest.fixture(scope="module")
def body() -> Character:
    return load_character("human23")


def walk(amplitude: float = 1.0, cycles: int = 6, frames: int = 30) -> Motion:
    """The healthy walk with larger or smaller swings."""
    cycle = with_amplitude(healthy_walk(frames), amplitude)
    return cycle.motion(cycles)


def test_the_cycle_is_the_one_that_repeats(body: Character) -> None:
    motion = transform(walk(), yaw=0.7, shift=(1.0, 2.0, 0.0))
    cycle = generated_cycle(motion, 30, body.skeleton)
    healthy = healthy_walk()
    assert cycle.period == pytest.approx(healthy.period)
    assert cycle.stride == pytest.approx(healthy.stride, abs=0.01)
    turns = np.abs(np.sum(cycle.rotations * healthy.rotations, axis=-1))
    degrees = np.degrees(2.0 * np.arccos(np.minimum(turns, 1.0)))
    assert degrees.mean() < 1.0


def test_too_few_cycles_are_refused(body: Character) -> None:
    with pytest.raises(MotionError, match="150 frames are fewer than 5 cycles of 30"):
        generated_cycle(walk(cycles=5), 30, body.skeleton)


@pytest.mark.integration
def test_gaits_come_in_the_order_of_their_speed(body: Character) -> None:
    motions = [walk(1.1), walk(0.8)]
    reference = generated_reference(
        motions, body, frames=30, name="two", balance=False, control_dt=1.0 / 30.0
    )
    slow, fast = (gait.report["speed"] for gait in reference.gaits)
    # Strides of 0.8 and 1.1 of 1.31 m in 1.1 s; slip is taken off.
    assert slow == pytest.approx(0.96, abs=0.08)
    assert fast == pytest.approx(1.31, abs=0.08)
    assert reference.character == "human23"
    assert all(gait.controller is None for gait in reference.gaits)


@pytest.mark.integration
def test_two_gaits_of_one_speed_are_refused(body: Character) -> None:
    with pytest.raises(ConfigError, match=r"two: gaits must differ by 0\.02 m/s"):
        generated_reference(
            [walk(), walk()], body, frames=30, name="two", balance=False
        )
