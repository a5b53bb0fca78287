"""Reward terms: pure functions of what a body did in one control step.

The imitation terms are those of X. B. Peng et al., "DeepMimic: Example-Guided Deep
Reinforcement Learning of Physics-Based Character Skills", ACM Transactions on Graphics
37(4), 2018, with the root's term of the authors' published code.
"""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion import LocomotionRewardsConfig
from ambulo.envs.locomotion.body import BodyState

Terms = dict[str, Floats]

SPEED_WIDTH = 0.25
"""Velocity error at which the speed term is exp(-1), [m/s]."""
TURN_WIDTH = 0.5
"""Turning rate error at which the turn term is exp(-1), [rad/s]."""
HEADING_WIDTH = 0.3
"""Heading error at which the heading term is exp(-1), [rad]."""
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
    turned, moved = state.deviation[:, 6:], state.rate[:, 6:]
    root = (
        _square(state.deviation[:, :3])
        + 0.1 * _square(state.deviation[:, 3:6])
        + 0.01 * _square(state.rate[:, :3])
        + 0.001 * _square(state.rate[:, 3:6])
    )
    off = (state.effectors - effectors).reshape(len(com), -1)
    return {
        "pose": weights.pose * np.exp(-2.0 * _square(turned)),
        "velocity": weights.velocity * np.exp(-0.1 * _square(moved)),
        "end_effector": weights.end_effector * np.exp(-40.0 * _square(off)),
        "root": weights.root * np.exp(-5.0 * root),
        "com": weights.com * np.exp(-10.0 * _square(state.com - com)),
    }


def command_terms(
    state: BodyState, speed: Floats, turn: Floats, weights: LocomotionRewardsConfig
) -> Terms:
    """Likeness of commanded `speed` ahead, [m/s], and turning rate, [rad/s], each (N,)."""
    error = np.square(state.heading[:, 0] - speed) + np.square(state.heading[:, 1])
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
    transport = power / (weight * np.maximum(speed, SLOWEST))
    return {
        "energy": -weights.energy * transport,
        "smoothness": -weights.smoothness * np.square(actions - before).mean(axis=1),
        "effort": -weights.effort * np.square(actions).mean(axis=1),
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


def turn_rate(state: BodyState) -> Floats:
    """Angular velocity about the vertical, [rad/s]. Shape (N,)."""
    rate: Floats = np.einsum("ni,ni->n", state.up, state.qvel[:, 3:6])
    return rate


def _square(vectors: Floats) -> Floats:
    squares: Floats = np.einsum("ni,ni->n", vectors, vectors)
    return squares
