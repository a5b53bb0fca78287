"""myolegs with gait parameters: weak and short muscles, and its poses as those of human23.

It follows the walk of the shipped `muscle_walk`, which took minutes of simulation, so
that gait and lengths are fixed at those of the walk: only muscles have parameters here.
"""

from __future__ import annotations

from functools import lru_cache

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitParameterError
from ambulo.configs.gait import MUSCLE_GROUPS, SIDES, GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.configs.muscle import MuscleCondition
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import myolegs, with_conditions
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.gaits.variants import ARMS
from ambulo.motion.human23 import positions_of
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_rotvec,
    quat_multiply,
    quat_rotate,
)
from ambulo.motion.skeletons import load_skeleton
from ambulo.muscle.conditions import condition, table_with
from ambulo.muscle.muscles import MuscleTable, muscle_table

HELD = 13
"""Parameters before those of the muscles: gait, lengths, torsions."""
_BODIES = {
    "Femur": "femur_{}", "Tibia": "tibia_{}", "Talus": "calcn_{}",
    "FootPinky": "toes_{}", "FootThumb": "toes_{}",
}  # fmt: skip
"""The body of myolegs that moves as each joint of human23."""


def legs_body(space: GaitSpace, values: ArrayLike) -> Character:
    """Myolegs with the muscles of `values` (P,).

    Raises:
        GaitParameterError: A value out of range, or a length or torsion that is not that
            of a healthy adult.
    """
    space.check(values)
    named = space.named(values)
    for name, value in list(named.items())[2:HELD]:
        if value != space.default[space.index(name)]:
            raise GaitParameterError(
                f"{name} = {value:g}: myolegs has its own lengths; leave it at "
                f"{space.default[space.index(name)]:g}"
            )
    return with_conditions(_healthy(), _conditions(space, values))


def muscles_of(space: GaitSpace, values: ArrayLike) -> MuscleTable:
    """Constants of myolegs' muscles with the parameters `values` (P,).

    Raises:
        GaitParameterError: A value out of range.
    """
    space.check(values)
    return _muscles_of(space, tuple(np.asarray(values, dtype=np.float64).tolist()))


def fixed_values(space: GaitSpace, table: ReferenceTable) -> dict[str, float]:
    """Fixed values of gait and lengths: the stride and cadence of the walk, by name."""
    scale = HEALTHY.leg_length / _leg_length()  # as `LegPoses` has it
    stride, cadence = HEALTHY.ratios(
        scale * table.stride[0], 1.0 / table.period, HEALTHY.leg_length
    )
    fixed = dict(zip(space.names[:HELD], space.default[:HELD].tolist(), strict=True))
    return fixed | {"stride": float(stride), "cadence": float(cadence)}


class LegPoses:
    """Reads poses of human23 off the bodies of myolegs.

    Joints turn as the bodies of myolegs do from their rest, the trunk with the pelvis, and
    the arms hang. Places are scaled to the legs of the healthy adult.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look bodies up."""
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        skeleton = load_skeleton("human23")
        names = {"Pelvis": "pelvis"} | {
            f"{joint}{side.upper()}": body.format(side)
            for joint, body in _BODIES.items()
            for side in "rl"
        }
        self._joints = [skeleton.index(joint) for joint in names]
        self._bodies = [model.body(body).id for body in names.values()]
        self._rest = data.xquat[self._bodies].copy()
        self._parents = [
            self._joints.index(skeleton.parents[joint]) for joint in self._joints[1:]
        ]
        self._thighs = [model.body(f"femur_{side}").id for side in "lr"]
        hips = [skeleton.offsets[skeleton.index(f"Femur{side}")] for side in "LR"]
        self._middle = np.mean(hips, axis=0)
        self._scale = HEALTHY.leg_length / _leg_length()
        self._plain = np.tile([1.0, 0.0, 0.0, 0.0], (len(skeleton), 1))
        for side, sign in (("L", 1.0), ("R", -1.0)):
            hang = quat_from_rotvec(np.array([-sign * ARMS, 0.0, 0.0]))
            self._plain[skeleton.index(f"Arm{side}")] = hang

    def positions(self, places: Floats, turns: Floats) -> Floats:
        """Positions (N, 56) of bodies at (N, nbody, 3), [m], turned (N, nbody, 4)."""
        away = quat_multiply(turns[:, self._bodies], quat_conjugate(self._rest)[None])
        local = np.tile(self._plain, (len(places), 1, 1))
        local[:, self._joints[0]] = away[:, 0]
        for row, parent in enumerate(self._parents, start=1):
            local[:, self._joints[row]] = quat_multiply(
                quat_conjugate(away[:, parent]), away[:, row]
            )
        hips = places[:, self._thighs].mean(axis=1) * self._scale
        middle = np.tile(self._middle, (len(places), 1))
        root = hips - quat_rotate(away[:, 0], middle)
        return np.asarray(positions_of(root, local))


@lru_cache(maxsize=4096)
def _muscles_of(space: GaitSpace, values: tuple[float, ...]) -> MuscleTable:
    rules = _conditions(space, values)
    table = muscle_table(_healthy().model)
    state = condition(
        table.names,
        {rule.muscles: rule.force for rule in rules},
        {rule.muscles: rule.length for rule in rules},
    )
    return table_with(table, state)


def _conditions(space: GaitSpace, values: ArrayLike) -> list[MuscleCondition]:
    """The parameters of muscle groups as conditions of their muscles."""
    named = space.named(values)
    return [
        MuscleCondition(
            muscles=f"{pattern}_{side[0]}",
            force=named[f"force_{group}_{side}"],
            length=named[f"length_{group}_{side}"],
        )
        for group, patterns in MUSCLE_GROUPS.items()
        for side in SIDES
        for pattern in patterns
    ]


@lru_cache(maxsize=1)
def _healthy() -> Character:
    return myolegs()


@lru_cache(maxsize=1)
def _leg_length() -> float:
    """Hip to knee plus knee to ankle of myolegs, [m]."""
    model = _healthy().model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    parts = [model.body(f"{part}_r").id for part in ("femur", "tibia", "talus")]
    bones = np.diff(data.xpos[parts], axis=0)
    return float(np.linalg.norm(bones, axis=1).sum())
