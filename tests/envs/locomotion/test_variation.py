"""Varied bodies in batches: masses, friction, delays, ground and noisy starts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.bodies import WALKING

from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch, shared_out
from ambulo.envs.locomotion.faults import load_fault
from ambulo.envs.locomotion.joined import JoinedBatch, several_references
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.terrain import LEVEL, Course
from ambulo.envs.simulation.variants import Variant

Make = Callable[..., LocomotionBatch]
RANGES: dict[str, Any] = {
    "variants": 3, "friction": (0.5, 1.0), "mass": (0.8, 1.2), "delay": (0.0, 0.04),
}  # fmt: skip


def random_actions(batch: Any, steps: int) -> np.ndarray:
    shape = (steps, batch.num_envs, batch.action_size)
    return np.random.default_rng(1).uniform(-1.0, 1.0, shape)


def played(batch: Any, actions: np.ndarray) -> np.ndarray:
    """Positions after each step, of all bodies."""
    seen = []
    for action in actions:
        batch.step(action)
        seen.append(np.concatenate([s.qpos.copy() for s in batch.simulations]))
    return np.array(seen)


@pytest.mark.parametrize("task", WALKING)
def test_no_variation_changes_nothing(make: Make, task: str) -> None:
    plain, off = make(task), make(task, variant=Variant(), variation={"variants": 3})
    assert type(off) is type(plain)
    actions = random_actions(plain, 4)
    np.testing.assert_array_equal(played(off, actions), played(plain, actions))
    kept, plain_kept = off.state_dict(), plain.state_dict()
    assert list(kept) == list(plain_kept)
    assert not any(name.startswith("delay") for name in kept)


@pytest.mark.parametrize("late", [0, 2, 5, 6])
def test_a_delay_shifts_the_targets(
    make: Make, late: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make("stand", 1, balance_law=False, variant=Variant(delay=late / 150.0))
    actions = random_actions(batch, 4)
    rest = batch._reference(batch.phase)[0]
    moved = batch.simulation.tangent.moved
    expected = [rest] * late  # by hand: 5 substeps each, so many substeps later
    for action in actions:
        offsets = np.zeros((1, batch.simulation.model.nv))
        offsets[:, batch.dofs] = batch.config.environment.action_scale * action
        expected += [moved(rest, offsets)] * 5
    seen: list[np.ndarray] = []
    step = batch.simulation.step

    def watched(target: np.ndarray, *others: Any) -> None:
        seen.append(target.copy())
        step(target, *others)

    monkeypatch.setattr(batch.simulation, "step", watched)
    played(batch, actions)
    np.testing.assert_allclose(seen, expected[:20], rtol=0.0, atol=1e-14)


def test_a_delayed_body_goes_on_bit_for_bit(make: Make) -> None:
    late = {"variant": Variant(delay=0.04)}
    batch, other = make("stand", 2, **late), make("stand", 2, seed=5, **late)
    actions = random_actions(batch, 6)
    played(batch, actions[:3])
    assert "delay.sent" in batch.state_dict()
    other.load_state_dict(batch.state_dict())
    rest = played(batch, actions[3:])
    np.testing.assert_array_equal(played(other, actions[3:]), rest)


def test_the_bodies_of_a_training_are_shared_out_among_variants(make: Make) -> None:
    batch: Any = make("imitate", 8, variation=RANGES)
    assert isinstance(batch, JoinedBatch)
    assert [one.num_envs for one in batch.batches] == [3, 3, 2]
    masses = [s.model.body_mass.sum() / 75.0 for s in batch.simulations]
    assert len(set(masses)) == 3
    assert 0.8 <= min(masses) < 0.94
    assert 1.06 < max(masses) <= 1.2
    assert batch.batches[0].weight == pytest.approx(masses[0] * 75.0 * 9.81)
    # A body's episodes do not depend on the variants: its generator is its own.
    plain = make("imitate", 8)
    np.testing.assert_array_equal(batch.phase, plain.phase)
    moved = played(batch, random_actions(batch, 3))
    assert np.isfinite(moved).all()
    again: Any = make("imitate", 8, variation=RANGES)
    np.testing.assert_array_equal(played(again, random_actions(batch, 3)), moved)
    other: Any = make("imitate", 8, seed=9, variation=RANGES)
    assert [one.variant for one in other.batches] != [v.variant for v in batch.batches]


def test_few_bodies_are_few_variants(make: Make) -> None:
    assert shared_out(7, 3) == [3, 2, 2]
    one = make("stand", 1, variation=RANGES)
    assert isinstance(one, LocomotionBatch)
    assert one.variant != Variant()


def test_several_references_of_varied_bodies(make: Make) -> None:
    modes: Any = [make("imitate", 4, variation=RANGES) for _ in range(2)]
    batch = several_references(modes)
    assert [one.num_envs for one in batch.batches] == [2, 1, 1, 2, 1, 1]
    assert len(batch.simulations) == 6
    obs = batch.reset(np.arange(8))
    shown = obs[:, batch.layout.slices()["mode"]]
    np.testing.assert_array_equal(shown, np.repeat(np.eye(2), 4, axis=0))


@pytest.mark.parametrize("terrain", ["uphill", "steps_down"])
def test_any_walk_is_raised_with_the_ground(make: Make, terrain: str) -> None:
    batch = make("imitate", 4, terrain=terrain, terrain_height=0.5)
    assert (batch.reference_frame[:, 3] == 0.0).all()
    assert (batch.reference_frame[:, 0] < LEVEL).all()
    flat = make("imitate", 4)
    assert batch.layout.size == flat.layout.size
    where = np.arange(4)
    batch.simulation.qpos[:, 0] = LEVEL + 1.0
    ground = batch.world.heights(batch.simulation.qpos[:, :2])
    assert set(ground) == {0.125 if terrain == "uphill" else -0.5}
    for _ in range(40):
        batch.world.raise_frames(
            batch.reference_frame, batch.simulation.qpos[where, :2]
        )
    np.testing.assert_allclose(batch.reference_frame[:, 3], ground, atol=1e-3)
    batch._look()
    np.testing.assert_allclose(batch.state.height, batch.simulation.qpos[:, 2] - ground)


def test_a_ground_of_a_variant_stands_for_that_of_the_settings(make: Make) -> None:
    course = Course("steps_up", 0.05)
    batch = make("locomote", 2, variant=Variant(ground=course))
    assert "ground" not in batch.layout.slices()  # what a policy sees stays the same
    assert batch.world.heights(np.array([LEVEL + 0.1, 0.0])) == 0.05
    with pytest.raises(ConfigError, match=r"terrain = steps_up: the ground ends"):
        make("locomote", 1, variant=Variant(ground=course), max_episode_steps=900)


def test_noisy_starts_stand_on_their_feet(make: Make) -> None:
    noise = {"start_position_noise": 0.1, "start_velocity_noise": 0.5}
    exact = make("imitate", 32, start_position_noise=0.0)
    sunk = make("imitate", 32, **noise)
    feet = make("imitate", 32, **noise, start_on_feet=True)
    lowest = [one.state.soles.min(axis=1) for one in (exact, sunk, feet)]
    assert np.abs(lowest[1] - lowest[0]).max() > 0.01
    np.testing.assert_allclose(lowest[2], lowest[0], atol=1e-9)
    np.testing.assert_array_equal(
        feet.simulation.qpos[:, 3:], sunk.simulation.qpos[:, 3:]
    )
    np.testing.assert_array_equal(feet.simulation.qvel, sunk.simulation.qvel)


def test_a_fault_of_a_varied_body_is_played_again_by_one_like_it(
    make: Make, tmp_path: Path
) -> None:
    varied = {"variant": Variant(mass=1.1, delay=0.02)}
    batch = make("stand", 2, fault_folder=str(tmp_path), **varied)
    batch.step(np.zeros((2, batch.action_size)))
    batch.simulation.qvel[0, 7] = 1e4
    batch.step(np.ones((2, batch.action_size)))
    (kept,) = tmp_path.iterdir()
    with pytest.raises(MotionFileError, match="another variant of the body"):
        load_fault(kept, make("stand", 1))
    header = json.loads(np.load(kept)["header"].tobytes())
    again = make("stand", 1, variant=Variant(**header["variant"]))
    _, _, terminated, _, info = again.step(load_fault(kept, again))
    assert terminated.all()
    assert info["fault"][0] == batch.simulation.fault[0]


@pytest.mark.parametrize(
    ("group", "settings", "words"),
    [
        ("variation", {"mass": (0.8, 1.2)}, "variation: not for task = gait"),
        ("environment", {"terrain": "uphill"}, "task = gait needs terrain = flat"),
    ],
)
def test_bodies_with_parameters_are_not_varied(
    group: str, settings: dict[str, Any], words: str
) -> None:
    config = LocomotionConfig().override("environment", task="gait")
    with pytest.raises(ConfigError, match=words):
        config.override(group, **settings)


def test_one_body_for_all_of_a_batch(standing: Reference) -> None:
    config = LocomotionConfig().override("environment", task="stand")
    config = config.override("variation", mass=(0.5, 0.6))
    light = Variant(mass=0.9)
    batch = make_batch(config, 4, reference=standing, variant=light)
    assert isinstance(batch, LocomotionBatch)
    assert batch.variant == light
