"""Rewards: events of an environment step, and their weighted terms.

The [published](index.md#words) bonuses per step make standing still the best policy (2 x 1000
steps against 100 for the goal). Here they are paid per metre of new best distance to the goal,
so their sum is bounded by the length of the path; see docs/vr_rewards.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr_rewards import NavigationRewardsConfig


@dataclass(frozen=True)
class Transition:
    """Events of N envs in one step; every array has shape (N,)."""

    progress: Floats
    """Distance to the goal before minus after, [m]."""
    new_best: Floats
    """Reduction of the smallest distance so far, [m], >= 0."""
    goals: Floats
    """Fraction of the task's goals reached in this step."""
    comfort: Floats
    """Published comfort score."""
    comfort_index: Floats
    """Comfort index, see docs/comfort.md."""
    smoothness: Floats
    """1 for unaccelerated motion."""
    collisions: Ints
    """Collision events."""
    contact_ticks: Ints
    """Ticks in contact."""
    people_collisions: Ints
    """Collision events with people."""
    people_ticks: Ints
    """Ticks in contact with people."""
    fell: Bools
    """Fell off the floor."""
    timeout: Bools
    """The step limit ended the episode."""
    moves: Ints
    """Discrete moves."""
    walked: Floats
    """Horizontal distance between the positions before and after, [m]."""
    turned: Floats
    """Absolute turn, snaps included, [rad]."""
    action_change: Floats
    """Mean squared change of the smoothed command."""
    posture: Floats
    """Naturalness of the posture, in [0, 1]; 0 where no term needs it."""
    novelty: Floats
    """Novelty of the motion to a motion network, in [0, 1); 0 where no term needs it."""
    dial: Floats | float = 1.0
    """Comfort dial, in [0, 1]: factor of the costs of discomfort."""


class RewardTerm(Protocol):
    """A custom term: a class without constructor arguments, given by dotted path."""

    name: str
    """Its name, logged as `reward/<name>`."""

    def __call__(self, transition: Transition) -> Floats:
        """The term of each env, shape (N,)."""
        ...


def reward_terms(
    t: Transition, weights: NavigationRewardsConfig, custom: Sequence[RewardTerm] = ()
) -> dict[str, NDArray[Any]]:
    """Weighted terms by name, each of shape (N,); the reward is their sum."""
    paid = t.new_best if weights.bonus_mode == "progress" else np.ones_like(t.progress)
    things, people = _collisions(t, weights.collision_mode)
    person = weights.person_collision
    if person is None:
        person = weights.collision_penalty
    terms: dict[str, NDArray[Any]] = {
        "goal": weights.goal_reached * t.goals,
        "progress": weights.progress * t.progress,
        "smooth": weights.smooth_movement * t.smoothness * paid,
        "comfort": weights.comfort_bonus * t.comfort * paid,
        "collision": weights.collision_penalty * things,
        "person": person * people,
        "fall": weights.fall_penalty * t.fell,
        "timeout": weights.timeout_penalty * t.timeout,
        "teleport": weights.teleport_penalty * t.moves,
        "discomfort": -weights.discomfort_cost * t.dial * (1.0 - t.comfort),
        "uncomfortable": -weights.comfort_cost * t.dial * (1.0 - t.comfort_index),
        "path": -weights.path_cost * t.walked,
        "turn": -weights.turn_cost * t.turned,
        "jerk": -weights.jerk_cost * t.action_change,
        "step": np.full_like(t.progress, -weights.step_cost),
        "posture": weights.posture_bonus * t.posture * paid,
        "novelty": -weights.novelty_cost * t.novelty,
    }
    for term in custom:
        terms[term.name] = np.asarray(term(t), np.float64)
    return terms


def _collisions(
    t: Transition, mode: str
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
    """Collisions with objects and with people, as `collision_mode` counts them, (N,) each."""
    if mode == "event":
        return t.collisions - t.people_collisions, t.people_collisions
    if mode == "tick":
        return t.contact_ticks - t.people_ticks, t.people_ticks
    touched = (t.people_ticks > 0).astype(np.int64)
    return (t.contact_ticks > 0).astype(np.int64) - touched, touched


REWARD_TERMS = (
    "goal", "progress", "smooth", "comfort", "collision", "person", "fall", "timeout",
    "teleport", "discomfort", "uncomfortable", "path", "turn", "jerk", "step", "posture",
    "novelty",
)  # fmt: skip
"""Names of the built-in terms."""


def load_custom_terms(paths: Sequence[str]) -> tuple[RewardTerm, ...]:
    """Import and construct the custom terms `package.module:ClassName`.

    Only call this for a user's configuration, never for one from a model file.

    Raises:
        ConfigError: A path is invalid, an import fails, or a class has no name or `__call__`.
    """
    terms: list[RewardTerm] = []
    for path in paths:
        module_name, _, class_name = path.partition(":")
        if not module_name or not class_name:
            raise ConfigError(
                f"rewards.custom: {path!r} is not of the form package.module:ClassName"
            )
        try:
            term = getattr(importlib.import_module(module_name), class_name)()
        except Exception as error:
            raise ConfigError(
                f"rewards.custom: {path!r} cannot be made: {error}"
            ) from error
        if not isinstance(getattr(term, "name", None), str) or not callable(term):
            raise ConfigError(
                f"rewards.custom: {path!r} needs a `name` and a `__call__`"
            )
        if term.name in REWARD_TERMS or term.name in {t.name for t in terms}:
            raise ConfigError(f"rewards.custom: {path!r}: name {term.name!r} is taken")
        terms.append(term)
    return tuple(terms)
