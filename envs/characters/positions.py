"""MuJoCo's numbers of a human23 body as the published ones: 56 positions, 56 velocities."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.motion.human23 import N_POSITIONS, position_slices
from ambulo.motion.rotations import quat_to_rotvec
from ambulo.motion.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class PositionColumns:
    """Where MuJoCo's numbers lie among the published ones (see `motion.human23`)."""

    quaternions: Ints
    """Indices of quaternions in qpos, (balls, 4); the root's first."""
    turns: Ints
    """Indices of rotation vectors in the positions, (balls, 3)."""
    places: Ints
    """Indices in qpos of the root's position and of hinge angles."""
    numbers: Ints
    """Indices of the same in the positions."""
    rates: Ints
    """Indices in the velocities, one for each of qvel."""

    @classmethod
    def of(cls, model: mujoco.MjModel, skeleton: Skeleton) -> PositionColumns:
        """Looked up by joint name.

        Raises:
            ConfigError: The skeleton is another one than human23.
        """
        if skeleton.name != "human23":
            raise ConfigError(
                f"{skeleton.name}: only bodies with the skeleton human23 have the 56"
                " published positions"
            )
        where = position_slices()
        quaternions, turns = [np.arange(3, 7)], [np.arange(0, 3)]
        places, numbers = [np.arange(0, 3)], [np.arange(3, 6)]
        rates = np.empty(int(model.nv), np.int64)
        rates[0:3], rates[3:6] = np.arange(3, 6), np.arange(0, 3)
        for name in skeleton.joints[1:]:
            joint = model.joint(name)
            at, dof = int(joint.qposadr[0]), int(joint.dofadr[0])
            columns = np.arange(where[name].start, where[name].stop)
            rates[dof : dof + len(columns)] = columns
            if len(columns) == 3:
                quaternions.append(np.arange(at, at + 4))
                turns.append(columns)
            else:
                places.append(np.array([at]))
                numbers.append(columns)
        return cls(
            np.stack(quaternions),
            np.stack(turns),
            np.concatenate(places),
            np.concatenate(numbers),
            rates,
        )

    def positions(self, qpos: Floats) -> Floats:
        """Positions (..., 56) of MuJoCo's (..., nq)."""
        out = np.empty((*qpos.shape[:-1], N_POSITIONS))
        out[..., self.turns] = quat_to_rotvec(qpos[..., self.quaternions])
        out[..., self.numbers] = qpos[..., self.places]
        return out

    def velocities(self, qvel: Floats) -> Floats:
        """Velocities (..., 56) of MuJoCo's (..., nv)."""
        out = np.empty((*qvel.shape[:-1], N_POSITIONS))
        out[..., self.rates] = qvel
        return out
