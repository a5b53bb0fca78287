"""Simulated bodies under a policy: walkers, muscle walkers, clip trackers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.viz.viewer.body_controls import BodyChanges, command_controls
from ambulo.viz.viewer.foot_parts import FootParts
from ambulo.viz.viewer.model_geoms import ModelGeoms
from ambulo.viz.viewer.muscles import Muscles
from ambulo.viz.viewer.pull import PULL_LAYERS, Pull
from ambulo.viz.viewer.snapshot import Layer, Part, Snapshot
from ambulo.viz.viewer.stage import (
    Click,
    Control,
    Drag,
    PlainStage,
    Plot,
    WriteFilm,
)

Act = Callable[[NDArray[np.float32]], NDArray[np.generic]]
"""Actions (N, A) for observations (N, size)."""
GHOST = (96, 150, 118)
PUSH_SECONDS = 0.1
"""Duration of a push, [s]."""
FILM_SECONDS = 10.0
LEAST_LEVEL = 1e-6
"""Horizontal component of a click's direction below which there is no push."""
TERMS = 8
"""Largest number of reward terms in a plot."""


class WalkerStage(PlainStage):
    """N bodies of a batch that a policy moves; the first one's numbers are plotted."""

    pushable = True

    def __init__(self, batch: WalkerBatch, act: Act, title: str) -> None:
        """Bodies of a locomotion batch; only this stage steps it.

        Args:
            batch: The bodies, or several joined ones.
            act: The policy.
            title: Title.
        """
        self.batch, self._act, self.title = batch, act, title
        self.dt = float(batch.simulation.dt)
        self._members = list(batch.simulations)
        self._model: mujoco.MjModel = self._members[0].model
        self._count = int(batch.num_envs)
        self.reach = 4.5 if self._count == 1 else 11.0
        self._data = mujoco.MjData(self._model)
        self._ghost_data = mujoco.MjData(self._model)
        self._muscles = Muscles.of(self._model, self._count)
        bare = self._muscles is None
        self._geoms = ModelGeoms(self._model, self._count, by_side=bare)
        self._ghost = ModelGeoms(
            self._model,
            self._count,
            prefix="ghost",
            colour=GHOST,
            opacity=0.25,
            drawn="bodies",
        )
        traits = batch.config.environment.traits
        follows = traits.modes or (traits.clips and not traits.trackers)
        self.hidden = frozenset() if follows and bare else frozenset({"ghost"})
        self._feet = FootParts(batch.character, self._count)
        self._spread = _spread(self._count)
        self.layers: dict[str, Layer] = {**self._layers(), **PULL_LAYERS}
        self._changes = BodyChanges(self._members)
        self._pull = Pull()
        self._obs: NDArray[np.float32]
        self._time = 0.0
        self._push_left = np.zeros(self._count, np.int64)
        self._poses: deque[Floats] = deque(maxlen=round(FILM_SECONDS / self.dt))
        self._controls: Mapping[str, Sequence[Control]] | None = None
        self._seed = 0
        self._terms: tuple[str, ...] = ()
        self._orders: Callable[[], None] = lambda: None

    def reset(self) -> Snapshot:
        """Begin new episodes of all bodies, with new random starts."""
        self.batch.seed([self._seed + k for k in range(self._count)])
        self._seed += self._count
        self._obs = self.batch.reset(np.arange(self._count))
        self._orders()
        self._push_left[:] = 0
        self._pull.let_go()
        self._poses.clear()
        info = self.batch.start_info()
        self._terms = tuple(name for name in info if name.startswith("reward/"))[:TERMS]
        return self._snapshot({}, cut=True)

    def step(self) -> Snapshot:
        """One control step of all bodies."""
        actions = self._act(self._obs)
        self._apply_pull()
        self._obs, rewards, terminated, truncated, info = self.batch.step(actions)
        self._time += self.dt
        values = self._values(float(rewards[0]), info)
        self._end_pushes()
        ended = np.flatnonzero(terminated | truncated)
        if len(ended):
            if self._pull.held is not None and self._pull.held[0] in ended:
                self._pull.let_go()
            self._obs = self.batch.reset(ended)
            self._orders()
        return self._snapshot(values, cut=bool(len(ended)))

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Commands of the task, and changes of the body."""
        if self._controls is None:
            commands, self._orders = command_controls(self.batch)
            self._orders()
            self._controls = {**commands, "Body": self._changes.controls()}
        return self._controls

    def plots(self) -> Sequence[Plot]:
        """Reward terms, forces of the feet, speed."""
        terms = tuple(name.removeprefix("reward/") for name in self._terms)
        plots = [Plot("reward", "reward", ("total", *terms))]
        plots.append(Plot("contact", "force of the feet [N]", ("left", "right")))
        plots.append(Plot("speed", "speed [m/s]", ("speed", "command")))
        return plots

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        """Push a body for a tenth of a second; body 0 (the world) stands for the trunk."""
        member, row = self._member(copy)
        part = body or 1
        member.push[row, part, :3] = np.asarray(impulse) / PUSH_SECONDS
        self._push_left[copy] = max(1, round(PUSH_SECONDS / self.dt))

    def click(self, click: Click) -> None:
        """Push the clicked body horizontally away from the camera."""
        hit = self.body_of(click.layer, click.instance)
        level = click.direction * [1.0, 1.0, 0.0]
        length = float(np.linalg.norm(level))
        if hit is not None and length > LEAST_LEVEL:
            self.push(*hit, click.impulse * level / length)

    def drag(self, drag: Drag) -> None:
        """Pull the held body."""
        hit = self.body_of(drag.layer, drag.instance)
        if hit is not None:
            copy, body = hit
            member, row = self._member(copy)
            member.copy_data(row, self._data)
            place = np.array(self._data.xpos[body]) + self._spread[copy]
            self._pull.drag(hit, drag, place)

    def let_go(self) -> None:
        """End the pull."""
        self._pull.let_go()

    def body_of(self, layer: str, instance: int) -> tuple[int, int] | None:
        """Copy and body of an instance of the bodies' own layers."""
        if not layer.startswith("body/"):
            return None
        copy, body = self._geoms.body_of(layer, instance)
        return (copy, body) if body else None

    def film(self) -> WriteFilm | None:
        """Film of the first body's last ten seconds."""
        from ambulo.viz.body_film import write_gait_film

        poses, model, character = (
            np.array(self._poses),
            self._model,
            self.batch.character,
        )
        if not len(poses):
            return None
        return lambda path: write_gait_film(path, model, character, poses, self.dt)

    def close(self) -> None:
        """Free the simulation."""
        self.batch.close()

    def _layers(self) -> dict[str, Layer]:
        layers: dict[str, Layer] = {**self._geoms.layers(), **self._ghost.layers()}
        layers |= self._feet.layers()
        if self._muscles is not None:
            layers |= self._muscles.layers()
        return layers

    def _member(self, copy: int) -> tuple[Any, int]:
        """The simulation of a body, and its row there."""
        for member in self._members:
            if copy < member.count:
                return member, copy
            copy -= member.count
        raise IndexError(copy)

    def _apply_pull(self) -> None:
        """Apply the pull of the mouse."""
        if self._pull.held is not None:
            copy, body = self._pull.held
            member, row = self._member(copy)
            member.push[row, body, :3] = self._pull.force()
            self._push_left[copy] = 1

    def _end_pushes(self) -> None:
        on = self._push_left > 0
        self._push_left[on] -= 1
        for copy in np.flatnonzero(on & (self._push_left == 0)):
            member, row = self._member(int(copy))
            member.push[row] = 0.0

    def _values(self, reward: float, info: Mapping[str, Any]) -> dict[str, float]:
        values = {"reward/total": reward}
        values |= {name: float(info[name][0]) for name in self._terms}
        values["speed/speed"] = float(info["speed"][0])
        command = np.atleast_2d(self.batch_command())
        values["speed/command"] = float(command[0, 0])
        return values

    def batch_command(self) -> Floats:
        """Commanded speed ahead of each body, [m/s]; NaN without commands. Shape (N, k)."""
        if isinstance(self.batch, CommandedBatch):
            return self.batch.goal
        return np.full((self._count, 1), np.nan)

    def _snapshot(self, values: dict[str, float], *, cut: bool) -> Snapshot:
        """Copy the state of the simulations into a snapshot."""
        bodies = self._model.nbody
        xpos, xquat = (
            np.empty((self._count, bodies, 3)),
            np.empty((self._count, bodies, 4)),
        )
        muscles: list[tuple[Floats, Floats]] = []
        for copy in range(self._count):
            member, row = self._member(copy)
            member.copy_data(row, self._data)
            shift = self._spread[copy]
            xpos[copy], xquat[copy] = self._data.xpos + shift, self._data.xquat
            if self._muscles is not None:
                muscles.append(self._muscles.read(self._data, shift))
            if copy == 0:
                values |= _foot_forces(self._model, self._data)
                self._poses.append(np.array(self._data.qpos))
        parts: dict[str, Part] = self._geoms.parts(xpos, xquat)
        parts |= self._ghost_parts()
        parts |= self._feet.parts(xpos, xquat)
        if self._muscles is not None:
            parts |= self._muscles.parts(muscles)
        parts |= self._pull.parts(xpos)
        centre = xpos[:, 1].mean(axis=0)
        return Snapshot(self._time, centre, parts, values, cut)

    def _ghost_parts(self) -> dict[str, Part]:
        """The present reference as a ghost."""
        qpos = self.batch.followed_positions()
        xpos = np.empty((self._count, self._model.nbody, 3))
        xquat = np.empty((self._count, self._model.nbody, 4))
        for copy in range(self._count):
            self._ghost_data.qpos[:] = qpos[copy]
            mujoco.mj_kinematics(self._model, self._ghost_data)
            xpos[copy] = self._ghost_data.xpos + self._spread[copy]
            xquat[copy] = self._ghost_data.xquat
        return self._ghost.parts(xpos, xquat)


def _spread(count: int) -> Floats:
    """Positions of N bodies beside each other, [m]. Shape (N, 3)."""
    columns = int(np.ceil(np.sqrt(count)))
    rows = np.arange(count)
    grid = np.column_stack([rows // columns, rows % columns, np.zeros(count)])
    grid[:, :2] -= grid[:, :2].mean(axis=0)
    return np.asarray(1.5 * grid, np.float64)


def _foot_forces(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, float]:
    """Normal force on bodies whose names end in L or R, [N]: the feet, in walking."""
    forces = {"contact/left": 0.0, "contact/right": 0.0}
    wrench = np.empty(6)
    for k in range(data.ncon):
        bodies = model.geom_bodyid[data.contact.geom[k]]
        if 0 not in bodies:
            continue
        side = model.body(int(bodies.max())).name[-1:].lower()
        if side in ("l", "r"):
            mujoco.mj_contactForce(model, data, k, wrench)
            forces["contact/left" if side == "l" else "contact/right"] += float(
                wrench[0]
            )
    return forces
