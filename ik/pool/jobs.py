"""The published jobs of the worker pool, as plain dictionaries.

`CACHE_NEURAL_IK {weights}` -> `{success, param_count}`; every worker has confirmed.
`NEURAL_IK_SOLVE {effector_positions, ...}` -> `{success, bone_rotations (23, 4) wxyz, ...}`;
with `characters`, a list of such inputs, one job has all of a frame; `characters` of the
answer has an entry for each.
`TRACK_BODY {dt, characters: [{name, trackers}, ...]}` -> the same of tracked players.
Keys, shapes and units: docs/ik_runtime.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError, IKError, nearest
from ambulo.ik.pool.job_values import (
    answer_of,
    number_of,
    rotation_of,
    vector_of,
)
from ambulo.ik.pool.track_jobs import TRACK_BODY, track_bodies
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.rig import EFFECTORS, TARGETS, Rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.published import GROUNDED, TASKS, Context
from ambulo.ik.solver.targets import Targets, row_of
from ambulo.motion.rotations import quat_from_matrix, quat_multiply

CACHE_NEURAL_IK = "CACHE_NEURAL_IK"
NEURAL_IK_SOLVE = "NEURAL_IK_SOLVE"
KINDS = (CACHE_NEURAL_IK, NEURAL_IK_SOLVE, TRACK_BODY)
"""All published jobs."""

HIPS = TARGETS.index("Hips")
LAYERS = {8: "published", 6: "published_compact"}
"""The published network by its number of weight arrays."""

SOLVE_KEYS = (
    "effector_positions",
    "effector_targets",
    "effector_rotations",
    "root_position",
    "root_forward",
    "root_up",
    "ground_height",
    "ground_normal",
    "contact_left",
    "contact_right",
    "contact_flags",
    "motion_phase",
    "task_type",
)
"""Keys of one character in NEURAL_IK_SOLVE."""


def run_job(pool: NeuralIKPool, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Run one of the published jobs; invalid input gives `success` False."""
    try:
        if kind == CACHE_NEURAL_IK:
            return _cache(pool, data)
        if kind == NEURAL_IK_SOLVE:
            return _solve(pool, data)
        if kind == TRACK_BODY:
            return track_bodies(pool, data)
        raise IKError(f"no job {kind!r}{nearest(kind, KINDS)}")
    except AmbuloError as error:
        return {"success": False, "error": str(error)}
    except (TypeError, ValueError, AttributeError, OverflowError):
        # An undocumented kind.
        reason = "a value is of the wrong kind: a number, list or dictionary"
        return {"success": False, "error": f"{kind}: {reason}"}


def _cache(pool: NeuralIKPool, data: Mapping[str, Any]) -> dict[str, Any]:
    weights = data.get("weights")
    if not isinstance(weights, Mapping) or len(weights) not in LAYERS:
        raise IKError("CACHE_NEURAL_IK: weights must map W1, b1, ... to arrays")
    tensors = {
        str(name): np.asarray(array, dtype=np.float32)
        for name, array in weights.items()
    }
    header = IKNetworkHeader.model_validate(
        {"kind": LAYERS[len(tensors)], "rig": pool.rig.name}
    )
    count = pool.cache_tensors(header, tensors)
    return {"success": True, "param_count": count}


def _solve(pool: NeuralIKPool, data: Mapping[str, Any]) -> dict[str, Any]:
    many = "characters" in data
    people = data["characters"] if many else [data]
    if many and len(data) > 1:
        extra = next(str(key) for key in data if key != "characters")
        raise IKError(f"NEURAL_IK_SOLVE: {extra!r} beside characters: put it into each")
    if not isinstance(people, Sequence) or not people:
        raise IKError("NEURAL_IK_SOLVE: characters must be a list, not empty")
    for at, person in enumerate(people):
        if not isinstance(person, Mapping):
            raise IKError(f"NEURAL_IK_SOLVE: character {at} must be a dictionary")
    rows = [job_row(pool.rig, person, at) for at, person in enumerate(people)]
    targets = Targets.concatenate([row for row, _ in rows])
    whole = bool((targets.rotation_weights > 0.0).all())
    whole &= bool((targets.position_weights > 0.0).all())
    # The published network has no absent inputs, and zeros mislead it: then the network with
    # masks is used, or, without one, the solver alone.
    context = Context.of_rows(np.stack([context for _, context in rows]))
    published = whole and pool.has_published
    result = pool.solve(targets, context=context if published else None)
    answers = [answer_of(pool.rig, targets, result, b) for b in range(len(rows))]
    if not many:
        return answers[0]
    return {
        "success": result.success,
        "characters": answers,
        "inference_us": result.solve_us,
        "total_us": result.total_us,
        "worker": result.worker,
    }


def _plain(data: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Return `data` with `effector_targets` and `contact_flags` under their other keys.

    The first holds the positions of EFFECTORS in their order (5, 3), or by name; the second the
    contacts of the left and the right foot, (2,).
    """
    result = dict(data)
    if "effector_targets" in data:
        if "effector_positions" in data:
            raise IKError(f"{what}: effector_targets is effector_positions: give one")
        places = result.pop("effector_targets")
        if not isinstance(places, Mapping):
            if np.shape(places) != (len(EFFECTORS), 3):
                raise IKError(
                    f"{what}: effector_targets: expected shape (5, 3), a row for each of "
                    f"{', '.join(EFFECTORS)}; got {np.shape(places)}"
                )
            places = dict(zip(EFFECTORS, places, strict=True))
        result["effector_positions"] = places
    if "contact_flags" in data:
        if "contact_left" in data or "contact_right" in data:
            raise IKError(
                f"{what}: contact_flags is contact_left and contact_right: give one"
            )
        flags = vector_of(result.pop("contact_flags"), 2, f"{what}: contact_flags")
        result["contact_left"], result["contact_right"] = flags.tolist()
    return result


def job_row(rig: Rig, data: Mapping[str, Any], at: int) -> tuple[Targets, Floats]:
    """Return the targets of character `at` of a NEURAL_IK_SOLVE job and its context (14,)."""
    what = f"NEURAL_IK_SOLVE: character {at}"
    for key in data:
        if key not in SOLVE_KEYS:
            raise IKError(f"{what}: unknown key {key!r}{nearest(str(key), SOLVE_KEYS)}")
    data = _plain(data, what)
    if "effector_positions" not in data:
        raise IKError(f"{what}: effector_positions is missing")
    positions, rotations = np.zeros((1, 6, 3)), np.zeros((1, 6, 4))
    moved, turned = np.zeros((1, 6)), np.zeros((1, 6))
    for key in ("effector_positions", "effector_rotations"):
        given = data.get(key)
        if given is not None and not isinstance(given, Mapping):
            raise IKError(f"{what}: {key} must map names of effectors to numbers")
    for name, place in data["effector_positions"].items():
        positions[0, row_of(name)] = vector_of(place, 3, f"{what}: position of {name}")
        moved[0, row_of(name)] = 1.0
    for name, turn in (data.get("effector_rotations") or {}).items():
        rotations[0, row_of(name)] = rotation_of(turn, f"{what}: rotation of {name}")
        turned[0, row_of(name)] = 1.0
    if data.get("root_position") is not None:
        positions[0, HIPS] = vector_of(
            data["root_position"], 3, f"{what}: root_position"
        )
        moved[0, HIPS] = 1.0
    if data.get("root_forward") is not None or data.get("root_up") is not None:
        forward = vector_of(
            data.get("root_forward", (1.0, 0.0, 0.0)), 3, f"{what}: root_forward"
        )
        up = vector_of(data.get("root_up", (0.0, 0.0, 1.0)), 3, f"{what}: root_up")
        rotations[0, HIPS] = quat_multiply(
            _facing(forward, up, what), rig.target_rest[HIPS]
        )
        turned[0, HIPS] = 1.0
    targets = Targets(positions, rotations, moved, turned)
    return targets, _context_row(data, targets, what)


def _context_row(data: Mapping[str, Any], targets: Targets, what: str) -> Floats:
    """Ground, contacts, phase and task of one character. Shape (14,)."""
    height = number_of(data, "ground_height", 0.0, what)
    normal = vector_of(
        data.get("ground_normal", (0, 0, 1)), 3, f"{what}: ground_normal"
    )
    feet = [EFFECTORS.index("LeftFoot"), EFFECTORS.index("RightFoot")]
    stands = (targets.positions[0, feet, 2] - height < GROUNDED).astype(np.float64)
    task = data.get("task_type", "idle")
    if task not in TASKS and task not in range(len(TASKS)):
        raise IKError(f"{what}: task_type {task!r}{nearest(str(task), TASKS)}")
    contacts = [
        number_of(data, key, stand, what)
        for key, stand in zip(("contact_left", "contact_right"), stands, strict=True)
    ]
    number = TASKS.index(task) if task in TASKS else int(task)
    row = np.array(
        [height, height, *normal, *normal, *stands, *contacts,
         number_of(data, "motion_phase", 0.0, what), float(number)]
    )  # fmt: skip
    return row


def _facing(forward: Floats, up: Floats, what: str) -> Floats:
    """Rotation from +X to `forward` and +Z as near to `up` as possible, wxyz."""
    left = np.cross(up, forward)
    if np.linalg.norm(left) < 1e-6:
        raise IKError(f"{what}: root_forward and root_up must not be parallel or 0")
    x = forward / np.linalg.norm(forward)
    y = left / np.linalg.norm(left)
    match: Floats = quat_from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))
    return match
