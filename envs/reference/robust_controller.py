"""One balance controller for many bodies, out of the controllers of a few.

A linear-quadratic controller of one body and gait is full of what its own contacts do at single
steps, and holds few others. What the controllers of several bodies have in common holds nearly
all: their mean, made symmetric, with few harmonics over the cycle, and stronger, since
averaging weakens it (docs/gait_env.md has the numbers).
"""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import BalanceController, resampled
from ambulo.motion.gaits.cycle import resynthesized
from ambulo.motion.roles import mirror_indices

ROWS = 32
"""Phases of the controller; even."""
HARMONICS = 3
"""Harmonics of its gains."""
STRENGTH = 2.0
"""Factor on the mean gains."""


def robust_controller(
    controllers: Sequence[BalanceController], character: Character
) -> BalanceController:
    """The mean of `controllers`, which are of symmetric bodies like `character`."""
    dofs = controllers[0].dofs
    mean = np.mean(
        [resampled(controller.gains, ROWS) for controller in controllers], axis=0
    )
    both = 0.5 * (mean + mirrored(mean, dofs, character))
    return BalanceController(STRENGTH * resynthesized(both, HARMONICS, ROWS), dofs)


def mirrored(gains: Floats, dofs: Ints, character: Character) -> Floats:
    """The gains (K, U, 2 nv) of the mirrored body, half a cycle later; K is even."""
    nv = int(character.model.nv)
    twin, sign = mirrored_axes(character)
    whole = np.zeros((len(gains), nv, 2 * nv))
    whole[:, dofs] = np.roll(gains, -(len(gains) // 2), axis=0)
    inputs, signs = np.r_[twin, nv + twin], np.r_[sign, sign]
    turned = sign[None, :, None] * whole[:, twin][:, :, inputs] * signs
    return np.asarray(turned[:, dofs])


def mirrored_axes(character: Character) -> tuple[Ints, Floats]:
    """The twin of each degree of freedom in the plane y = 0, and its sign, each (nv,)."""
    model, names = character.model, character.skeleton.joints
    twins = mirror_indices(character.skeleton)
    twin, sign = np.arange(model.nv), np.ones(model.nv)
    for joint, name in enumerate(names):
        own, other = model.joint(name), model.joint(names[int(twins[joint])])
        at, to = int(own.dofadr[0]), int(other.dofadr[0])
        kind = int(own.type[0])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            sign[at : at + 6] = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            twin[at : at + 3] = np.arange(to, to + 3)
            sign[at : at + 3] = [-1.0, 1.0, -1.0]
        else:
            twin[at] = to
            sign[at] = (
                1.0 if int(np.abs(model.jnt_axis[own.id]).argmax()) == 1 else -1.0
            )
    return twin, sign
