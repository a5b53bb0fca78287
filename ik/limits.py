"""Swing and twist limits of joints: excess of a pose, and clamping.

The swing (see `ambulo.ik.swing_twist`) must stay inside a cone with an elliptic rim (one
radius for each sign of x and of z, so four quarters of ellipses; a hinge is a narrow one),
the twist inside an interval (after P. Baerlocher and R. Boulic, "Parametrization and range
of motion of the ball-and-socket joint", DEFORM 2000).

The same functions serve NumPy arrays and torch tensors, with gradients; the solver has
the same formulas compiled in `ambulo.ik.kernels.limits`.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.namespace import array_namespace
from ambulo.ik.rig import Rig
from ambulo.ik.swing_twist import SwingTwist, from_swing_twist, swing_twist_of
from ambulo.motion.rotations import Array, constant

PROJECTIONS = 6
"""Newton steps from outside to the rim of a cone; the last rest is closed radially."""


def excess(rig: Rig, parts: SwingTwist) -> tuple[Array, Array]:
    """Excess of swing and twist (..., J) over their limits, [rad], each (..., J).

    Of the swing it is the distance to the rim to first order, (f - 1) / |grad f| with
    f = |(x / rx, z / rz)| (P. D. Sampson, Computer Graphics and Image Processing 18,
    1982): exact at the rim, along the axes and in circular cones, and smooth outside.
    """
    ax, az = _inverse_radii(rig, parts)
    xp = array_namespace(parts.swing_x)
    x, z = parts.swing_x * ax, parts.swing_z * az
    square = x * x + z * z
    outside = square > 1.0
    one, zero = xp.ones_like(square), xp.zeros_like(square)
    f = xp.sqrt(xp.where(outside, square, one))
    steep = x * x * ax * ax + z * z * az * az
    slope = xp.sqrt(xp.where(outside, steep, one)) / f
    swing = xp.where(outside, (f - 1.0) / slope, zero)
    low = constant(rig.twist[:, 0], parts.twist, parts.twist.dtype)
    high = constant(rig.twist[:, 1], parts.twist, parts.twist.dtype)
    over = xp.where(parts.twist > high, parts.twist - high, zero)
    under = xp.where(parts.twist < low, low - parts.twist, zero)
    return swing, over + under


def violation(rig: Rig, rotations: Array) -> Array:
    """Excess of each joint of `rotations` (..., J, 4), [rad]. Shape (..., J).

    The sum of the excess of swing and of twist; exactly 0 inside.
    """
    swing, twist = excess(rig, swing_twist_of(rotations))
    return swing + twist


def clamp(rig: Rig, rotations: Array) -> Array:
    """Clamp `rotations` (..., J, 4) to the limits; those inside stay bit for bit.

    The twist is clipped; the swing moves to a nearby point of the rim.
    """
    xp = array_namespace(rotations)
    parts = swing_twist_of(rotations)
    ax, az = _inverse_radii(rig, parts)
    x, z = parts.swing_x, parts.swing_z
    one, zero = xp.ones_like(x), xp.zeros_like(x)
    square = (x * ax) ** 2 + (z * az) ** 2
    outside = square > 1.0
    for _ in range(PROJECTIONS):
        f = xp.sqrt(xp.where(square > 1.0, square, one))
        gx, gz = x * ax * ax / f, z * az * az / f
        steep = gx * gx + gz * gz
        step = (f - 1.0) / xp.where(steep > 0.0, steep, one)
        # The quarters of the rim meet at the axes: a step that crosses an axis stops there.
        x = xp.where(step * ax * ax > f, zero, x - step * gx)
        z = xp.where(step * az * az > f, zero, z - step * gz)
        square = (x * ax) ** 2 + (z * az) ** 2
    # Slightly inside, so that conversion to a quaternion and back stays inside.
    f = xp.sqrt(xp.where(square > 1.0, square, one)) * (1.0 + _hair(x))
    x = xp.where(outside, x / f, x)
    z = xp.where(outside, z / f, z)
    low = constant(rig.twist[:, 0], parts.twist, parts.twist.dtype)
    high = constant(rig.twist[:, 1], parts.twist, parts.twist.dtype)
    twisted = (parts.twist < low) | (parts.twist > high)
    ends = xp.where(parts.twist > high, high, low) * (1.0 - _hair(x))
    twist = xp.where(twisted, ends, parts.twist)
    inside = from_swing_twist(SwingTwist(x, twist, z))
    return xp.where((outside | twisted)[..., None], inside, rotations)


def _hair(like: Array) -> float:
    """A relative margin above the rounding of the dtype of `like`."""
    xp = array_namespace(like)
    return 16.0 * float(xp.finfo(like.dtype).eps)


def _inverse_radii(rig: Rig, parts: SwingTwist) -> tuple[Array, Array]:
    """1 / radius of the quarter in which each swing (..., J) lies, [1/rad]; 0 if free."""
    xp = array_namespace(parts.swing_x)
    with np.errstate(divide="ignore"):
        inverse = 1.0 / rig.swing
    lx, hx, lz, hz = (
        constant(inverse[:, i], parts.swing_x, parts.swing_x.dtype) for i in range(4)
    )
    return (
        xp.where(parts.swing_x < 0.0, lx, hx),
        xp.where(parts.swing_z < 0.0, lz, hz),
    )
