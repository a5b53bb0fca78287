"""Compiled: look-ups in the gait table. The add-on's `gait_table.gd` computes the same."""

from __future__ import annotations

import math

from numba import njit

from ambulo.configs.arrays import Array


@njit(cache=True)
def bracket(speeds: Array, speed: float) -> tuple[int, float]:
    """Row k of `speeds` (K,) and fraction t such that `speed` lies at k + t, clamped."""
    last = len(speeds) - 2
    k = 0
    while k < last and speed >= speeds[k + 1]:
        k += 1
    t = (speed - speeds[k]) / (speeds[k + 1] - speeds[k])
    return k, min(max(t, 0.0), 1.0)


@njit(cache=True)
def mixed(values: Array, k: int, t: float, out: Array) -> None:
    """Fill `out` (n,) with row k + t of `values` (K, n)."""
    for i in range(len(out)):
        out[i] = values[k, i] + t * (values[k + 1, i] - values[k, i])


@njit(cache=True)
def corners(
    phases: int, t: float, phase: float
) -> tuple[int, int, float, float, float, float]:
    """The two columns around `phase` and the weights of the four corners.

    In the order (row, column), (row, next), (next row, column), (next row, next).
    """
    at = (phase - math.floor(phase)) * phases
    p = min(int(at), phases - 1)
    u = at - p
    n = p + 1 if p + 1 < phases else 0
    return p, n, (1 - t) * (1 - u), (1 - t) * u, t * (1 - u), t * u


@njit(cache=True)
def root_at(root: Array, k: int, t: float, phase: float, out: Array) -> None:
    """Fill `out` (3,) from `root` (K, P, 3) at row k + t and `phase`."""
    p, n, a, b, c, d = corners(root.shape[1], t, phase)
    for i in range(3):
        out[i] = (
            a * root[k, p, i]
            + b * root[k, n, i]
            + c * root[k + 1, p, i]
            + d * root[k + 1, n, i]
        )


@njit(cache=True)
def pose_at(
    rotations: Array, stand: Array, k: int, t: float, phase: float, part: float,
    out: Array,
) -> None:  # fmt: skip
    """Fill `out` (J, 4) with the pose at row k + t and `phase`, blended with `stand`.

    Linear in the quaternions, which are near each other, then normalised. `part` is the gait's
    weight, 1 - `part` that of the standing pose.
    """
    p, n, a, b, c, d = corners(rotations.shape[1], t, phase)
    a, b, c, d, e = part * a, part * b, part * c, part * d, 1.0 - part
    for j in range(len(out)):
        square = 0.0
        for i in range(4):
            x = (
                a * rotations[k, p, j, i]
                + b * rotations[k, n, j, i]
                + c * rotations[k + 1, p, j, i]
                + d * rotations[k + 1, n, j, i]
                + e * stand[j, i]
            )
            out[j, i] = x
            square += x * x
        scale = 1.0 / math.sqrt(square)
        for i in range(4):
            out[j, i] *= scale
