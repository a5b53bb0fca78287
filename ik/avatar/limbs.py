"""Compiled: legs and arms of two bones that reach a point, in closed form.

The law of cosines gives both angles; the remaining freedom, the direction of knee or elbow,
follows a hint. The add-on's `limbs.gd` computes the same.
"""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.avatar.layout import ANKLE, FORE, HAND, SHIN, UPPER
from ambulo.motion.quaternion_kernels import (
    from_axes,
    inverse_multiply,
    multiply,
    set_yaw,
)

STRETCH = 0.9995
"""Longest reach as a fraction of both bones' lengths: a straight limb has no plane."""
TINY = 1e-9


@njit(cache=True)
def corner(first: float, second: float, distance: float) -> tuple[float, float, float]:
    """Angle at the limb's base, bend of its middle joint, [rad], and the reached length.

    The bend is 0 for a straight limb.
    """
    longest, shortest = STRETCH * (first + second), abs(first - second) + 1e-4
    d = min(max(distance, shortest), longest)
    base = (first * first + d * d - second * second) / (2.0 * first * d)
    middle = (first * first + second * second - d * d) / (2.0 * first * second)
    return (
        math.acos(min(max(base, -1.0), 1.0)),
        math.pi - math.acos(min(max(middle, -1.0), 1.0)),
        d,
    )


@njit(cache=True)
def solve_leg(
    thigh: int, hip: Array, ankle: Array, hinge: Array, foot: Array,
    offsets: Array, world: Array, local: Array,
) -> None:  # fmt: skip
    """Rotate a leg so that its ankle is at a point and its foot has an orientation.

    Args:
        thigh: Joint of the thigh; shin and ankle follow.
        hip: World position of the thigh's joint, [m]. Shape (3,).
        ankle: World position to reach, [m]; clamped to the reach. (3,).
        hinge: Preferred world direction of the knee's axis, +Y. Shape (3,).
        foot: World orientation of the ankle's joint. Shape (4,).
        offsets: Offsets of all joints, [m]. Shape (J, 3).
        world: World orientations, of which the pelvis' is set; the leg's are filled. (J, 4).
        local: Local rotations, of which the leg's are filled. Shape (J, 4).
    """
    first, second = -offsets[thigh + SHIN, 2], -offsets[thigh + ANKLE, 2]
    ex, ey, ez = ankle[0] - hip[0], ankle[1] - hip[1], ankle[2] - hip[2]
    distance = max(math.sqrt(ex * ex + ey * ey + ez * ez), TINY)
    ex, ey, ez = ex / distance, ey / distance, ez / distance
    base, bend, d = corner(first, second, distance)
    ankle[0], ankle[1], ankle[2] = hip[0] + d * ex, hip[1] + d * ey, hip[2] + d * ez
    along = hinge[0] * ex + hinge[1] * ey + hinge[2] * ez
    yx, yy, yz = hinge[0] - along * ex, hinge[1] - along * ey, hinge[2] - along * ez
    size = max(math.sqrt(yx * yx + yy * yy + yz * yz), TINY)
    yx, yy, yz = yx / size, yy / size, yz / size
    # y x e points backwards; the thigh leans forwards, against it.
    bx, by, bz = yy * ez - yz * ey, yz * ex - yx * ez, yx * ey - yy * ex
    c, s = math.cos(base), math.sin(base)
    tx, ty, tz = c * ex - s * bx, c * ey - s * by, c * ez - s * bz
    frame = world[thigh]
    frame[0], frame[1], frame[2], frame[3] = from_axes(
        ty * yz - tz * yy, tz * yx - tx * yz, tx * yy - ty * yx,
        yx, yy, yz, -tx, -ty, -tz,
    )  # fmt: skip
    # x = y x z with z = -t, written as t x y.
    inverse_multiply(world[0], world[thigh], local[thigh])
    shin, talus = thigh + SHIN, thigh + ANKLE
    local[shin, 0], local[shin, 1] = math.cos(0.5 * bend), 0.0
    local[shin, 2], local[shin, 3] = math.sin(0.5 * bend), 0.0
    multiply(world[thigh], local[shin], world[shin])
    for i in range(4):
        world[talus, i] = foot[i]
    inverse_multiply(world[shin], foot, local[talus])


@njit(cache=True)
def solve_arm(
    clavicle: int, sign: float, shoulder: Array, wrist: Array, pole: Array, hand: Array,
    offsets: Array, world: Array, local: Array,
) -> None:  # fmt: skip
    """Rotate an arm so that its wrist is at a point and its hand has an orientation.

    Args:
        clavicle: Joint of the clavicle; upper arm, forearm and hand follow.
        sign: +1 of the left arm, which lies along +Y at rest, -1 of the right one.
        shoulder: World position of the upper arm's joint, [m]. Shape (3,).
        wrist: World position to reach, [m]; clamped to the reach. (3,).
        pole: Preferred world direction of the elbow. Shape (3,).
        hand: World orientation of the hand's joint. Shape (4,).
        offsets: Offsets of all joints, [m]. Shape (J, 3).
        world: World orientations, of which the clavicle's is set. Shape (J, 4).
        local: Local rotations, of which the arm's are filled. Shape (J, 4).
    """
    upper, fore = clavicle + UPPER, clavicle + FORE
    last = clavicle + HAND
    first, second = abs(offsets[fore, 1]), abs(offsets[last, 1])
    ex, ey, ez = wrist[0] - shoulder[0], wrist[1] - shoulder[1], wrist[2] - shoulder[2]
    distance = max(math.sqrt(ex * ex + ey * ey + ez * ez), TINY)
    ex, ey, ez = ex / distance, ey / distance, ez / distance
    base, bend, d = corner(first, second, distance)
    wrist[0], wrist[1] = shoulder[0] + d * ex, shoulder[1] + d * ey
    wrist[2] = shoulder[2] + d * ez
    along = pole[0] * ex + pole[1] * ey + pole[2] * ez
    px, py, pz = pole[0] - along * ex, pole[1] - along * ey, pole[2] - along * ez
    size = max(math.sqrt(px * px + py * py + pz * pz), TINY)
    px, py, pz = px / size, py / size, pz / size
    c, s = math.cos(base), math.sin(base)
    ux, uy, uz = c * ex + s * px, c * ey + s * py, c * ez + s * pz
    # The elbow bends about p x e; only on the right side this is its hinge axis Z.
    zx, zy, zz = py * ez - pz * ey, pz * ex - px * ez, px * ey - py * ex
    zx, zy, zz = -sign * zx, -sign * zy, -sign * zz
    yx, yy, yz = sign * ux, sign * uy, sign * uz
    frame = world[upper]
    frame[0], frame[1], frame[2], frame[3] = from_axes(
        yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx,
        yx, yy, yz, zx, zy, zz,
    )  # fmt: skip
    inverse_multiply(world[clavicle], world[upper], local[upper])
    set_yaw(-sign * bend, local[fore])
    multiply(world[upper], local[fore], world[fore])
    for i in range(4):
        world[last, i] = hand[i]
    inverse_multiply(world[fore], hand, local[last])
