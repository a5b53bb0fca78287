"""Naturalness of a posture, by comparison with an IK network trained on captured people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.body.blocks import in_blocks
from ambulo.ik.pose import fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_multiply
from ambulo.motion.skeleton import Skeleton

LED = {"Head": "head", "LeftHand": "left_hand", "RightHand": "right_hand"}
"""Targets of the network, and the roles of the joints that provide them."""
BONES = (
    ("spine", "neck"),
    ("neck", "head"),
    *(
        (f"{side}_{upper}", f"{side}_{lower}")
        for side in ("left", "right")
        for upper, lower in (
            ("upper_arm", "forearm"),
            ("forearm", "hand"),
            ("thigh", "shin"),
            ("shin", "foot"),
        )
    ),
)
"""Bones to compare, by the roles of their ends."""
SPREAD = np.deg2rad(10.0)
"""Mean angle between bones at which the likeness is 1/e, [rad]."""


class PosturePrior:
    """Compares bodies with the poses that an IK solver predicts from their head and hands.

    The solver's network was trained on captured people: its result is a typical human posture
    for this head (position and orientation) and these hands (positions).
    """

    def __init__(self, solver: NeuralIKSolver, skeleton: Skeleton) -> None:
        """Create it for bodies of `skeleton`."""
        rig = solver.rig
        self._solver = solver
        self._rows = [TARGETS.index(name) for name in LED]
        roles, theirs = roles_of(skeleton), roles_of(rig.skeleton)
        self._led = [roles[role] for role in LED.values()]
        self._rest = rig.target_rest[self._rows]
        self._bones = np.array([[roles[end] for end in bone] for bone in BONES])
        self._rig_bones = np.array([[theirs[end] for end in bone] for bone in BONES])

    def __call__(self, places: Floats, turns: Floats) -> Floats:
        """Fraction of the targets that the solver meets, times the likeness, (N,) in [0, 1].

        The likeness is exp(-(angle / SPREAD)^2) of the mean angle between the bones of the body
        and of the solver's pose. It is 0 for a body with non-finite positions.

        Args:
            places: World positions of all joints, [m]. Shape (N, J, 3).
            turns: World orientations of all joints, wxyz. Shape (N, J, 4).
        """
        ok = np.isfinite(places).all(axis=(1, 2)) & np.isfinite(turns).all(axis=(1, 2))
        out = np.zeros(len(places))
        if ok.any():
            out[ok] = in_blocks(self._judged, places[ok], turns[ok])[0]
        return out

    def _judged(self, places: Floats, turns: Floats) -> tuple[NDArray[np.float64]]:
        """The result for one block."""
        count, rows = len(places), self._rows
        where = np.zeros((count, len(TARGETS), 3))
        how = np.zeros((count, len(TARGETS), 4))
        moved, turned = np.zeros((2, count, len(TARGETS)))
        # Padding rows lie at the origin and have no targets.
        there = np.abs(turns).sum(axis=(1, 2)) > 0.0
        where[:, rows] = places[:, self._led]
        how[:, rows] = quat_multiply(turns[:, self._led], self._rest)
        moved[:, rows], turned[:, rows[0]] = there[:, None], there
        solution = self._solver.solve(Targets(where, how, moved, turned))
        met = solution.reached[:, rows].mean(axis=1)
        joints = fk(self._solver.rig, solution.pose)[0]
        along = _directions(places, self._bones) * _directions(joints, self._rig_bones)
        angles = np.arccos(np.clip(along.sum(axis=-1), -1.0, 1.0)).mean(axis=1)
        return (met * np.exp(-((angles / SPREAD) ** 2)),)


def _directions(places: Floats, bones: NDArray[np.int64]) -> Floats:
    """Unit vectors (N, B, 3) along `bones` (B, 2) of joints at `places` (N, J, 3)."""
    ways = places[:, bones[:, 1]] - places[:, bones[:, 0]]
    length = np.linalg.norm(ways, axis=-1, keepdims=True)
    directions: Floats = ways / np.maximum(length, 1e-9)
    return directions
