"""What a locomotion task may change of the batch that all tasks share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gymnasium.error import ResetNeeded

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import BodyState
from ambulo.envs.locomotion.episode import EpisodeState
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.locomotion.world import World
from ambulo.envs.simulation.variants import Variant


def in_phase(values: Sequence[float], share: float) -> float | None:
    """The one of `values` for phases of equal length that holds at `share`; None of none."""
    return values[min(int(share * len(values)), len(values) - 1)] if values else None


class TaskHooks:
    """Defaults of a task; `LocomotionBatch` calls them."""

    num_envs: int
    """N."""
    extra_actions: tuple[str, ...] = ()
    """Names of actions after those that move joints."""
    config: LocomotionConfig
    """All settings."""
    character: Character
    """The body."""
    variant: Variant
    """How the body and its world differ from the settings."""

    action: Floats
    """The action before. Shape (N, A)."""
    phase: Floats
    """Phases of the reference. Shape (N,)."""
    state: BodyState
    """The bodies after the last step."""
    episode: EpisodeState
    """How far the episodes are."""
    _begun: Bools
    """Whether each body was ever reset. Shape (N,)."""

    def _world(self) -> World:
        """The model of the body, and its ground."""
        return World(self.config.environment, self.character, self.variant)

    def _check_begun(self) -> None:
        """Raise `ResetNeeded` for a body that was never reset."""
        if np.count_nonzero(self._begun) < self.num_envs:
            body = int(np.argmin(self._begun))
            raise ResetNeeded(f"body {body} has no episode yet: reset before step")

    def _begin(self, envs: Ints) -> None:
        """Begin the task of new episodes (commands, moving frames)."""

    def _start_controls(self, envs: Ints) -> Floats | None:
        """What motors of `envs` (k,) do at the start, (k, nu); None: nothing."""
        return None

    def _tick(self, advance: Floats) -> None:
        """Move the reference on by one physics step, `advance` cycles (N,)."""
        self.phase += advance

    def _fell(self) -> Bools:
        """Which bodies lie low or are turned beside their reference. Shape (N,)."""
        env = self.config.environment
        return self.state.fallen(env.max_height_error, env.max_rotation_error)

    def _timed_out(self) -> Bools:
        """Whose episode is over without a fall. Shape (N,)."""
        return self.episode.steps >= self.config.environment.max_episode_steps

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        """The weighted reward terms of the step, each (N,)."""
        raise NotImplementedError

    def _succeeded(self, timeout: Bools) -> Bools:
        """Which of the bodies whose time is over have done their task. Shape (N,)."""
        return timeout

    def _named_terms(self) -> tuple[str, ...]:
        """Names of the reward terms."""
        return tuple(self._terms(np.zeros(self.num_envs), np.zeros_like(self.action)))

    def set_progress(self, share: float) -> None:
        """Tell how much of the training is over, in [0, 1]; schedules follow it."""

    def close(self) -> None:
        """Nothing is open."""

    def _shown(self) -> dict[str, Floats]:
        """Further parts of the observation by name, (N, n) each; none here."""
        return {}

    def _future(self) -> Floats:
        """The reference ahead as the body sees it, (N, F); none here."""
        return np.zeros((self.num_envs, 0))
