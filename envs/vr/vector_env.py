"""VR navigation as a Gymnasium vector environment: N players, one step, no Python loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ambulo.configs.vr import RLConfig
from ambulo.envs.vector_env import BatchVectorEnv, check_many
from ambulo.envs.vr.build import make_batch
from ambulo.envs.vr.env import navigation_config
from ambulo.envs.vr.reward import load_custom_terms
from ambulo.envs.vr.spaces import action_space, observation_space, split_observation


class VRNavigationVectorEnv(BatchVectorEnv):
    """N players of `ambulo/VRNavigation-v0` stepped together; see `BatchVectorEnv`."""

    def __init__(
        self,
        num_envs: int = 1,
        config: RLConfig | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        render_mode: None = None,
        **settings: Any,
    ) -> None:
        """N players; see `navigation_config` for the keyword `settings`.

        Raises:
            ConfigError: a setting or `num_envs` that cannot be used.
        """
        check_many(num_envs, render_mode)
        self.config = navigation_config(config, **settings)
        batch = make_batch(
            self.config,
            num_envs,
            custom_terms=load_custom_terms(self.config.rewards.custom),
        )
        seen = observation_space(batch.layout, self.config.observations.format)
        named = isinstance(seen, spaces.Dict)
        super().__init__(
            batch,
            seen,
            action_space(self.config),
            autoreset_mode=autoreset_mode,
            split=partial(split_observation, batch.layout) if named else None,
        )
