"""Steps of environments whose numbers are finite, or an error that names the one that is not.

Every training steps its environments here: one number that is not finite would make all
weights so in the next update, whose error could not name its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.batch import BatchStep, TaskBatch
from ambulo.configs.errors import ObservationError, RewardError
from ambulo.policies.files.headers import DescribedLayout

TERM = "reward/"
"""Beginning of the keys of reward terms in the info of a step."""


def checked_step(batch: TaskBatch, actions: NDArray[np.generic]) -> BatchStep:
    """Step `batch`; last observations of terminated episodes may be anything.

    Raises:
        ObservationError: A number that the policy would see next is not finite.
        RewardError: A reward is not finite.
    """
    obs, rewards, terminated, truncated, info = batch.step(actions)
    if not np.isfinite(rewards).all():
        raise _reward_error(batch, rewards, info)
    if not np.isfinite(obs).all():
        _check_rows(batch, obs, ~terminated)
    return obs, rewards, terminated, truncated, info


def checked_reset(batch: TaskBatch, envs: Ints) -> NDArray[np.float32]:
    """Begin new episodes in `envs`; return all observations.

    Raises:
        ObservationError: A number of a new episode is not finite.
    """
    obs = batch.reset(envs)
    if not np.isfinite(obs).all():
        rows = np.zeros(batch.num_envs, np.bool_)
        rows[envs] = True
        _check_rows(batch, obs, rows)
    return obs


def checked_steps(
    batch: TaskBatch, act: Callable[[], NDArray[np.generic]], steps: int
) -> Iterator[Ints]:
    """Make `steps` steps, with new episodes where some end; a training's own roll-out.

    Args:
        batch: Environments, reset before.
        act: Returns actions (N, A) for `batch.obs`.
        steps: Number of steps.

    Yields:
        After each step the environments whose episodes ended, not yet reset. Shape (k,).
    """
    for _ in range(steps):
        _, _, terminated, truncated, _ = checked_step(batch, act())
        ended = np.flatnonzero(terminated | truncated)
        yield ended
        if len(ended):
            checked_reset(batch, ended)


def number_not_finite(
    obs: NDArray[np.floating[Any]], layout: DescribedLayout | None
) -> tuple[int, str]:
    """Return the row of the first number of `obs` (N, size) that is not finite, and its text.

    The text is such as `number 7 is nan, in part 'velocity'`; a `layout` names the part.
    """
    row, number = np.argwhere(~np.isfinite(obs))[0].tolist()
    text = f"number {number} is {obs[row, number]}"
    for name, where in ({} if layout is None else layout.slices()).items():
        if where.start <= number < where.stop:
            return row, f"{text}, in part {name!r}"
    return row, text


def _check_rows(batch: TaskBatch, obs: NDArray[np.float32], rows: Bools) -> None:
    """Raise `ObservationError` if an observation of the chosen `rows` (N,) is not finite."""
    shown = np.where(rows[:, None], obs, np.float32(0.0))
    if np.isfinite(shown).all():
        return
    env, text = number_not_finite(shown, getattr(batch, "layout", None))
    raise ObservationError(f"{_place(batch, env)}: observation {text}; must be finite")


def _reward_error(
    batch: TaskBatch, rewards: Floats, info: Mapping[str, NDArray[Any]]
) -> RewardError:
    """Name the first reward that is not finite, and its term."""
    env = int(np.flatnonzero(~np.isfinite(rewards))[0])
    terms = [
        f"term {name.removeprefix(TERM)!r} is {values[env]}"
        for name, values in info.items()
        if name.startswith(TERM) and not np.isfinite(values[env])
    ]
    text = ", ".join(terms) or f"is {rewards[env]}"
    return RewardError(f"{_place(batch, env)}: reward {text}; must be finite")


def _place(batch: TaskBatch, env: int) -> str:
    return f"environment {env}, step {int(batch.episode.steps[env])} of its episode"
