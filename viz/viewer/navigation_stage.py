"""A navigator in its level with its readings, memory and plan; goal and obstacles can move."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.envs.characters.registry import load_character, load_spec
from ambulo.envs.vr.contract import EYE_HEIGHT
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_check import level_problem
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.world.mujoco_scene import SKIN, render_model
from ambulo.viz.viewer.foot_parts import FootParts
from ambulo.viz.viewer.model_geoms import ModelGeoms
from ambulo.viz.viewer.navigation_parts import (
    TRAIL,
    memory_cells,
    moving_parts,
    overlay_layers,
    plan_lines,
    ray_lines,
    trail_lines,
)
from ambulo.viz.viewer.obstacles import (
    Obstacle,
    level_way,
    moved_obstacle,
    obstacle_at,
    stands_on,
)
from ambulo.viz.viewer.snapshot import Instances, Layer, Part, Snapshot
from ambulo.viz.viewer.stage import Control, Drag, Gizmo, PlainStage, Plot, Slider

_BLUE = tuple(round(255 * value) for value in SKIN[:3])
TERMS = 8
"""Largest number of reward terms in a plot."""


class Navigator(Protocol):
    """Acts on a batch; see `evaluate.vr.subjects.Controller`."""

    def reset(self, envs: Any, seeds: Any, /) -> None:
        """Begin new episodes."""

    def act(self, batch: NavigationBatch, /) -> NDArray[np.generic]:
        """Actions of all environments."""


class NavigationStage(PlainStage):
    """One environment of a navigation batch, with its level around it."""

    reach = 13.0
    view = (-0.35, -0.45, 0.82)

    def __init__(
        self,
        batch: NavigationBatch,
        navigator: Navigator,
        title: str,
        *,
        lost: Callable[[], float | None] = lambda: None,
    ) -> None:
        """A batch of one.

        Args:
            batch: The environment.
            navigator: Acts.
            title: Title.
            lost: The probability of being lost at the last action; None: unknown.
        """
        self.batch, self._navigator, self._name = batch, navigator, title
        self.title, self._lost = title, lost
        spec = batch.spec
        self.dt = spec.dt * spec.ticks_per_decision
        self._character = batch.config.environment.character
        if self._character is None:
            self.note = "Drag an obstacle with Shift held to move it."
        self._feet: FootParts | None = None
        if self._character is not None:
            own = load_character(self._character)
            self._feet = FootParts(own, 1, (_BLUE, _BLUE))
        self._level: Level | None = None
        self._count = 0
        self.layers: dict[str, Layer] = overlay_layers()
        if self._feet is not None:
            self.layers |= self._feet.layers()
        self._model: mujoco.MjModel
        self._data: mujoco.MjData
        self._walls: ModelGeoms
        self._bodies: ModelGeoms
        self._level_parts: dict[str, Part] = {}
        self._trail: deque[Floats] = deque(maxlen=TRAIL + 1)
        self._time, self._seed = 0.0, 0
        self._terms: tuple[str, ...] = ()
        self._dial: float | None = None
        self._held: Obstacle | None = None
        self._grip = np.zeros(3)
        self._way = np.zeros(2)

    def reset(self) -> Snapshot:
        """A new episode, in another level."""
        self.batch.seed([self._seed])
        self._seed += 1
        self._begin()
        return self._snapshot({}, cut=True)

    def step(self) -> Snapshot:
        """Make one environment step."""
        actions = self._navigator.act(self.batch)
        _, rewards, terminated, truncated, info = self.batch.step(actions)
        self._time += self.dt
        self._trail.append(self.batch.world.state.position[0].copy())
        values = self._values(float(rewards[0]), info)
        ended = bool(terminated[0] or truncated[0])
        if ended:
            self._begin()
        return self._snapshot(values, cut=ended)

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """The comfort dial, if the agent has one."""
        dials = self.batch.comfort
        if dials is None:
            return {}

        def turn(value: float) -> None:
            self._dial = value
            dials[:] = value

        hint = "0 is fast, 1 is comfortable"
        return {
            "Agent": [Slider("Comfort", 0.0, 1.0, float(dials[0]), 0.05, turn, hint)]
        }

    def gizmos(self) -> Sequence[Gizmo]:
        """The goal, which can be dragged."""
        return [
            Gizmo(
                "goal_handle", lambda: self.batch.task.goal[0], self._move_goal,
                axes=(True, True, False), scale=1.2,
            )
        ]  # fmt: skip

    def drag(self, drag: Drag) -> None:
        """Show the held obstacle at its dragged position."""
        part = self._walls.parts(self._data.xpos[None], self._data.xquat[None]).get(
            drag.layer
        )
        if self._level is None or not isinstance(part, Instances):
            return
        place = part.positions[drag.instance]
        kind = drag.layer.rpartition("/")[2]
        obstacle = obstacle_at(self._level, kind, place)
        if obstacle is None:
            return
        if self._held is None:
            self._held, self._grip = obstacle, drag.start
        elif obstacle != self._held:  # of another window
            return
        # The obstacle moves with the drag, and its held point with it, unlike the grip.
        self._way = level_way(replace(drag, start=self._grip))
        positions = part.positions.copy()
        positions[drag.instance, :2] += self._way
        self._level_parts[drag.layer] = replace(part, positions=positions)

    def let_go(self) -> None:
        """Move the held obstacle to its dragged position, if the level stays valid.

        Not on the player, nor on the goal.
        """
        level, held, self._held = self._level, self._held, None
        if level is None or held is None:
            return
        changed = moved_obstacle(level, held, self._way)
        kept_free = self.batch.world.state.position[0], self.batch.task.goal[0]
        covers = any(stands_on(changed, held, place) for place in kept_free)
        if covers or level_problem(changed, solvable=False) is not None:
            changed = level
        else:
            try:
                change_level(self.batch, 0, changed)
            except LevelError:  # such as people without a path
                changed = level
        self._enter(changed)

    def plots(self) -> Sequence[Plot]:
        """Reward terms, distance to the goal, speed, contacts and being lost."""
        terms = tuple(name.removeprefix("reward/") for name in self._terms)
        return [
            Plot("reward", "reward", ("total", *terms)),
            Plot("goal", "distance to the goal [m]", ("walking",)),
            Plot("speed", "speed [m/s]", ("speed",)),
            Plot("state", "in contact, lost", ("contact", "lost")),
        ]

    def close(self) -> None:
        """Free the world."""
        self.batch.close()

    def _move_goal(self, place: Floats) -> None:
        wanted = self.batch.task.goal[0].copy()
        wanted[:2] = place[:2]
        self.batch.move_goal(0, wanted)

    def _begin(self) -> None:
        everyone = np.zeros(1, np.int64)
        self.batch.reset(everyone)
        self._navigator.reset(everyone, np.array([self._seed]))
        if self._dial is not None and self.batch.comfort is not None:
            self.batch.comfort[:] = self._dial
        self._trail.clear()
        self._trail.append(self.batch.world.state.position[0].copy())
        info = self.batch.start_info()
        self._terms = tuple(name for name in info if name.startswith("reward/"))[:TERMS]
        level = self.batch.bank.levels[int(self.batch.task.slot[0])]
        if level is not self._level:
            self._enter(level)
        self.title = f"{self._name}, level {level.name}"

    def _enter(self, level: Level) -> None:
        """Make the layers of a level."""
        self._held = None
        self._level = level
        self._count += 1
        env = self.batch.config.environment
        spec = None if self._character is None else load_spec(self._character)
        self._model = render_model(
            level,
            64,
            64,
            env.goal_radius,
            spec,
            self.batch.spec.eye_height or EYE_HEIGHT,
        )
        self._data = mujoco.MjData(self._model)
        mujoco.mj_kinematics(self._model, self._data)
        self._walls = ModelGeoms(
            self._model, prefix=f"level/{self._count}", by_side=False, drawn="world",
            clickable=self._character is None, drag_key="shift",
        )  # fmt: skip
        self._bodies = ModelGeoms(
            self._model, prefix="body", by_side=False, drawn="bodies", clickable=False
        )
        self.layers |= {**self._walls.layers(), **self._bodies.layers()}
        self._level_parts = self._walls.parts(
            self._data.xpos[None], self._data.xquat[None]
        )

    def _values(self, reward: float, info: Mapping[str, Any]) -> dict[str, float]:
        state = self.batch.world.state
        values = {"reward/total": reward}
        values |= {name: float(info[name][0]) for name in self._terms}
        values["goal/walking"] = float(self.batch.episode.distance[0])
        values["speed/speed"] = float(np.linalg.norm(state.velocity[0, :2]))
        values["state/contact"] = float(state.contact_ticks[0] > 0)
        lost = self._lost()
        values["state/lost"] = np.nan if lost is None else lost
        return values

    def _snapshot(self, values: dict[str, float], *, cut: bool) -> Snapshot:
        batch, state = self.batch, self.batch.world.state
        place, yaw = state.position[0].copy(), float(state.yaw[0])
        self._place_body(place, yaw)
        data = self._data
        parts: dict[str, Part] = dict(self._level_parts)
        parts |= self._bodies.parts(data.xpos[None].copy(), data.xquat[None].copy())
        if self._feet is not None:
            parts |= self._feet.parts(data.xpos[None], data.xquat[None])
        parts["rays/lines"] = ray_lines(batch, place, yaw)
        parts["remembered/cells"] = memory_cells(batch, place)
        parts["plan/lines"] = plan_lines(batch, place)
        parts["trail/lines"] = trail_lines(self._trail)
        parts |= moving_parts(batch.world.moving.rows(0))
        return Snapshot(self._time, place, parts, values, cut)

    def _place_body(self, place: Floats, yaw: float) -> None:
        """Move player and goal to their positions."""
        model, data = self._model, self._data
        poses = self.batch.world.poses
        if self._character is None:
            player = int(model.body("player").mocapid[0])
            data.mocap_pos[player] = place
            data.mocap_quat[player] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
        elif poses is not None:
            data.qpos[:] = poses[0, -1]
        goal = int(model.body("goal").mocapid[0])
        data.mocap_pos[goal] = self.batch.task.goal[0]
        mujoco.mj_kinematics(model, data)


def change_level(batch: NavigationBatch, env: int, level: Level) -> None:
    """Replace the level of `env` by `level`; its episode continues.

    Goals and the agent's memory stay; walking distances are recomputed.

    Args:
        batch: Batch of the environment.
        env: Its index.
        level: A changed copy, with as many waypoints, and with heights as before.

    Raises:
        LevelError: People have no path in it; the level is then unchanged.
    """
    slot = int(batch.task.slot[env])
    before = batch.bank.levels[slot]
    try:
        _put(batch, slot, level)
    except LevelError:
        _put(batch, slot, before)
        raise
    batch.move_goal(env, batch.task.goal[env].copy())


def _put(batch: NavigationBatch, slot: int, level: Level) -> None:
    """Put a level into the bank, with the present goals, and into the world."""
    bank = batch.bank
    levels = list(bank.levels)
    levels[slot] = level
    bank.restore(levels, bank.goals.copy())
    batch.world.set_levels([slot], [level])
