"""The published job TRACK_BODY: tracked players of a frame, as plain dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError, nearest
from ambulo.ik.pool.job_values import answer_of, number_of
from ambulo.ik.pool.tracked_crowd import CrowdFrame
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.targets import row_of
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.layout import FORGET
from ambulo.ik.trackers.rig_player import RigPlayer
from ambulo.ik.trackers.shape import PARTS, BodyShape
from ambulo.ik.trackers.tracker import BodyTracker, FrameStatus, TrackerStatus

TRACK_BODY = "TRACK_BODY"
KEYS = ("name", "trackers", "ground_height", "shape")
"""Keys of one character."""
POSE_KEYS = ("position", "rotation")
"""Keys of one tracker."""


def track_bodies(pool: NeuralIKPool, data: Mapping[str, Any]) -> dict[str, Any]:
    """Advance the trackers of all characters, and refine their poses in one job.

    Raises:
        IKError: The input is invalid; then no tracker was advanced.
    """
    people, dt = _checked(data)
    if pool.tracker_network is None:
        raise IKError(f"{TRACK_BODY}: no body tracker is cached: give it to pool.cache")
    if len(people) > pool.capacity:
        raise IKError(
            f"{TRACK_BODY}: a job has 1 to {pool.capacity} characters, got {len(people)}"
        )
    samples: dict[str, TrackerSample] = {}
    grounds: dict[str, float] = {}
    shapes: dict[str, BodyShape | None] = {}
    for at, person in enumerate(people):
        what = f"{TRACK_BODY}: character {at}"
        name = _name(person, what)
        if name in samples:
            raise IKError(f"{what}: the name {name!r} was given before")
        samples[name] = _sample(person.get("trackers"), what)
        grounds[name] = number_of(person, "ground_height", 0.0, what)
        shapes[name] = _shape(person.get("shape"), what)
    crowd = pool.crowd
    for name in crowd.names:
        if name not in samples and crowd.waited(name) + dt > FORGET:
            crowd.remove(name)
    for name, shape in shapes.items():
        if name not in crowd:
            crowd.add(name, BodyTracker(pool.tracker_network, shape))
    frame = crowd.step(samples, dt, grounds)
    return {
        "success": frame.result.success,
        "characters": [
            _answer(pool, frame, b, crowd.player(name))
            for b, name in enumerate(frame.names)
        ],
        "inference_us": frame.result.solve_us,
        "total_us": frame.result.total_us,
        "worker": frame.result.worker,
    }


def _checked(data: Mapping[str, Any]) -> tuple[Sequence[Any], float]:
    """The characters of a job and its time step, [s]."""
    for key in data:
        if key not in ("dt", "characters"):
            hint = nearest(str(key), ("dt", "characters"))
            raise IKError(f"{TRACK_BODY}: unknown key {key!r}{hint}")
    people = data.get("characters")
    if not isinstance(people, Sequence) or isinstance(people, str) or not people:
        raise IKError(f"{TRACK_BODY}: characters must be a list, not empty")
    if "dt" not in data:
        raise IKError(f"{TRACK_BODY}: dt is missing: the time since the last job, [s]")
    dt = number_of(data, "dt", 0.0, TRACK_BODY)
    if dt <= 0.0:
        raise IKError(f"{TRACK_BODY}: dt must be above 0 s, got {dt:g}")
    return people, dt


def _answer(
    pool: NeuralIKPool, frame: CrowdFrame, b: int, player: RigPlayer
) -> dict[str, Any]:
    """The answer of the character in row `b`."""
    now = player.frame
    answer = answer_of(pool.rig, frame.targets, frame.result, b)
    if not answer["success"]:
        # The tracked body exists without the workers.
        answer["bone_rotations"] = frame.base.rotations[b]
        answer["root_position"] = frame.base.root[b]
    return answer | {
        "name": frame.names[b],
        "status": FrameStatus(now.status).name.lower(),
        "statuses": {
            row: TrackerStatus(status).name.lower()
            for row, status in zip(TARGETS, now.statuses.tolist(), strict=True)
        },
        "contacts": now.contacts.copy(),
        "shape": dict(zip(PARTS, player.tracker.shape.ratios.tolist(), strict=True)),
    }


def _name(person: Any, what: str) -> str:
    if not isinstance(person, Mapping):
        raise IKError(f"{what} must be a dictionary")
    for key in person:
        if key not in KEYS:
            raise IKError(f"{what}: unknown key {key!r}{nearest(str(key), KEYS)}")
    name = person.get("name")
    if not isinstance(name, str) or not name:
        raise IKError(
            f"{what}: name: expected a text that stays the same, got {name!r}"
        )
    return name


def _sample(trackers: Any, what: str) -> TrackerSample:
    """The readings of a character's trackers; the tracker reports impossible numbers."""
    if not isinstance(trackers, Mapping):
        raise IKError(f"{what}: trackers must map names to position and rotation")
    sample = TrackerSample.nothing()
    for name, pose in trackers.items():
        row = row_of(name)
        if pose is None:
            continue
        if not isinstance(pose, Mapping) or set(pose) != set(POSE_KEYS):
            raise IKError(f"{what}: {name}: expected position and rotation, or None")
        sample.positions[row] = _numbers(pose["position"], 3, f"{what}: {name}")
        sample.rotations[row] = _numbers(pose["rotation"], 4, f"{what}: {name}")
        sample.present[row] = True
    return sample


def _numbers(value: Any, size: int, what: str) -> Floats:
    try:
        result = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise IKError(f"{what}: expected {size} numbers, got {value!r}") from None
    if result.shape != (size,):
        raise IKError(f"{what}: expected {size} numbers, got {value!r}")
    return result


def _shape(given: Any, what: str) -> BodyShape | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != set(PARTS):
        raise IKError(f"{what}: shape: expected {', '.join(PARTS)}")
    try:
        return BodyShape(*(number_of(given, part, 1.0, what) for part in PARTS))
    except IKError as error:
        raise IKError(f"{what}: {error}") from None
