"""A Gymnasium environment over a task batch of size one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.base import Config
from ambulo.configs.batch import SeededBatch
from ambulo.configs.errors import ConfigError, UnknownSettingError, nearest
from ambulo.envs.compiling import log_compilation
from ambulo.envs.spec import TimeLimitInSpec

Settings = TypeVar("Settings", bound=Config)

log_compilation()


class SingleEnv(TimeLimitInSpec, gymnasium.Env[Any, Any]):
    """The batch of one as an environment; subclasses create and render it."""

    batch: SeededBatch
    _env_index = np.zeros(1, np.int64)

    def _check_render_mode(self, render_mode: str | None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(
                f"render_mode = {render_mode!r}: must be 'rgb_array' or None"
            )
        self.render_mode = render_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode drawn with the environment's generator."""
        super().reset(seed=seed)
        self._draw_bodies()
        self.batch.rngs[0] = self.np_random
        self.batch.reset(self._env_index)
        return self._observation(), _first(self.batch.start_info())

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One environment step; `ActionError` for a wrong shape or non-finite values."""
        _, reward, terminated, truncated, arrays = self.batch.step(
            np.asarray(action)[None]
        )
        return (
            self._observation(),
            float(reward[0]),
            bool(terminated[0]),
            bool(truncated[0]),
            _first(arrays | self.batch.episode_info()),
        )

    def _draw_bodies(self) -> None:
        """Draw the body of a new episode, if settings vary it."""

    def _observation(self) -> Any:
        """The present observation."""
        return self.batch.obs[0].copy()


def _first(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """The first entry of each array, as a Python value."""
    return {name: values.item(0) for name, values in arrays.items()}


def with_settings(
    config: Settings,
    groups: Mapping[str, type[Config]],
    settings: Mapping[str, Any],
    keywords: Sequence[str],
) -> Settings:
    """`config` updated by `settings`, each a key of one of its `groups`; the first match wins.

    `keywords` are further keywords of the caller, for hints.

    Raises:
        ConfigError: An unknown name or a bad value, with the nearest valid name.
    """
    where = {
        key: group
        for group in reversed(list(groups))
        for key in groups[group].model_fields
    }
    changes: dict[str, dict[str, Any]] = {}
    for key, value in settings.items():
        if key == "num_envs":
            raise ConfigError(
                f"num_envs = {value!r}: an environment is one body; "
                "gymnasium.make_vec makes several"
            )
        if key not in where:
            raise UnknownSettingError(
                f"got an unexpected keyword argument {key!r}{nearest(key, (*where, *keywords))}"
            )
        plain = value.model_dump() if isinstance(value, Config) else value
        changes.setdefault(where[key], {})[key] = plain
    if changes:
        try:
            config = config.merge(changes, "override")
        except ConfigError as error:
            raise ConfigError(str(error).removeprefix("override: ")) from None
    return config
