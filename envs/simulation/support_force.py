"""A limited outside force and moment that hold a root on what it follows.

Nothing in the world gives it; its limit says how far a motion is from one that the ground alone
could carry (residual forces: Y. Yuan and K. Kitani, NeurIPS 2020).
"""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats

STIFFNESS, DAMPING = 60.0, 15.0
"""Acceleration by distance, [1/s^2], and by velocity, [1/s]."""
TURN_STIFFNESS, TURN_DAMPING = 100.0, 4.0
"""The same of rotations. More damping than that shakes the light pelvis from one physics step
to the next."""
INERTIA = 0.12
"""Moment of inertia about the root over the mass, [m^2]: a trunk with arms."""
ARM = 0.3
"""Largest moment over the largest force, [m]."""


class SupportForce:
    """Wrenches on the roots of N bodies."""

    def __init__(self, model: mujoco.MjModel, mass: float, most: float) -> None:
        """For bodies of `mass`, [kg], held with at most `most` of their weight."""
        weight = mass * float(np.linalg.norm(model.opt.gravity))
        self._mass, self._most = mass, most * weight

    def wrench(self, apart: Floats, slower: Floats, turn: Floats) -> Floats:
        """Force, [N], and moment, [N m], in the world. Shape (N, 6).

        Args:
            apart: From the root to where it should be: place in the world, [m], and rotation
                in its own frame, [rad]. Shape (N, 6).
            slower: The same of velocities, [m/s], [rad/s]. Shape (N, 6).
            turn: Rotations of the roots. Shape (N, 3, 3).
        """
        force = self._mass * (STIFFNESS * apart[:, :3] + DAMPING * slower[:, :3])
        own = TURN_STIFFNESS * apart[:, 3:] + TURN_DAMPING * slower[:, 3:]
        moment = INERTIA * self._mass * np.einsum("nij,nj->ni", turn, own)
        return np.concatenate(
            [_within(force, self._most), _within(moment, ARM * self._most)], axis=1
        )


def _within(vectors: Floats, longest: float) -> Floats:
    """Vectors (N, 3), shortened to `longest`."""
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, longest / np.maximum(size, longest)))
