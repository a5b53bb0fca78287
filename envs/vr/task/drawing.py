"""Pictures of a running navigation batch, from behind one of its envs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.closing import Closing
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.tasks import goal_places

if TYPE_CHECKING:
    from ambulo.envs.vr.world.render import EpisodeRenderer


class BatchRenderer(Closing):
    """Draws envs of a batch in their levels, with the people there."""

    def __init__(self, batch: NavigationBatch) -> None:
        """Create it; OpenGL is initialised at the first picture."""
        self._batch = batch
        self._renderer: EpisodeRenderer | None = None
        self._trail: list[Floats] = []
        self._env = -1

    def restart(self) -> None:
        """Clear the trail of an earlier episode."""
        self._trail, self._env = [], -1

    def follow(self, env: int) -> None:
        """Append the position of `env` to the trail; clear that of another env."""
        if env != self._env:
            self._trail, self._env = [], env
        self._trail.append(self._batch.world.state.position[env].copy())

    def frame(self, env: int) -> NDArray[np.uint8]:
        """A picture (height, width, 3) from behind `env`; `RenderError` without OpenGL."""
        from ambulo.envs.vr.world.render import EpisodeRenderer

        batch = self._batch
        level = batch.bank.levels[int(batch.task.slot[env])]
        if self._renderer is None or self._renderer.level is not level:
            self.close()
            self._renderer = EpisodeRenderer(
                level,
                goal_radius=batch.config.environment.goal_radius,
                character=batch.config.environment.character,
            )
        world = batch.world
        state, poses = world.state, world.poses
        return self._renderer.frame(
            state.position[env], state.yaw[env],
            goal_places(batch.task, batch.bank)[env],
            self._trail if env == self._env else None,
            qpos=None if poses is None else poses[env, -1],
            moving=world.moving.rows(env),
        )  # fmt: skip

    def close(self) -> None:
        """Free the OpenGL context."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
