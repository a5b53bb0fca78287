"""Locomotion as Gymnasium environments: the batch of one, and of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import mujoco
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from ambulo.configs.base import parse
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.task_registry import find_task
from ambulo.envs.gym_batch_env import GymBatchEnv, check_many
from ambulo.envs.json_spec import file_content
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.build import AnyBatch, make_batch
from ambulo.envs.locomotion.observation import LIMIT
from ambulo.envs.offscreen import ModelRenderer
from ambulo.envs.reference.reference import Reference, reference_from_bytes
from ambulo.envs.single_env import SingleEnv, with_settings
from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_from_bytes

WIDTH, HEIGHT = 640, 480
"""Size of a picture."""


def locomotion_config(
    task: str,
    config: LocomotionConfig | Mapping[str, Any] | None = None,
    *,
    step_limit: int | None = None,
    **settings: Any,
) -> LocomotionConfig:
    """The configuration of an environment from `gymnasium.make` keywords.

    Args:
        task: What the environment is for; replaces the configuration's.
        config: Start from this, or from its JSON data, instead of the defaults. What it names
            stays as it is for every task: of the `config.json` of a run, which names all
            settings, leave out those that are to follow another task.
        step_limit: `environment.max_episode_steps`, under a name that `gymnasium.make`
            does not keep to itself.
        **settings: Any key of the groups environment, observations, rewards, own and
            variation, such as `reference="walk.amc"`. The name `speed` is both a range
            of commands and a reward: `speed` means the range.

    Raises:
        ConfigError: An unknown name or a bad value, with the nearest valid name.
    """
    own = find_task(task).settings
    if config is None:
        config = LocomotionConfig()
    elif not isinstance(config, LocomotionConfig):
        config = parse(LocomotionConfig, config, "config")
    if step_limit is not None:
        settings["max_episode_steps"] = step_limit
    settings["task"] = task
    names = (
        "environment", "observations", "rewards", "gait", "walk", "trackers", "variation",
    )  # fmt: skip
    groups = {name: type(getattr(config, name)) for name in names} | {"own": own}
    return with_settings(config, groups, settings, ("config", "step_limit"))


def observation_space(layout: ObservationLayout) -> spaces.Box:
    """The flat vector of a layout's numbers."""
    return spaces.Box(-LIMIT, LIMIT, (layout.size,), np.float32)


def action_space(size: int) -> spaces.Box:
    """One number in [-1, 1] for each joint axis that actions move."""
    return spaces.Box(-1.0, 1.0, (size,), np.float32)


Part = TypeVar("Part", Reference, MuscleNN)


def _part_of(
    name: str, given: Part | bytes | str | None, read: Callable[[bytes, str], Part]
) -> Part | None:
    """A part of an agent, also from the content of its file; `name` is the setting's."""
    if isinstance(given, str):
        given = file_content(name, given)
    return read(given, f"the agent's {name}") if isinstance(given, bytes) else given


class _CopiedBatch:
    """`copy.deepcopy` and `pickle` of an environment: its batch is made again.

    The copy goes on bit for bit as the original does. It holds the reference itself, so that
    no clip is read again; renderers are not copied.
    """

    config: LocomotionConfig
    batch: Any
    _made_with: dict[str, Any]

    def _make(
        self,
        num_envs: int,
        follow: Reference | bytes | str | None,
        muscles: MuscleNN | bytes | str | None,
        threads: int = 1,
    ) -> AnyBatch:
        """Make the batch, and remember from what."""
        self._made_with = {
            "num_bodies": num_envs,
            "threads": threads,
            "reference": _part_of("follow", follow, reference_from_bytes),
            "muscles": _part_of("muscles", muscles, muscle_nn_from_bytes),
        }
        return make_batch(self.config, **self._made_with)

    def _make_varied(self, seed: int) -> None:
        """Make the batch again with bodies drawn from `seed`; each keeps its generator.

        Nothing is done where `variation` varies nothing.
        """
        if not self.config.variation.varies:
            return
        rngs, reference = list(self.batch.rngs), self.batch.reference
        self.batch.close()
        self._made_with |= {"reference": reference, "seed": seed}
        self.batch = make_batch(self.config, **self._made_with)
        for env, rng in enumerate(rngs):
            self.batch.rngs[env] = rng

    def __getstate__(self) -> dict[str, Any]:
        batch = self.batch
        made = {**self._made_with, "reference": batch.reference}
        moving = (batch.state_dict(), list(batch.rngs))
        fresh = {"_picture": None, "_data": None}
        return {**self.__dict__, **fresh, "_made_with": made, "batch": moving}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays, rngs = state["batch"]
        self.__dict__.update(state)
        self.batch = make_batch(self.config, **self._made_with)
        self.batch.load_state_dict(arrays)
        for env, rng in enumerate(rngs):
            self.batch.rngs[env] = rng


class LocomotionEnv(_CopiedBatch, SingleEnv):
    """One simulated body; `ambulo/Imitate-v0` and its like, one for each task.

    Thirty actions a second move the joint targets of stable PD. The reward terms are in
    docs/locomotion_envs.md, and `env.unwrapped.batch.layout.table()` prints the observation.
    Where the group variation varies the body, every reset draws another one (and another
    `batch`).
    The episode terminates on a fall or when the simulation explodes, and is truncated at
    `environment.max_episode_steps`. `info` carries `is_success`, `fell`, `fault`, `speed`,
    `joint_error`, `power` and every weighted reward term as `reward/<term>`; the terms sum to
    the reward.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(
        self,
        task: str,
        config: LocomotionConfig | Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        follow: Reference | bytes | str | None = None,
        muscles: MuscleNN | bytes | str | None = None,
        **settings: Any,
    ) -> None:
        """Make one body.

        Args:
            task: What the environment is for.
            config: See `locomotion_config`.
            render_mode: "rgb_array" or None.
            follow: A reference, or its file's content (bytes or base64 text), instead of
                the configured one.
            muscles: A muscle network, or its file's content, instead of the configured one.
            **settings: See `locomotion_config`.
        """
        self._check_render_mode(render_mode)
        self.config = locomotion_config(task, config, **settings)
        self.batch = self._make(1, follow, muscles)
        self.observation_space = observation_space(self.batch.layout)
        self.action_space = action_space(self.batch.action_size)
        self._picture: ModelRenderer | None = None
        self._data: tuple[mujoco.MjModel, mujoco.MjData] | None = None

    @property
    def model(self) -> mujoco.MjModel:
        """The MuJoCo model of the body in its world; to read, not to change.

        The simulation has a copy of its own. In `Gait`, where a reset may change the body,
        another body is another model.
        """
        model: mujoco.MjModel = self.batch.simulation.model
        return model

    @property
    def data(self) -> mujoco.MjData:
        """The state of the body now: a copy that every access brings up to date.

        Positions, velocities and what follows from them (places of bodies, contacts) are
        those after the last step or reset; accelerations and forces are those of its last
        physics step. The object stays the same while `model` does, so that a viewer can
        keep it: read `env.unwrapped.data` after each step, then `viewer.sync()`. Writing to
        it does not move the body.
        """
        model = self.model
        if self._data is None or self._data[0] is not model:
            self._data = model, mujoco.MjData(model)
        self.batch.simulation.copy_data(0, self._data[1])
        return self._data[1]

    def render(self) -> NDArray[np.uint8] | None:
        """A frame (height, width, 3) beside the body; `RenderError` without OpenGL."""
        if self.render_mode is None:
            return None
        if self._picture is not None and self._picture.model is not self.model:
            self._picture.close()
            self._picture = None
        if self._picture is None:
            self._picture = ModelRenderer(self.model, WIDTH, HEIGHT)
            camera = self._picture.camera
            camera.distance, camera.azimuth, camera.elevation = 3.5, 120.0, -12.0
        data, camera = self._picture.data, self._picture.camera
        data.qpos[:] = self.batch.simulation.qpos[0]
        camera.lookat[:] = data.qpos[0], data.qpos[1], 0.9
        return self._picture.frame()

    def _draw_bodies(self) -> None:
        if self.config.variation.varies:
            self._make_varied(int(self.np_random.integers(2**31)))

    def close(self) -> None:
        """Free the simulation and the renderer."""
        if self._picture is not None:
            self._picture.close()
            self._picture = None
        self.batch.close()


class LocomotionVectorEnv(_CopiedBatch, GymBatchEnv):
    """N bodies stepped together; see `GymBatchEnv` and `LocomotionEnv`.

    Varied bodies are drawn from the seed when all are reset with one, and kept until then.
    """

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        config: LocomotionConfig | Mapping[str, Any] | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        threads: int = 1,
        follow: Reference | bytes | str | None = None,
        muscles: MuscleNN | bytes | str | None = None,
        **settings: Any,
    ) -> None:
        """Make N bodies; see `LocomotionEnv` and `locomotion_config`.

        Raises:
            ConfigError: A setting or `num_envs` that cannot be used.
        """
        check_many(num_envs, render_mode)
        self.config = locomotion_config(task, config, **settings)
        batch = self._make(num_envs, follow, muscles, threads)
        super().__init__(
            batch,
            observation_space(batch.layout),
            action_space(batch.action_size),
            autoreset_mode=autoreset_mode,
        )

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """New episodes everywhere, or where `options["reset_mask"]` is true."""
        if seed is not None and (options or {}).get("reset_mask") is None:
            given = [one for one in self._seeds(seed) if one is not None]
            if given:
                self._make_varied(given[0])
        return super().reset(seed=seed, options=options)
