"""The specification of an environment that keeps its time limit itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymnasium.envs.registration import EnvSpec


class TimeLimitInSpec:
    """`spec.max_episode_steps` is the configured limit, unless `gymnasium.make` sets one.

    Other libraries read the limit there; Gymnasium itself knows only of its own wrapper.
    """

    config: Any
    _spec: EnvSpec | None = None

    def _step_limit(self) -> int | None:
        """Return the configured limit; None: there is none."""
        limit: int = self.config.environment.max_episode_steps
        return limit

    @property
    def spec(self) -> EnvSpec | None:
        """How the environment was made; None outside of `gymnasium.make`."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None and spec.max_episode_steps is None:
            spec = replace(spec, max_episode_steps=self._step_limit())
        self._spec = spec
