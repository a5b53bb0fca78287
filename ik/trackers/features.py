"""Compiled: the network's input at a network step, and its output as a pose in the world."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array
from ambulo.ik.trackers.layout import (
    AGE,
    FORGET,
    HEAD_ROW,
    POSITION,
    PRESENT,
    ROTATION,
    SHAPE,
    SPIN,
    STEP,
    TICK,
    VELOCITY,
)
from ambulo.ik.trackers.sizes import (
    JOINTS,
    TRACKERS,
    WIDTH,
)
from ambulo.motion.quaternion_kernels import from_rows, heading_of, product, to_rows

TINY = 1e-12
"""Added to squared lengths of the network's rows, so that 0 gives no NaN."""


@njit(cache=True)
def write_inputs(
    places: Array, turns: Array, present: Array, ages: Array,
    places_before: Array, turns_before: Array, present_before: Array,
    ratios: Array, scale: float, interval: float, out: Array,
) -> None:  # fmt: skip
    """Fill the network's input; see `ambulo.ik.trackers.layout`.

    Args:
        places: Last positions of the trackers in the world, [m]. Shape (6, 3).
        turns: Last orientations. Shape (6, 4).
        present: 1 for each present tracker. Shape (6,).
        ages: Time since its last sample, [s]. Shape (6,).
        places_before: Positions at the previous network step.
        turns_before: Orientations at the previous network step.
        present_before: Presence at the previous network step.
        ratios: Assumed proportions. Shape (3,).
        scale: Their standing height over human23's.
        interval: Time since the previous network step, [s].
        out: The input. Shape (106,).
    """
    c, s = heading_of(turns[HEAD_ROW])
    ox, oy = places[HEAD_ROW, 0], places[HEAD_ROW, 1]
    # Minus the yaw as a quaternion: half angles.
    half = 0.5 * math.atan2(s, c)
    w, z = math.cos(half), -math.sin(half)
    q, six = np.empty(4), np.empty(6)
    out[:] = 0.0
    for k in range(TRACKERS):
        at = k * WIDTH
        out[at + PRESENT] = present[k]
        out[at + AGE] = min(ages[k] / FORGET, 1.0)
        if ages[k] < FORGET:
            x, y = places[k, 0] - ox, places[k, 1] - oy
            out[at + POSITION] = (c * x + s * y) / scale
            out[at + POSITION + 1] = (c * y - s * x) / scale
            out[at + POSITION + 2] = places[k, 2] / scale
            t = turns[k]
            q[0], q[1], q[2], q[3] = product(w, 0.0, 0.0, z, t[0], t[1], t[2], t[3])
            to_rows(q, six)
            for i in range(6):
                out[at + ROTATION + i] = six[i]
        if present[k] > 0.0 and present_before[k] > 0.0:
            vx = (places[k, 0] - places_before[k, 0]) / interval
            vy = (places[k, 1] - places_before[k, 1]) / interval
            vz = (places[k, 2] - places_before[k, 2]) / interval
            out[at + VELOCITY] = (c * vx + s * vy) / scale
            out[at + VELOCITY + 1] = (c * vy - s * vx) / scale
            out[at + VELOCITY + 2] = vz / scale
            a, b = turns[k], turns_before[k]
            e, f, g, h = product(a[0], a[1], a[2], a[3], b[0], -b[1], -b[2], -b[3])
            # The skew part of the rotation matrix, halved: 2 w (x, y, z).
            size = 2.0 * e / interval
            out[at + SPIN] = size * (c * f + s * g)
            out[at + SPIN + 1] = size * (c * g - s * f)
            out[at + SPIN + 2] = size * h
    for i in range(3):
        out[SHAPE + i] = math.log(ratios[i] / scale)
    out[STEP] = interval / TICK


@njit(cache=True)
def read_pose(
    output: Array, head: Array, turn: Array, scale: float, root: Array, local: Array
) -> None:
    """Convert the network's `output` (151,) to a pose in the world.

    Args:
        output: The output.
        head: Position of the head at the network step, [m]. Shape (3,).
        turn: Its orientation. Shape (4,).
        scale: Assumed standing height over human23's.
        root: Position of the pelvis (output), [m]. Shape (3,).
        local: Local rotations (output). Shape (23, 4).
    """
    c, s = heading_of(turn)
    x, y = scale * output[0], scale * output[1]
    root[0] = head[0] + c * x - s * y
    root[1] = head[1] + s * x + c * y
    root[2] = scale * output[2]
    for j in range(JOINTS):
        six = output[3 + 6 * j : 9 + 6 * j]
        local[j, 0], local[j, 1], local[j, 2], local[j, 3] = from_rows(
            six[0], six[1], six[2], six[3], six[4], six[5], TINY
        )
    half = 0.5 * math.atan2(s, c)
    w, z = math.cos(half), math.sin(half)
    q = local[0]
    q[0], q[1], q[2], q[3] = product(w, 0.0, 0.0, z, q[0], q[1], q[2], q[3])
