"""Parts of the common batch that a locomotion task may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import Part
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.episode import EpisodeState
from ambulo.envs.locomotion.observation import Parts
from ambulo.envs.locomotion.reward import (
    Terms,
    alive_term,
    cost_terms,
    imitation_terms,
    standing_terms,
)
from ambulo.envs.locomotion.world import World
from ambulo.envs.reference.gaits import Gaits
from ambulo.envs.simulation.variants import Variant


class LocomotionTask:
    """Hooks of a task that `LocomotionBatch` calls; the defaults follow one gait."""

    rewards: ClassVar[tuple[str, ...]] = ("imitation", "changes")
    """Groups of reward terms, see `_reward_groups`, in the order in which they are added."""
    extra_actions: tuple[str, ...] = ()
    """Names of actions after those that move joints."""
    num_envs: int
    """N."""
    config: LocomotionConfig
    """All settings."""
    character: Character
    """The body."""
    variant: Variant
    """How the body and its world differ from the settings."""
    weight: float
    """Body weight, [N]."""
    gaits: Gaits
    """The gaits of the reference."""
    action: Floats
    """The action before. Shape (N, A)."""
    phase: Floats
    """Place in the gait cycle, [0, 1). Shape (N,)."""
    state: BodyState
    """The bodies after the last step."""
    episode: EpisodeState
    """How far the episodes are."""

    @property
    def own(self) -> Any:
        """The task's own settings, of the class that its `TaskSpec` names."""
        return self.config.own

    def _world(self) -> World:
        """The model of the body, and its ground; `add` of `World` puts things there."""
        return World(self.config.environment, self.character, self.variant)

    def _begin(self, envs: Ints) -> None:
        """Begin the task of new episodes (commands, reference frames)."""

    def _start_controls(self, envs: Ints) -> Floats | None:
        """Initial controls of the motors of `envs` (k,), (k, nu); None: zero."""
        return None

    def _tick(self, advance: Floats) -> None:
        """Move the reference on by one physics step, `advance` cycles (N,)."""
        self.phase += advance

    def _stepped(self) -> None:
        """Take in a control step: `state` is known, ends and rewards are not yet."""

    def fell(self) -> Bools:
        """Which bodies lie low or are turned beside their reference. Shape (N,)."""
        env = self.config.environment
        return self.state.fallen(env.max_height_error, env.max_rotation_error)

    def timed_out(self) -> Bools:
        """Whose episode is over without a fall: it is truncated. Shape (N,).

        A task that ends before its time limit, as at a goal, adds when.
        """
        return self.episode.steps >= self.config.environment.max_episode_steps

    def succeeded(self, timeout: Bools) -> Bools:
        """Which of the bodies whose episode is over have done their task. Shape (N,).

        Args:
            timeout: `timed_out`, without those that fell. Shape (N,).
        """
        return timeout

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        """Weighted reward terms of a step by group, each (N,).

        Args:
            power: Mean absolute power of all joints, [W]. Shape (N,).
            actions: Shape (N, A).
        """
        state, weights = self.state, self.config.rewards
        return {
            "imitation": lambda: imitation_terms(state, *self._followed_now(), weights),
            "standing": lambda: standing_terms(state, self._stands_at, weights),
            "alive": lambda: alive_term(state, weights),
            "costs": lambda: self._cost_terms(power, actions),
            "changes": lambda: self._cost_terms(power, actions, energy=False),
        }

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        """The reward terms of a step; see `_reward_groups`."""
        groups, terms = self._reward_groups(power, actions), Terms()
        for name in self.rewards:
            terms |= groups[name]()
        return terms

    def _cost_terms(
        self, power: Floats, actions: Floats, *, energy: bool = True
    ) -> Terms:
        """The weighted costs of power, [W], (N,), if of `energy`, and of actions (N, A)."""
        speed, weights = np.hypot(*self.state.heading[:, :2].T), self.config.rewards
        terms = cost_terms(power, self.weight, speed, actions, self.action, weights)
        return terms if energy else {n: t for n, t in terms.items() if n != "energy"}

    def _named_terms(self) -> tuple[str, ...]:
        """Names of the reward terms."""
        return tuple(self._terms(np.zeros(self.num_envs), np.zeros_like(self.action)))

    @property
    def _stands_at(self) -> float:
        """Height of the root in the first gait's first state, [m]."""
        return float(self.gaits.qpos[0, 0, 2])

    def set_progress(self, share: float) -> None:
        """Tell how much of the training is over, in [0, 1]; schedules follow it."""

    def close(self) -> None:
        """Nothing is open."""

    def _followed_now(self) -> tuple[Floats, Floats]:
        """The reference's end effectors and centre of mass, as of `BodyState`."""
        raise NotImplementedError

    def _own_parts(self) -> tuple[Part, ...]:
        """Parts of the observation that only this task has; called before all is set up."""
        return ()

    def _shown(self) -> Parts:
        """Values of further parts of the observation, as of `_own_parts`. (N, size) each."""
        return {}
