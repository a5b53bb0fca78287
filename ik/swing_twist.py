"""Rotations as a swing of the bone and a twist about it.

A local rotation is q = swing * twist: first a twist about the bone (local Y), then a swing
about an axis square to it, so that the swing's rotation vector is (x, 0, z). Unlike Euler
angles these three have no singularity before half a turn of swing.
"""

from __future__ import annotations

from typing import NamedTuple

from ambulo.configs.namespace import array_namespace
from ambulo.motion.rotations import TINY, Array, quat_from_rotvec, quat_multiply


class SwingTwist(NamedTuple):
    """Swing and twist of rotations, [rad]: `swing_x`, `twist`, `swing_z`, each (...)."""

    swing_x: Array
    twist: Array
    swing_z: Array


def swing_twist_of(rotations: Array) -> SwingTwist:
    """The parts of `rotations` (..., 4): swing up to pi, twist in (-pi, pi]."""
    xp = array_namespace(rotations)
    w, x, y, z = (rotations[..., i] for i in range(4))
    around = w * w + y * y
    none = around < TINY  # half a turn of swing: the twist is arbitrary
    one, zero = xp.ones_like(w), xp.zeros_like(w)
    n = xp.sqrt(xp.where(none, one, around))
    cw, cy = xp.where(none, one, w / n), xp.where(none, zero, y / n)
    sx, sz = x * cw + z * cy, z * cw - x * cy
    square = sx * sx + sz * sz
    small = square < TINY
    length = xp.sqrt(xp.where(small, one, square))
    scale = xp.where(
        small, 2.0 * one, 2.0 * xp.atan2(length, xp.where(none, zero, n)) / length
    )
    twist = 2.0 * xp.atan2(cy, cw)
    twist = xp.where(twist > xp.pi, twist - 2.0 * xp.pi, twist)
    twist = xp.where(twist <= -xp.pi, twist + 2.0 * xp.pi, twist)
    return SwingTwist(sx * scale, twist, sz * scale)


def from_swing_twist(parts: SwingTwist) -> Array:
    """The rotations (..., 4) with these parts (...)."""
    xp = array_namespace(parts.swing_x)
    zero = xp.zeros_like(parts.swing_x)
    swing = quat_from_rotvec(xp.stack([parts.swing_x, zero, parts.swing_z], axis=-1))
    twist = quat_from_rotvec(xp.stack([zero, parts.twist, zero], axis=-1))
    return quat_multiply(swing, twist)
