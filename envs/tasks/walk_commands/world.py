"""The world of a walker: its ground, what may be touched, and sensors of touch."""

from __future__ import annotations

import mujoco

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.human23 import human23_spec
from ambulo.envs.locomotion.world import World
from ambulo.envs.simulation.touch import add_boxes, add_touch_sensors
from ambulo.envs.simulation.variants import Variant


class TouchWorld(World):
    """A world in which the body feels everything that it touches but the floor."""

    def __init__(
        self,
        config: LocomotionEnvironmentConfig,
        character: Character,
        variant: Variant,
        *,
        boxes: bool,
    ) -> None:
        """As `World`; with `boxes`, there are `touch.BOXES` to be placed."""
        self._boxes = boxes
        super().__init__(config, character, variant)

    def _body_model(self, character: Character) -> mujoco.MjModel:
        """The body with touch sensors, on the ground, with boxes."""
        if character.name != "human23":
            raise ConfigError(
                f"task = walk_commands needs character = human23, not {character.name}"
            )
        spec = human23_spec(character.skeleton, float(character.model.body_mass.sum()))
        if self._ground is not None:
            self._ground.put_into(spec)
        add_touch_sensors(spec)
        if self._boxes:
            add_boxes(spec)
        model = spec.compile()
        model.opt.timestep = character.model.opt.timestep
        return model
