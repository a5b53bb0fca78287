"""The specification of an environment that applies its time limit itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gymnasium.envs.registration import EnvSpec


class TimeLimitInSpec:
    """`spec.max_episode_steps` is the configured limit, unless `gymnasium.make` sets one.

    Other libraries read the limit there; Gymnasium itself only knows that of its own wrapper.
    """

    config: Any
    _spec: EnvSpec | None = None

    def _step_limit(self) -> int | None:
        """Return the configured limit, or None."""
        limit: int = self.config.environment.max_episode_steps
        return limit

    @property
    def spec(self) -> EnvSpec | None:
        """Specification from `gymnasium.make`; None if the environment was made otherwise."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None and spec.max_episode_steps is None:
            spec = replace(spec, max_episode_steps=self._step_limit())
        self._spec = spec
