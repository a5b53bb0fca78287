"""The compiled part of `body`: from the arrays of a simulation to what tasks read."""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.simulation.tangent import differences


@njit(cache=True)
def sole_points(
    places: Floats, turns: Floats, bodies: Ints, offsets: Floats, radius: float
) -> Floats:
    """Lowest places of sole balls in the world, [m], shape (N, P, 3).

    Args:
        places: Places of all bodies in the world. Shape (N, nbody, 3).
        turns: Their rotation matrices. Shape (N, nbody, 9).
        bodies: The body of each ball. Shape (P,).
        offsets: The balls in their bodies' frames. Shape (P, 3).
        radius: Of all balls, [m].
    """
    out = np.empty((len(places), len(bodies), 3))
    for b in range(len(out)):
        for p in range(len(bodies)):
            body, (x, y, z) = bodies[p], offsets[p]
            turn = turns[b, body]
            for i in range(3):
                # In the order of the `einsum` that published numbers were made with.
                moved = (turn[3 * i] * x + turn[3 * i + 2] * z) + turn[3 * i + 1] * y
                out[b, p, i] = places[b, body, i] + moved
            out[b, p, 2] -= radius
    return out


@njit(cache=True)
def body_state(
    reference_frame: Floats,
    reference_qpos: Floats,
    reference_qvel: Floats,
    ground: Floats,
    heights: Floats,
    places: Floats,
    centres: Floats,
    root: int,
    bodies: Ints,
    parts: Ints,
    joints: Ints,
    touching: float,
    qpos: Floats,
    qvel: Floats,
    deviation: Floats,
    rate: Floats,
    up: Floats,
    heading: Floats,
    yaw: Floats,
    height: Floats,
    effectors: Floats,
    com: Floats,
    soles: Floats,
    contacts: Bools,
) -> None:
    """Fill the arrays of a `BodyState`, the last twelve arguments.

    Args:
        reference_frame: The reference frames, x, y, [m], yaw, [rad], z, [m]. Shape (N, 4).
        reference_qpos: Positions of the reference in the reference frame. Shape (N, nq).
        reference_qvel: Its velocities. Shape (N, nv).
        ground: Height of the ground under the roots, [m]. Shape (N,).
        heights: Of the sole balls over the ground, [m]. Shape (N, P).
        places: Places of all bodies in the world. Shape (N, nbody, 3).
        centres: Centres of mass of their subtrees. Shape (N, nbody, 3).
        root: The root's body.
        bodies: Those of the end effectors. Shape (E,).
        parts: The part of a foot, 0 to 5, of each ball. Shape (P,).
        joints: `Tangent.joints`.
        touching: Height below which a foot touches the ground, [m].
        qpos: Positions in the world, which are put into the reference frames. Shape (N, nq).
        qvel: Velocities, as `qpos`. Shape (N, nv).
        deviation: Result, as the following ones.
        rate: See `deviation`.
        up: See `deviation`.
        heading: See `deviation`.
        yaw: See `deviation`.
        height: See `deviation`.
        effectors: See `deviation`.
        com: See `deviation`.
        soles: See `deviation`.
        contacts: See `deviation`.
    """
    for b in range(len(qpos)):
        height[b] = qpos[b, 2] - ground[b]
        _into_frame(qpos[b], qvel[b], reference_frame[b], up[b], heading[b])
        yaw[b] = _turn_to_heading(qpos[b], heading[b])
        _seen_places(
            places[b],
            centres[b],
            reference_frame[b],
            root,
            bodies,
            effectors[b],
            com[b],
        )
        _sole_heights(heights[b], parts, touching, soles[b], contacts[b])
        for i in range(qvel.shape[1]):
            rate[b, i] = qvel[b, i] - reference_qvel[b, i]
    differences(joints, qpos, reference_qpos, deviation)


@njit(cache=True)
def _into_frame(
    qpos: Floats, qvel: Floats, reference_frame: Floats, up: Floats, along: Floats
) -> None:
    """Express a root's state in the reference frame, in place; its velocity is `along` too."""
    c, s = np.cos(reference_frame[2]), np.sin(reference_frame[2])
    x, y = qpos[0] - reference_frame[0], qpos[1] - reference_frame[1]
    qpos[0], qpos[1] = c * x + s * y, -s * x + c * y
    qpos[2] -= reference_frame[3]
    u, v = qvel[0], qvel[1]
    qvel[0], qvel[1] = c * u + s * v, -s * u + c * v
    ch, sh = np.cos(0.5 * reference_frame[2]), np.sin(0.5 * reference_frame[2])
    w, i, j, k = qpos[3], qpos[4], qpos[5], qpos[6]
    w, i, j, k = ch * w + sh * k, ch * i + sh * j, ch * j - sh * i, ch * k - sh * w
    qpos[3], qpos[4], qpos[5], qpos[6] = w, i, j, k
    up[0] = 2.0 * (i * k - w * j)
    up[1] = 2.0 * (j * k + w * i)
    up[2] = 1.0 - 2.0 * (i * i + j * j)
    along[0], along[1], along[2] = qvel[0], qvel[1], qvel[2]


@njit(cache=True)
def _turn_to_heading(qpos: Floats, velocity: Floats) -> float:
    """The root's yaw, [rad]; turns its velocity (3,) into its heading frame, in place."""
    w, i, j, k = qpos[3], qpos[4], qpos[5], qpos[6]
    yaw = np.arctan2(2.0 * (i * j + w * k), 1.0 - 2.0 * (j * j + k * k))
    c, s = np.cos(yaw), np.sin(yaw)
    u, v = velocity[0], velocity[1]
    velocity[0], velocity[1] = c * u + s * v, -s * u + c * v
    return float(yaw)


@njit(cache=True)
def _seen_places(
    places: Floats,
    centres: Floats,
    reference_frame: Floats,
    root: int,
    bodies: Ints,
    effectors: Floats,
    com: Floats,
) -> None:
    """Fill `effectors` (E, 3) and `com` (3,) of one body."""
    c, s = np.cos(reference_frame[2]), np.sin(reference_frame[2])
    for e in range(len(bodies)):
        x = places[bodies[e], 0] - places[root, 0]
        y = places[bodies[e], 1] - places[root, 1]
        effectors[e, 0], effectors[e, 1] = c * x + s * y, -s * x + c * y
        effectors[e, 2] = places[bodies[e], 2] - places[root, 2]
    x, y = centres[root, 0] - reference_frame[0], centres[root, 1] - reference_frame[1]
    com[0], com[1] = c * x + s * y, -s * x + c * y
    com[2] = centres[root, 2] - reference_frame[3]


@njit(cache=True)
def _sole_heights(
    heights: Floats, parts: Ints, touching: float, soles: Floats, contacts: Bools
) -> None:
    """Fill `soles` (6,) and `contacts` (2,) of one body; NaN if a height is NaN."""
    soles[:] = np.inf
    for p in range(len(parts)):
        height = heights[p]
        if height < soles[parts[p]] or np.isnan(height):
            soles[parts[p]] = height
    for side in range(2):
        lowest = soles[3 * side]
        for part in range(1, 3):
            height = soles[3 * side + part]
            if height < lowest or np.isnan(height):
                lowest = height
        contacts[side] = lowest < touching
        for part in range(3):  # a foot of few balls has no other parts
            if soles[3 * side + part] == np.inf:
                soles[3 * side + part] = lowest
