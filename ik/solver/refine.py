"""Refinement: move poses exactly to their targets by a few Levenberg-Marquardt steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field

from ambulo.configs.arrays import Bools, Floats, Ints, short_repr
from ambulo.configs.base import Config
from ambulo.configs.errors import IKError
from ambulo.ik.kernels.solve import Body
from ambulo.ik.kernels.solve_batch import solve_batch
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.targets import Targets

Positive = Annotated[float, Field(gt=0.0)]

FREE = 1e9
"""Stands for a free twist, [rad]; infinity would produce NaN."""

ORDER = np.array([2, 3, 0, 1, 4])
"""Order of the effectors in the system: feet first, so that with given hips the legs are
decoupled from the rest."""


class RefineConfig(Config):
    """Settings of the refinement; see docs/ik.md."""

    near: Positive = 1e-3
    """A position within this distance counts as reached, [m]."""
    aligned_deg: Positive = 0.5
    """A rotation within this angle counts as reached, [deg]."""
    stop: Annotated[float, Field(gt=0.0, le=1.0)] = 0.5
    """Steps end when all targets are within this fraction of `near` and `aligned_deg`."""
    cap: Positive = 0.5
    """Largest rotation of a joint in one step, [rad]: beyond it the linear model is poor."""
    posture: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0
    """Fraction of the distance to the starting pose that each step returns in the null
    space."""
    damping: Positive = 0.1
    """Damping for each m^2 of error."""
    floor: Positive = 1e-8
    """Constant damping, so that the system is positive."""
    length: Positive = 0.15
    """Length equivalent to a radian, [m]."""
    slack: Annotated[float, Field(ge=0.0)] = 0.05
    """Largest displacement of shoulders towards a target beyond reach before it counts as
    unreachable, [m]: the error of the starting pose."""
    extra: Annotated[int, Field(ge=0)] = 4
    """Additional steps for missed targets: with those beyond reach projected, and again without
    the one that is missed most, if the others can then be met."""

    @cached_property
    def settings(self) -> Floats:
        """The numbers in the order of the kernels."""
        return np.array(
            [
                self.near, np.deg2rad(self.aligned_deg), self.stop, self.cap,
                self.posture, self.damping, self.floor, self.length, self.slack,
            ]
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Solution:
    """Solved poses with their residuals."""

    __repr__ = short_repr

    pose: Pose
    """The poses, inside the limits."""
    reached: Bools
    """Whether each target is met (1 mm and 0.5 degrees, unless configured otherwise);
    absent targets are. Shape (B, 6)."""
    position_residual: Floats
    """Distance to each original target, [m]; 0 where absent. Shape (B, 6)."""
    rotation_residual: Floats
    """Angle to each target, [rad]; 0 where absent. Shape (B, 6)."""
    steps: Ints
    """Number of steps. Shape (B,)."""


@lru_cache(maxsize=16)
def kernel_body(rig: Rig) -> Body:
    """The arrays of `rig` for the kernels, read-only."""
    count, rows = len(rig), len(TARGETS)
    tree = np.zeros((count, 2 + rows), dtype=np.int64)
    tree[:, 0] = rig.skeleton.parents
    chains = [rig.chain(joint) for joint in rig.effectors]
    for row, chain in enumerate(chains):
        tree[list(chain), 2 + row] = 1
    tree[:, 1] = tree[:, 2:].any(axis=1)
    ends = np.zeros((rows, 2 + rows), dtype=np.int64)
    ends[:, 0], ends[:, 1] = rig.effectors, rig.bases
    for row, chain in enumerate(chains):
        for other, second in enumerate(chains):
            ends[row, 2 + other] = next(joint for joint in chain if joint in second)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / rig.swing
    twist = np.clip(rig.twist, -FREE, FREE)
    half = np.clip(0.5 * twist, -0.5 * np.pi, 0.5 * np.pi)
    # Half a turn is no limit: its tangent is numerically useless.
    tangents = np.where(np.abs(twist) >= np.pi, np.sign(twist) * np.inf, np.tan(half))
    table = np.concatenate(
        [
            inverse,
            twist,
            tangents,
            1.0 / rig.stiffness[:, None],
        ],
        axis=1,
    )
    body = Body(
        np.array(rig.skeleton.parents),
        rig.skeleton.rest,
        rig.skeleton.offsets,
        tree,
        np.ascontiguousarray(table),
        ends,
        rig.reaches,
        np.full(1, 1.0 / rig.root_stiffness),
    )
    for array in body:
        array.setflags(write=False)
    return body


def refine(
    rig: Rig,
    targets: Targets,
    start: Pose,
    steps: int = 4,
    config: RefineConfig | None = None,
) -> Solution:
    """Move `start` to `targets` in at most `steps` steps.

    Args:
        rig: The rig.
        targets: Targets of B characters. Given hips are followed exactly; otherwise the root is
            solved for.
        start: B poses. Where targets leave freedom, the solution stays near them.
        steps: Largest number of steps, unless a target is missed (see `RefineConfig.extra`);
            each is accepted only if the error falls.
        config: Tolerances and weights.

    A target beyond the reach of its limb does not pull the body along: it is projected to the
    sphere that the limb can reach about its base, and reported as not reached. One that limits
    put out of reach is dropped at the end, if that meets all others.
    """
    if len(start) != len(targets):
        raise IKError(f"{len(targets)} targets, but {len(start)} starting poses")
    if start.rotations.shape[1] != len(rig):
        raise IKError(
            f"starting pose: {start.rotations.shape[1]} joints, but the rig has {len(rig)}"
        )
    config = RefineConfig() if config is None else config
    root = np.array(start.root, order="C")
    local = np.array(start.rotations, order="C")
    return refine_in_place(rig, targets, root, local, steps, config)


def refine_in_place(
    rig: Rig,
    targets: Targets,
    root: Floats,
    local: Floats,
    steps: int,
    config: RefineConfig,
) -> Solution:
    """`refine`, for starting poses that may be overwritten and need no checks."""
    count, rows = len(root), len(TARGETS)
    missing = np.empty((2, count, rows))
    reached = np.empty((count, rows), dtype=np.bool_)
    taken = np.empty(count, dtype=np.int64)
    solve_batch(
        kernel_body(rig),
        ORDER,
        config.settings,
        steps,
        config.extra,
        targets.positions,
        targets.rotations,
        targets.position_weights,
        targets.rotation_weights,
        root,
        local,
        missing,
        reached,
        taken,
    )
    return Solution(Pose(root, local), reached, missing[0], missing[1], taken)
