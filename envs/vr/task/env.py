"""VR navigation as Gymnasium environments: one (the batch of one), and N at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_comfort import check_dial
from ambulo.envs.gym_batch_env import GymBatchEnv, check_many
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.single_env import SingleEnv, with_settings
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.drawing import BatchRenderer
from ambulo.envs.vr.task.reward import load_custom_terms
from ambulo.envs.vr.world.actions import DISCRETE_ACTIONS

MAX_EPISODE_STEPS = 600
"""Step limit of the registered environments, [environment steps] (one minute; a body with
legs has two)."""
LEVELS_PER_FAMILY = 8
"""Levels per family of a directly created environment."""
Format = Literal["flat", "dict"]


def navigation_config(
    config: NavigationConfig | Mapping[str, Any] | None = None,
    *,
    level: str | tuple[str, ...] | None = None,
    level_file: str | None = None,
    step_limit: int | None = None,
    embodied: bool = False,
    **settings: Any,
) -> NavigationConfig:
    """The configuration of an environment from `gymnasium.make` keywords.

    Args:
        config: Base configuration (or its JSON data, so that the environment's spec stays JSON)
            instead of the defaults of the registered environment.
        level: A level family or set, or several.
        level_file: A level JSON file or a folder of them, for all episodes.
        step_limit: `environment.max_episode_steps`, under a name that `gymnasium.make` does not
            consume (its own limit only truncates, without the timeout term).
        embodied: Start from the defaults of a body with legs, if `config` is None.
        **settings: Any key of the groups environment, observations, actions and rewards (their
            names do not overlap), such as `frame="world"` or `goal_reached=50`.

    Raises:
        ConfigError: A name is unknown or a value invalid; names the nearest valid name.
    """
    if config is None:
        config = NavigationConfig().override(
            "environment",
            max_episode_steps=MAX_EPISODE_STEPS,
            levels_per_family=LEVELS_PER_FAMILY,
        )
        if embodied:
            config = embodied_config(config)
    elif not isinstance(config, NavigationConfig):
        config = parse(NavigationConfig, config, "config")
    if level is not None:
        settings["levels"] = level if isinstance(level, tuple | list) else (level,)
    if level_file is not None:
        settings = {"level_file_fraction": 1.0, **settings}
        settings["level_file"] = str(level_file)
    if step_limit is not None:
        settings["max_episode_steps"] = step_limit
    names = ("environment", "observations", "actions", "rewards")
    groups = {name: type(getattr(config, name)) for name in names}
    return with_settings(
        config, groups, settings, ("config", "level", "level_file", "step_limit")
    )


def embodied_config(config: NavigationConfig) -> NavigationConfig:
    """`config` for human23 and its walker, whose control steps are the ticks.

    It has twice the steps: at full stick, a walker has less than a third of the capsule's
    speed, and 1000 steps would not suffice for the longest paths of 88 m.
    """
    return config.override(
        "environment",
        body="human23",
        physics_ticks_per_second=30,
        ticks_per_decision=3,
        max_episode_steps=2 * config.environment.max_episode_steps,
    ).override("actions", max_movement_speed=0.6, max_rotation_speed=120.0)


class VRNavigationEnv(SingleEnv):
    """A VR player walks to a goal between obstacles, doors, dead ends and pits.

    Ten environment steps a second drive a body of 0.25 m radius with a head camera and two hand
    controllers. The observation, action and reward tables are printed by `ambulo schema`
    and explained in docs/vr_navigation.md; the world itself in docs/vr_world.md.

    The episode terminates on success or on a fall, and is truncated at
    `environment.max_episode_steps`. `info` carries `is_success`, `distance`, `collisions`,
    `comfort` and every weighted reward term as `reward/<term>`; the terms sum to the reward.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012
    batch: NavigationBatch
    _embodied = False

    def __init__(
        self,
        config: NavigationConfig | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """One environment; see `navigation_config` for the keyword `settings`."""
        self._check_render_mode(render_mode)
        self.config = navigation_config(config, embodied=self._embodied, **settings)
        if self.config.environment.agents > 1:
            raise ConfigError(
                f"agents = {self.config.environment.agents}: this environment is one agent "
                "(agents = 1); several are ambulo.envs.vr.parallel, or make_vec"
            )
        self.batch = make_batch(
            self.config, 1, custom_terms=load_custom_terms(self.config.rewards.custom)
        )
        self.observation_space = observation_space(
            self.batch.layout, self.config.observations.format
        )
        self.action_space = action_space(self.config)
        self._renderer = BatchRenderer(self.batch)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode drawn with the environment's generator."""
        self._renderer.restart()
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One environment step; `ActionError` for a wrong shape or non-finite values."""
        outcome = super().step(action)
        self._renderer.follow(0)
        return outcome

    @property
    def comfort(self) -> float | None:
        """Comfort dial from 0 (fast) to 1 (comfortable), also of later episodes once set.

        None: `observations.comfort` is false.

        Raises:
            ConfigError: On setting it outside [0, 1] or without a dial.
        """
        dials = self.batch.comfort
        return None if dials is None else float(dials[0])

    @comfort.setter
    def comfort(self, dial: float) -> None:
        check_dial(dial, self.batch.comfort is not None)
        self.config = self.batch.config = self.config.at_comfort(float(dial))
        assert self.batch.comfort is not None
        self.batch.comfort[:] = dial

    def render(self) -> NDArray[np.uint8] | None:
        """A frame (height, width, 3) from behind the player; `RenderError` without OpenGL."""
        if self.render_mode is None:
            return None
        return self._renderer.frame(0)

    def close(self) -> None:
        """Free the world and the renderer."""
        self._renderer.close()
        self.batch.close()

    def _observation(self) -> Any:
        obs = self.batch.obs
        if isinstance(self.observation_space, spaces.Dict):
            parts = split_observation(self.batch.layout, obs)
            return {name: part[0] for name, part in parts.items()}
        return obs[0].copy()


class EmbodiedNavigationEnv(VRNavigationEnv):
    """A character with legs walks to a goal as its navigator commands.

    Levels, tasks, observation and rewards are those of `VRNavigationEnv`. `body` is "human23",
    a simulated character whose legs the policy `walker` moves (three of its control steps per
    environment step); "twin", a fast surrogate of it; or "capsule", the body of
    `VRNavigationEnv`. The stick commands speed ahead, speed to the side and turning rate,
    clamped to the walker's training envelope.

    The episode also terminates when the body falls. `info` adds `touched`, and for a character
    `touch_force`, `head_height`, `head_tilt`, `gait_phase` and `exploded`.
    """

    _embodied = True


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
            ConfigError: A setting or `num_envs` is invalid.
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


def action_space(config: NavigationConfig) -> spaces.Box | spaces.Discrete:
    """Three floats in [-1, 1] (strafe, forward, rotation), or seven classes."""
    if config.actions.mode == "discrete":
        return spaces.Discrete(len(DISCRETE_ACTIONS))
    return spaces.Box(-1.0, 1.0, (3,), np.float32)


def observation_space(
    layout: ObservationLayout, form: Format = "flat"
) -> spaces.Box | spaces.Dict:
    """The actor's observations: one float32 vector, or a dictionary of the parts."""
    if form == "dict":
        return spaces.Dict({part.name: _unbounded(part.size) for part in layout.parts})
    return _unbounded(layout.size)


def split_observation(
    layout: ObservationLayout, observation: NDArray[np.float32]
) -> dict[str, NDArray[np.float32]]:
    """Copies of the parts of flat observations (..., >= size), by name."""
    where = layout.slices()
    return {
        part.name: observation[..., where[part.name]].copy() for part in layout.parts
    }


def _unbounded(size: int) -> spaces.Box:
    bounds: dict[str, Any] = {"low": -np.inf, "high": np.inf}
    return spaces.Box(shape=(size,), dtype=np.float32, **bounds)
