"""The world of a batch of bodies: their model, and the ground under them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import GROUND_AHEAD, places_ahead
from ambulo.envs.simulation.terrain import Ground, make_ground, terrain_model
from ambulo.envs.simulation.touch import add_boxes, add_touch_sensors
from ambulo.envs.simulation.variants import Variant

FOLLOW = 0.2
"""Fraction of a reference frame's height error that a control step corrects."""


class World:
    """The model of a variant of a body, and its ground: level, or that of the settings."""

    def __init__(
        self,
        config: LocomotionEnvironmentConfig,
        character: Character,
        variant: Variant,
        *,
        touch: bool = False,
        boxes: bool = False,
        add: Callable[[mujoco.MjSpec], None] | None = None,
    ) -> None:
        """The world of a body.

        Args:
            config: The ground.
            character: The body.
            variant: How the body and its world differ from the settings.
            touch: Add sensors of everything that it touches but the floor.
            boxes: Add `BOXES`, to be placed; they are felt too.
            add: Adds things of a task's own to the model. A body touches geoms with bit 1 of
                `contype`, and `conaffinity` 0, like the floor.

        Raises:
            ConfigError: The body cannot stand on the ground, or feel.
        """
        self.touch, self.boxes, self._add = touch or boxes, boxes, add
        self._config = config
        self._ground: Ground | None = variant.ground
        if self._ground is None and config.terrain != "flat":
            self._ground = make_ground(config.terrain, config.terrain_height)
        self.model: mujoco.MjModel = variant.applied_to(self._body_model(character))
        """The body in its world."""

    def _body_model(self, character: Character) -> mujoco.MjModel:
        """The nominal body on the ground."""
        if self._ground is None and not self.touch and self._add is None:
            return character.model
        return terrain_model(character, self._ground, self._add_all)

    def _add_all(self, spec: mujoco.MjSpec) -> None:
        if self._add is not None:
            self._add(spec)
        if self.touch:
            add_touch_sensors(spec)
        if self.boxes:
            add_boxes(spec)

    @property
    def weight(self) -> float:
        """Body weight, [N]."""
        gravity = np.linalg.norm(self.model.opt.gravity)
        return float(self.model.body_mass.sum() * gravity)

    def check_room(self, speed: float) -> None:
        """`ConfigError` if an episode at `speed`, [m/s], leads over the ground's edge."""
        ground, env = self._ground, self._config
        farthest = speed * env.max_episode_steps * env.control_dt
        if ground is not None and farthest > ground.room:
            raise ConfigError(
                f"terrain = {ground.kind}: the ground ends after {ground.room:g} m, and an"
                f" episode may lead {farthest:.0f} m ahead: lower speed or"
                " max_episode_steps"
            )

    def heights(self, places: Floats) -> Floats:
        """Height of the ground at world places (..., 2), [m]. Shape (...)."""
        if self._ground is None:
            return np.zeros(places.shape[:-1])
        return self._ground.height(places)

    def heights_ahead(self, roots: Floats, yaw: Floats) -> Floats:
        """Height of the ground ahead of roots (N, 2) that look along `yaw` (N,), [rad].

        Over that under the root, [m]. Shape (N, 5).
        """
        if self._ground is None:
            return np.zeros((len(roots), len(GROUND_AHEAD)))
        ahead = self.heights(places_ahead(roots, yaw))
        return np.asarray(ahead - self.heights(roots)[:, None])

    def place(
        self, reference_frame: Floats, envs: Ints, rngs: Sequence[np.random.Generator]
    ) -> None:
        """Put the reference frames of `envs` (k,) where their episodes begin."""
        if self._ground is None:
            return
        for env in envs:
            reference_frame[env, :3] = self._ground.place(rngs[env])
        reference_frame[envs, 3] = self._ground.height(reference_frame[envs, :2])

    def raise_frames(self, reference_frame: Floats, roots: Floats) -> None:
        """Let reference frames follow the ground under the roots, world places (N, 2)."""
        if self._ground is not None:
            reference_frame[:, 3] += FOLLOW * (
                self._ground.height(roots) - reference_frame[:, 3]
            )
