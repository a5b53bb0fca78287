"""Reward terms: pure functions of what a body did in one control step.

The imitation terms are those of X. B. Peng et al., "DeepMimic: Example-Guided Deep
Reinforcement Learning of Physics-Based Character Skills", ACM Transactions on Graphics
37(4), 2018, with the root's term of the authors' published code.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion_learning import LocomotionRewardsConfig
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.sums import pairwise_sum, squared_length

Terms = dict[str, Floats]

SPEED_WIDTH = 0.25
"""Velocity error at which the speed term is exp(-1), [m/s]."""
TURN_WIDTH = 0.5
"""Turning rate error at which the turn term is exp(-1), [rad/s]."""
HEADING_WIDTH = 0.3
"""Heading error at which the heading term is exp(-1), [rad]."""
POSE_WIDTH = 0.4
"""Root mean square of deviations at which the pose of `get_up` is exp(-1), [rad]."""
SLOWEST = 0.5
"""Least speed that the cost of transport divides by, [m/s]."""


def imitation_terms(
    state: BodyState, effectors: Floats, com: Floats, weights: LocomotionRewardsConfig
) -> Terms:
    """Likeness of the reference, each weighted, (N,).

    Args:
        state: The bodies.
        effectors: The reference's end effectors, as the state's. Shape (N, E, 3).
        com: Its centre of mass, as the state's. Shape (N, 3).
        weights: Weights of the terms.
    """
    likeness = np.empty((5, len(com)))
    _exponents(
        state.deviation,
        state.rate,
        state.effectors,
        np.ascontiguousarray(effectors),
        state.com,
        com,
        likeness,
    )
    np.exp(likeness, out=likeness)
    return {
        "pose": weights.pose * likeness[0],
        "velocity": weights.velocity * likeness[1],
        "end_effector": weights.end_effector * likeness[2],
        "root": weights.root * likeness[3],
        "com": weights.com * likeness[4],
    }


def command_terms(
    state: BodyState, wanted: Floats, weights: LocomotionRewardsConfig
) -> Terms:
    """Likeness of commands, each term (N,).

    Args:
        state: The bodies.
        wanted: Speed ahead, [m/s], turning rate, [rad/s], and speed to the left, [m/s],
            where that is commanded. Shape (N, 2) or (N, 3).
        weights: Weights of the terms.
    """
    speed, turn, *sides = wanted.T
    side = sides[0] if sides else 0.0
    error = np.square(state.heading[:, 0] - speed)
    error += np.square(state.heading[:, 1] - side)
    rate = turn_rate(state)
    return {
        "speed": weights.speed * np.exp(-error / SPEED_WIDTH**2),
        "turn": weights.turn * np.exp(-np.square((rate - turn) / TURN_WIDTH)),
        "heading": weights.heading * np.exp(-np.square(state.yaw / HEADING_WIDTH)),
    }


def cost_terms(
    power: Floats,
    weight: float,
    speed: Floats,
    actions: Floats,
    before: Floats,
    weights: LocomotionRewardsConfig,
) -> Terms:
    """Costs as negative terms, (N,).

    Args:
        power: Absolute power of all joints, [W]. Shape (N,).
        weight: Body weight, [N].
        speed: Horizontal speed, [m/s]. Shape (N,).
        actions: This step's. Shape (N, A).
        before: The last step's.
        weights: Weights of the terms.
    """
    costs = np.empty((3, len(power)))
    _costs(power, weight, speed, actions, before, costs)
    return {
        "energy": -weights.energy * costs[0],
        "smoothness": -weights.smoothness * costs[1],
        "effort": -weights.effort * costs[2],
    }


def standing_terms(
    state: BodyState, height: float, weights: LocomotionRewardsConfig
) -> Terms:
    """Upright at `height`, [m], without moving."""
    off = np.square((state.height - height) / 0.1) + _square(state.heading) / 0.25
    off += np.square(np.arccos(np.clip(state.up[:, 2], -1.0, 1.0)) / 0.3)
    return {
        "upright": weights.upright * np.exp(-off),
        "heading": weights.heading * np.exp(-np.square(state.yaw / HEADING_WIDTH)),
    }


def alive_term(state: BodyState, weights: LocomotionRewardsConfig) -> Terms:
    """Reward of each step without a fall."""
    return {"alive": np.full(len(state.yaw), weights.alive)}


def rising_terms(
    state: BodyState, height: float, weights: LocomotionRewardsConfig
) -> Terms:
    """Towards upright at `height`, [m], and in the pose of the reference there."""
    share = np.clip(state.height / height, 0.0, 1.0)
    upright = 0.5 * (1.0 + state.up[:, 2])
    standing = standing_terms(state, height, weights)["upright"]
    joints = np.square(state.deviation[:, 6:]).mean(axis=1)
    return {
        "rise": weights.rise * share * (0.5 + 0.5 * upright),
        "upright": standing,
        "pose": weights.pose * share**4 * np.exp(-joints / POSE_WIDTH**2),
    }


def turn_rate(state: BodyState) -> Floats:
    """Angular velocity about the vertical, [rad/s]. Shape (N,)."""
    rate: Floats = np.einsum("ni,ni->n", state.up, state.qvel[:, 3:6])
    return rate


def _square(vectors: Floats) -> Floats:
    squares: Floats = np.einsum("ni,ni->n", vectors, vectors)
    return squares


@njit(cache=True)
def _exponents(
    deviation: Floats,
    rate: Floats,
    effectors: Floats,
    reference_effectors: Floats,
    com: Floats,
    reference_com: Floats,
    out: Floats,
) -> None:
    """Fill `out` (5, N) with what `imitation_terms` are the exponential of."""
    count = effectors.shape[1]
    off = np.empty(3 * count)
    for b in range(len(com)):
        turned, moved = deviation[b], rate[b]
        root = (
            squared_length(turned[:3])
            + 0.1 * squared_length(turned[3:6])
            + 0.01 * squared_length(moved[:3])
            + 0.001 * squared_length(moved[3:6])
        )
        for e in range(count):
            for i in range(3):
                off[3 * e + i] = effectors[b, e, i] - reference_effectors[b, e, i]
        out[0, b] = -2.0 * squared_length(turned[6:])
        out[1, b] = -0.1 * squared_length(moved[6:])
        out[2, b] = -40.0 * squared_length(off)
        out[3, b] = -5.0 * root
        out[4, b] = -10.0 * squared_length(com[b] - reference_com[b])


@njit(cache=True)
def _costs(
    power: Floats,
    weight: float,
    speed: Floats,
    actions: Floats,
    before: Floats,
    out: Floats,
) -> None:
    """Fill `out` (3, N) with what `cost_terms` weigh."""
    change, effort = np.empty(actions.shape[1]), np.empty(actions.shape[1])
    for b in range(len(power)):
        out[0, b] = power[b] / (weight * max(speed[b], SLOWEST))
        for i in range(len(change)):
            difference = actions[b, i] - before[b, i]
            change[i] = difference * difference
            effort[i] = actions[b, i] * actions[b, i]
        out[1, b] = pairwise_sum(change) / len(change)
        out[2, b] = pairwise_sum(effort) / len(effort)
