"""The gait table: one body's gait at many speeds and phases, for the avatar.

A table is computed once from a gait network (`ambulo.policies.agents.avatar`), because the
network takes 250 us per pose and a look-up 2 us. The Godot add-on reads the same numbers.
Frames are of human23, in the body frame: origin on the ground, which moves with the gait's mean
speed, +X ahead, +Y to the left, +Z up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import IKError
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

SPEEDS, PHASES = 11, 60
"""Rows and columns of the shipped table."""


@dataclass(frozen=True, eq=False)
class GaitTable:
    """The gait of one body at K ascending speeds and P equal phases of the cycle."""

    skeleton: Skeleton
    """human23 of the body's lengths, J joints, without torsions."""
    speeds: Floats
    """Mean speeds, ascending, [m/s]. Shape (K,)."""
    rates: Floats
    """Cycles of two steps per second, [Hz]. Shape (K,)."""
    rotations: Floats
    """Local rotations, wxyz, each on the side of `stand`. Shape (K, P, J, 4)."""
    root: Floats
    """Root relative to the body frame: ahead, to the left, height, [m]. Shape (K, P, 3)."""
    stance: Floats
    """Phases at which the left and the right foot come down and leave, the first below the
    second and possibly below 0, [cycles]. Shape (K, 2, 2)."""
    homes: Floats
    """Mean position of the left and the right ankle in stance, (x, y), [m]. Shape (K, 2, 2)."""
    heads: Floats
    """Mean position of the head's joint, [m]. Shape (K, 3)."""
    stand: Floats
    """Local rotations of the standing pose; its legs are bent by the avatar. Shape (J, 4)."""
    stand_root: Floats
    """Root of the standing pose relative to the body frame, [m]. Shape (3,)."""
    stand_homes: Floats
    """Ankle positions of the standing pose, (x, y), [m]. Shape (2, 2)."""
    stand_head: Floats
    """Position of the head's joint of the standing pose, [m]. Shape (3,)."""

    def __post_init__(self) -> None:
        """Check all shapes and freeze the arrays; `IKError` names the field."""
        if self.skeleton.joints != load_skeleton("human23").joints:
            raise IKError(f"gait table: expected human23, got {self.skeleton.name}")
        if np.any(np.abs(self.skeleton.rest[:, 1:]) > 0.0):
            raise IKError(
                "gait table: bodies with torsions of the femur do not walk yet"
            )
        count, phases = np.shape(self.rotations)[:2]
        joints = len(self.skeleton)
        shapes = {
            "speeds": (count,), "rates": (count,), "root": (count, phases, 3),
            "rotations": (count, phases, joints, 4), "stance": (count, 2, 2),
            "homes": (count, 2, 2), "heads": (count, 3), "stand": (joints, 4),
            "stand_root": (3,), "stand_homes": (2, 2), "stand_head": (3,),
        }  # fmt: skip
        for name, shape in shapes.items():
            array = np.ascontiguousarray(getattr(self, name), np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise IKError(
                    f"gait table: {name}: expected finite numbers of shape {shape}, "
                    f"got {array.shape}"
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if count < 2 or not (np.diff(self.speeds) > 0.0).all() or self.speeds[0] <= 0.0:
            raise IKError("gait table: speeds must be two or more, above 0 and ascend")
        if not (self.rates > 0.0).all():
            raise IKError("gait table: rates must be above 0")

    def arrays(self) -> dict[str, Floats]:
        """Return the arrays by name, in the order in which files hold them."""
        names = [field.name for field in fields(self)]
        return {
            name: value
            for name in names
            if isinstance(value := getattr(self, name), np.ndarray)
        }
