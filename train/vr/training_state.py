"""Complete state of a navigation training, for a bit-exact resume.

Capture at the start of a roll-out, after an update. The policy itself is saved as such;
levels are saved by name and fingerprint and generated again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import AmbuloError, ModelFileError
from ambulo.envs.vr.families import family_names, generate
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import GOALS, LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.learner_state import (
    Arrays,
    capture_learner,
    fits,
    restore_learner,
)
from ambulo.train.shared.optimizer_state import group


def capture(
    learner: FastPPO, batch: NavigationBatch, extra: Mapping[str, Any]
) -> TrainingState:
    """Return the state of a training between two roll-outs, as copies.

    Args:
        learner: has learnt at least once, or begun to.
        batch: the environments that it trains on.
        extra: plain JSON values of the caller, given back by `restore`.
    """
    state = capture_learner(learner, batch, extra)
    arrays: Arrays = {f"starts.{name}": array for name, array in _starts(batch).items()}
    arrays["bank.goals"] = batch.bank.goals.copy()
    arrays["bank.fingerprints"] = _fingerprints(batch.bank.levels)
    values = {
        "levels": [level.name for level in batch.bank.levels],
        "designed": batch.bank.designed,
        "goal_distances": [list(batch.goal_distance), list(batch.bank.goal_distance)],
    }
    return TrainingState(state.arrays | arrays, state.values | values)


def restore(
    learner: FastPPO, batch: NavigationBatch, state: TrainingState
) -> dict[str, Any]:
    """Put `state` into a learner and a batch made from the same configuration.

    The policy is not part of it. Continue with `learn_until`.

    Returns:
        The `extra` of `capture`.

    Raises:
        ModelFileError: the state does not fit the configuration, or is damaged.
    """
    with fits():
        _restore_bank(batch, state.values, state.arrays)
        _check_indices(batch, group(state.arrays, "batch"))
        extra = restore_learner(learner, batch, state)
        _restore_starts(batch, group(state.arrays, "starts"))
    return extra


def _check_indices(batch: NavigationBatch, arrays: Arrays) -> None:
    """Check indices, which compiled code uses unchecked."""
    goals = batch.bank.goals.shape[1]
    limits = {"slot": len(batch.bank), "index": goals, "heading_for": GOALS}
    for name, array in arrays.items():
        limit = limits.get(name.rpartition(".")[2])
        if limit is not None and not np.isin(array, np.arange(limit)).all():
            raise ValueError(f"{name} is not within 0..{limit - 1}")


def _starts(batch: NavigationBatch) -> Arrays:
    """Return the starts of the running episodes; slot -1 where none has begun."""
    none = Start(-1, 0, np.zeros(3), 0.0)
    starts = [none if start is None else start for start in batch.starts]
    return {
        "slot": np.array([start.slot for start in starts], np.int64),
        "goal": np.array([start.goal for start in starts], np.int64),
        "pose": np.array([[*s.pose, s.height] for s in starts], np.float64),
    }


def _restore_starts(batch: NavigationBatch, arrays: Arrays) -> None:
    rows = zip(arrays["slot"], arrays["goal"], arrays["pose"], strict=True)
    starts = [
        None
        if slot < 0
        else Start(int(slot), int(goal), pose[:3].copy(), float(pose[3]))
        for slot, goal, pose in rows
    ]
    if len(starts) != batch.num_envs:
        raise ValueError(f"{len(starts)} environments, not {batch.num_envs}")
    batch.starts[:] = starts


def _fingerprints(levels: Iterable[Level]) -> NDArray[np.int64]:
    """Return a checksum of the geometry, start and goal of each level."""
    return np.array([_fingerprint(level) for level in levels], np.int64)


def _fingerprint(level: Level) -> int:
    code = 0
    for part in (
        level.bounds, level.holes, level.boxes, level.cylinders,
        level.start, level.goal, level.goal_distance, *_heights(level),
    ):  # fmt: skip
        data = b"-" if part is None else np.asarray(part, np.float64).tobytes()
        code = zlib.crc32(b"%d:" % len(data) + data, code)
    return code


def _heights(level: Level) -> list[Any]:
    """Arrays of a level with heights, or with several starts and goals."""
    places: list[Any] = [level.starts, level.goals, level.waypoints]
    if not level.heights:
        return [part for part in places if len(part)]
    shapes: list[Any] = [
        part for f in level.heightfields for part in (f.origin, f.cell, f.heights)
    ]
    shapes += [part for m in level.meshes for part in (m.vertices, m.triangles)]
    flags = [level.ground, level.start_height, level.goal_height]
    return [*places, level.ramps, level.stairs, *shapes, *flags, *_moving(level)]


def _moving(level: Level) -> list[Any]:
    """Arrays of the moving parts of a level; empty without any."""
    paths = [part for m in level.movers for part in (m.half_size, m.path, m.phase)]
    people = level.people
    if people is None:
        return paths
    crowd = [people.count, people.speed, people.radius, people.see_agent, people.goals]
    return [
        *paths,
        *crowd,
        *(part for w in people.walkers for part in (w.path, w.phase)),
    ]


def _restore_bank(
    batch: NavigationBatch, values: Mapping[str, Any], arrays: Arrays
) -> None:
    """Put back levels and goals, in bank and world, and the distances of starts."""
    bank: LevelBank = batch.bank
    names, checksums = values["levels"], arrays["bank.fingerprints"]
    goals = arrays["bank.goals"]
    if len(names) != len(bank) or goals.shape != bank.goals.shape:
        raise ValueError(f"{len(names)} levels, not {len(bank)}")
    have = _fingerprints(bank.levels)
    levels = list(bank.levels)
    for slot, name in enumerate(names):
        if name != levels[slot].name or have[slot] != checksums[slot]:
            levels[slot] = _regenerated(name, int(checksums[slot]))
    exchanged = bank.restore(levels, goals)
    if exchanged:
        batch.world.set_levels(exchanged, [levels[slot] for slot in exchanged])
    bank.designed = float(values["designed"])
    ranges = [(float(low), float(high)) for low, high in values["goal_distances"]]
    batch.goal_distance, bank.goal_distance = ranges


def _regenerated(name: str, fingerprint: int) -> Level:
    """Return the procedural level `name`, which must have the same checksum."""
    family, _, seed = name.rpartition("-")
    level = None
    if family in family_names() and seed.isdecimal():
        try:
            level = generate(family, int(seed))
        except AmbuloError:
            level = None
    if level is None or _fingerprint(level) != fingerprint:
        raise ModelFileError(
            f"level {name!r} of the checkpoint cannot be had again: "
            "its file or the generator has changed"
        )
    return level
