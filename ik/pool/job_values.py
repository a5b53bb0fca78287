"""Values of the published jobs: checked numbers, vectors and rotations, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.ik.pool.slots import JobResult
from ambulo.ik.pose import Pose
from ambulo.ik.rig import EFFECTORS, TARGETS, Rig
from ambulo.ik.solver.features import pose_in_frame, root_frame
from ambulo.ik.solver.targets import Targets
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.rotations import quat_to_rotvec


def number_of(data: Mapping[str, Any], key: str, default: float, what: str) -> float:
    """The finite number of a key; `IKError` begins with `what`."""
    value = data.get(key, default)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise IKError(f"{what}: {key}: expected a finite number, got {value!r}")
    return number


def vector_of(value: ArrayLike, size: int, what: str) -> Floats:
    """A vector of `size` finite numbers; `IKError` begins with `what`."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise IKError(
            f"{what}: expected {size} finite numbers, got {value!r}"
        ) from None
    if vector.shape != (size,) or not np.isfinite(vector).all():
        raise IKError(f"{what}: expected {size} finite numbers, got {value!r}")
    return vector


def rotation_of(value: ArrayLike, what: str) -> Floats:
    """World orientation of wxyz, or of the published Euler angles (R = Rz Ry Rx)."""
    if np.shape(value) == (3,):
        angles = vector_of(value, 3, what)
        return quat_from_euler(angles[::-1].copy(), "ZYX")
    return vector_of(value, 4, what)


def answer_of(rig: Rig, targets: Targets, result: JobResult, b: int) -> dict[str, Any]:
    """Return the published answer of character `b`, with its residuals."""
    timing = {
        "inference_us": result.solve_us,
        "total_us": result.total_us,
        "worker": result.worker,
        "attempts": result.attempts,
    }
    if result.solution is None:
        return {"success": False, "error": result.reason, **timing}
    solution = result.solution
    if not np.isfinite(solution.pose.rotations[b]).all():
        error = "the network's answer is not finite: its weights are damaged"
        return {"success": False, "error": error, **timing}
    one = targets[b : b + 1]
    frame = root_frame(rig, one)
    pose = Pose(solution.pose.root[b : b + 1], solution.pose.rotations[b : b + 1])
    seen = pose_in_frame(rig, pose, frame)
    vectors = quat_to_rotvec(seen.rotations[0])
    answer: dict[str, Any] = {
        "success": True,
        "bone_rotations": solution.pose.rotations[b],
        "root_position": solution.pose.root[b],
        "axis_angles": vectors,
        "angle_magnitudes_deg": np.rad2deg(np.linalg.norm(vectors, axis=1)),
        "reached": dict(zip(TARGETS, solution.reached[b].tolist(), strict=True)),
        "position_residual": dict(
            zip(TARGETS, solution.position_residual[b].tolist(), strict=True)
        ),
        "rotation_residual": dict(
            zip(TARGETS, solution.rotation_residual[b].tolist(), strict=True)
        ),
        "steps": int(solution.steps[b]),
        **timing,
    }
    if result.network_input is not None and result.network_output is not None:
        given, output = result.network_input[b], result.network_output[b]
        raw = given.copy()
        raw[:30].reshape(5, 6)[:, 3:] *= np.pi
        raw[[36, 42]] *= 2.0
        answer |= {
            "input_raw": raw,
            "input_range": (float(raw.min()), float(raw.max())),
            "normalized_range": (float(given.min()), float(given.max())),
            "output_range": (float(output.min()), float(output.max())),
            "effector_rel_pos": {
                name: raw[6 * row : 6 * row + 3].copy()
                for row, name in enumerate(EFFECTORS)
            },
        }
    return answer
