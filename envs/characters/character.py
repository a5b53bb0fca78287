"""One interface for every body: model, gains, soles, and joints by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.muscle import JointGain, SpdGains
from ambulo.envs.characters.capsules import SOLE_RADIUS
from ambulo.envs.characters.human23 import human23_spec
from ambulo.envs.characters.positions import PositionColumns
from ambulo.motion.gaits.soles import Soles
from ambulo.motion.human23 import to_sixdof
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

DAMPING_RATIO = 0.06
"""Damping over stiffness of human23's joints, [s]."""

STIFFNESS: dict[str, float] = {
    "Femur?": 750.0, "Tibia?": 750.0, "Talus?": 600.0, "Foot*": 30.0, "Spine": 1200.0,
    "Torso": 1200.0, "Neck": 100.0, "Head": 100.0, "Shoulder?": 300.0, "Arm?": 200.0,
    "ForeArm?": 120.0, "Hand?": 30.0,
}  # fmt: skip
"""Stiffness of human23's joints, [N m / rad]."""


@dataclass(frozen=True, eq=False)
class Character:
    """A body: its MuJoCo model and what controllers need to know about it."""

    name: str
    """Name, for example "human23"."""
    model: mujoco.MjModel
    """The compiled model; its timestep is one substep."""
    skeleton: Skeleton
    """The skeleton whose joints are the model's joints of the same name."""
    soles: Soles
    """The balls of the feet that touch the ground."""
    gains: SpdGains
    """Gains of stable PD."""
    actuation: Callable[[Any], Any] | None = None
    """Makes what turns torques into controls out of a `mujoco.batch.Batch`; None: the
    model has a motor for each joint axis."""
    standing: Floats | None = None
    """MuJoCo's positions of its standing pose, (nq,); None: that of people, by roles."""
    spec: Callable[[], mujoco.MjSpec] | None = None
    """Makes an editable copy of its model; None: it stays on level ground, untouched."""

    @cached_property
    def standing_height(self) -> float:
        """Height of the root at rest, [m]."""
        return float(self.skeleton.offsets[0, 2])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The model's joints, the root's first, in the order of their columns."""
        return tuple(self.model.joint(j).name for j in range(self.model.njnt))

    @cached_property
    def position_columns(self) -> PositionColumns:
        """Where its numbers lie among the published ones.

        Raises:
            ConfigError: It has another skeleton than human23.
        """
        return PositionColumns.of(self.model, self.skeleton)

    def get_positions(self, qpos: Floats) -> Floats:
        """The 56 published positions (..., 56) of MuJoCo's (..., nq).

        Rotation vectors of the root and of ball joints, the root's place, angles of
        hinges, in the order of `motion.human23`. `ConfigError` for another skeleton.
        """
        return self.position_columns.positions(qpos)

    def pos_to_sixdof(self, positions: Floats) -> Floats:
        """The published pose (..., 101) of positions (..., 56), see `get_positions`.

        `motion.human23.from_sixdof` leads back.
        """
        sixdof: Floats = to_sixdof(positions)
        return sixdof

    def dofs(self, *joints: str) -> Ints:
        """Degrees of freedom of the named joints, in their order. Shape (n,)."""
        found: list[int] = []
        for name in joints:
            if name not in self.skeleton.joints:
                raise ConfigError(
                    f"{self.name} has no joint {name!r}"
                    f"{nearest(name, self.skeleton.joints)}"
                )
            joint = self.model.joint(name)
            first = int(joint.dofadr[0])
            width = {0: 6, 1: 3}.get(int(joint.type[0]), 1)
            found.extend(range(first, first + width))
        return np.array(found)


def human23(height: float = 1.75, mass: float = 75.0) -> Character:
    """The torque-driven body human23 of a `height`, [m], and a `mass`, [kg]."""
    skeleton = load_skeleton("human23")
    if height != 1.75:
        skeleton = skeleton.scaled(height / 1.75)
    spec = partial(human23_spec, skeleton, mass)
    model = spec().compile()
    gains = SpdGains(
        joints=tuple(
            JointGain(joints=name, stiffness=k, damping=DAMPING_RATIO * k)
            for name, k in STIFFNESS.items()
        )
    )
    soles = soles_of(model, skeleton)
    return Character("human23", model, skeleton, soles, gains, spec=spec)


def soles_of(model: mujoco.MjModel, skeleton: Skeleton) -> Soles:
    """The balls of the model's feet."""
    balls = [
        g
        for g in range(model.ngeom)
        if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_SPHERE
    ]
    names = [model.body(int(model.geom_bodyid[g])).name for g in balls]
    return Soles(
        tuple(skeleton.index(name) for name in names),
        model.geom_pos[balls].copy(),
        SOLE_RADIUS,
        tuple(int(name.endswith("R")) for name in names),
    )
