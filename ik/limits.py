"""Swing and twist limits of joints: excess of a pose, and clamping.

The swing (see `ambulo.motion.rotations.SwingTwist`) must stay inside a cone with an
elliptic rim (one radius for each sign of x and of z, so four quarters of ellipses; a hinge
is a narrow one), the twist inside an interval (after P. Baerlocher and R. Boulic,
"Parametrization and range of motion of the ball-and-socket joint", DEFORM 2000).

The excess is for NumPy arrays and torch tensors, with gradients; clamping is compiled, in
`ambulo.ik.kernels.limits`, for the solver.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.namespace import array_namespace
from ambulo.ik.kernels.limits import clamp_poses
from ambulo.ik.rig import Rig
from ambulo.ik.solver.refine import kernel_body
from ambulo.motion.rotations import Array, SwingTwist, constant, swing_twist_of


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


def clamp(rig: Rig, rotations: Floats) -> Floats:
    """Clamp `rotations` (..., J, 4) to the limits; those inside stay bit for bit.

    The twist is clipped; the swing moves to a nearby point of the rim.
    """
    inside = np.array(rotations, dtype=np.float64, order="C")
    clamp_poses(kernel_body(rig).table, inside.reshape(-1, *inside.shape[-2:]))
    return inside


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
