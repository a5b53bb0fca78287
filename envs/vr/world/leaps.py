"""Snap turns and teleports of continuous actions (docs/vr_world.md, "The decision")."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.vr.contract import WorldSpec

SNAP_STICK = 0.7
"""Rotations beyond this snap."""
TELEPORT_STICK = 0.3
"""Sticks longer than this teleport."""
SNAP, TELEPORT = 0, 1
"""Columns of cooldowns."""


def leaps_of(
    target: Floats, spec: WorldSpec, cooldown: Ints | None
) -> tuple[Floats, Floats]:
    """Teleports and snap turns that a batch of commands asks for.

    Where `spec` has one, the part of the command that asks for it is set to 0.

    Args:
        target: command after dead zone and facing (strafe, forward, rotation), shape (N, 3),
            changed in place.
        spec: settings of the world.
        cooldown: steps until the next snap and teleport may be made, shape (N, 2); None: 0.

    Returns:
        Moves at once (left, forward), shape (N, 2), [m], and turns at once,
        counter-clockwise, shape (N,), [rad].
    """
    num_envs = len(target)
    jump, snap = np.zeros((num_envs, 2)), np.zeros(num_envs)
    wait = np.zeros((num_envs, 2), np.int64) if cooldown is None else cooldown
    if spec.snap_turn > 0.0:
        turns = (np.abs(target[:, 2]) > SNAP_STICK) & (wait[:, SNAP] == 0)
        snap -= np.where(turns, np.sign(target[:, 2]) * spec.snap_turn, 0.0)
        target[:, 2] = 0.0
    if spec.teleport > 0.0:
        stick = np.hypot(target[:, 0], target[:, 1])
        aims = (stick > TELEPORT_STICK) & (wait[:, TELEPORT] == 0)
        jump[:, 0] -= np.where(aims, target[:, 0] * spec.teleport, 0.0)
        jump[:, 1] += np.where(aims, target[:, 1] * spec.teleport, 0.0)
        target[:, :2] = 0.0
    return jump, snap


def count_down(cooldown: Ints, jump: Floats, snap: Floats, spec: WorldSpec) -> None:
    """Bring `cooldown` (N, 2) to the end of a step with these moves and turns, in place."""
    np.maximum(cooldown - 1, 0, out=cooldown)
    if spec.snap_turn > 0.0:
        cooldown[snap != 0.0, SNAP] = spec.steps_of(spec.snap_delay) - 1
    if spec.teleport > 0.0:
        made = jump.any(axis=1)
        cooldown[made, TELEPORT] = spec.steps_of(spec.teleport_delay) - 1
