"""VR navigation as a Gymnasium vector environment: N envs, one step, no Python loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.gym_batch_env import GymBatchEnv, check_many
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import navigation_config
from ambulo.envs.vr.task.reward import load_custom_terms
from ambulo.envs.vr.task.spaces import (
    action_space,
    observation_space,
    split_observation,
)


class VRNavigationVectorEnv(GymBatchEnv):
    """N envs of `ambulo/VRNavigation-v0` stepped together; see `GymBatchEnv`."""

    _embodied = False

    def __init__(
        self,
        num_envs: int = 1,
        config: NavigationConfig | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        **settings: Any,
    ) -> None:
        """N envs; see `navigation_config` for the keyword `settings`.

        Raises:
            ConfigError: a setting or `num_envs` that cannot be used.
        """
        check_many(num_envs, render_mode)
        self.config = navigation_config(config, embodied=self._embodied, **settings)
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


class EmbodiedNavigationVectorEnv(VRNavigationVectorEnv):
    """N envs of `ambulo/EmbodiedNavigation-v0` stepped together; see `GymBatchEnv`."""

    _embodied = True
