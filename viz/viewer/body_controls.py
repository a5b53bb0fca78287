"""Controls of simulated bodies: commands, and changes of body and world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ambulo.configs.walk_commands import SIDE, SPEED, TURN
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.locomotion.protocol import WalkerBatch
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.tasks.stand import SteppingStandBatch
from ambulo.envs.tasks.track import TrackBatch
from ambulo.envs.tasks.track_body.walker import WalkingBodyBatch
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.viz.viewer.stage import Choice, Control, Press, Slider, Switch

Commands = Mapping[str, Sequence[Control]]
Again = Callable[[], None]
"""Repeats the commands after a reset, which draws others."""


def command_controls(batch: WalkerBatch) -> tuple[Commands, Again]:
    """The controls of a batch's task, by folder, and the action after each reset."""
    if isinstance(batch, TrackBatch):
        return _clips(batch)
    if isinstance(batch, WalkingBodyBatch | SteppingStandBatch):
        return {}, lambda: None  # its trackers determine the walk, or it stays in place
    if isinstance(batch, WalkCommandsBatch):
        return _walk_commands(batch)
    if isinstance(batch, CommandedBatch):
        return _locomote(batch)
    return {}, lambda: None


def _walk_commands(batch: WalkCommandsBatch) -> tuple[Commands, Again]:
    """Sliders for speed, turning and side; a point to reach for."""
    order = _Order(batch, [0.8, 0.0, 0.0])
    reach = _Reach(batch)
    hint = "Steep turns at high speed are moved into what the walker takes on"

    def again() -> None:
        order.give()
        reach.give()

    return {
        "Command": [
            Slider(
                "Speed [m/s]",
                *SPEED,
                order.values[0],
                0.05,
                order.setter(0),
                hint,
                "ahead",
            ),
            Slider(
                "Turn [deg/s]",
                *TURN,
                0.0,
                5.0,
                order.setter(1, np.pi / 180.0),
                stick="turn",
            ),
            Slider("Side [m/s]", *SIDE, 0.0, 0.05, order.setter(2), stick="side"),
            Press(
                "Stand", order.stand, "Command zeros; the sliders act again when moved"
            ),
            Switch(
                "Reach ahead", False, reach.switch, "Lead the nearer hand to a point"
            ),
        ]
    }, again


def _locomote(batch: CommandedBatch) -> tuple[Commands, Again]:
    """Sliders for speed and turning."""
    env = batch.config.environment
    order = _Order(batch, [float(np.mean(env.speed)), 0.0])
    (low, high), (right, left) = env.speed, env.turn
    return {
        "Command": [
            Slider(
                "Speed [m/s]",
                low,
                high,
                order.values[0],
                0.05,
                order.setter(0),
                stick="ahead",
            ),
            Slider(
                "Turn [deg/s]",
                right,
                left,
                0.0,
                1.0,
                order.setter(1, np.pi / 180.0),
                stick="turn",
            ),
        ]
    }, order.give


def _clips(batch: TrackBatch) -> tuple[Commands, Again]:
    """A choice of clips."""
    names = tuple(dict.fromkeys(batch.clip_names))
    envs = np.arange(batch.num_envs)

    def choose(name: str) -> None:
        clip = np.full(batch.num_envs, batch.clip_names.index(name))
        batch.choose(envs, clip, np.zeros(batch.num_envs, np.int64))
        batch.reset(envs)

    return {"Clip": [Choice("Clip", names, names[0], choose)]}, lambda: None


class _Order:
    """A command of all bodies that is repeated after each reset."""

    def __init__(self, batch: CommandedBatch, values: list[float]) -> None:
        self._batch, self.values = batch, values
        self._envs = np.arange(batch.num_envs)

    def setter(self, index: int, unit: float = 1.0) -> Callable[[float], None]:
        """Change one number of the command, to `unit` times the given value."""

        def change(value: float) -> None:
            self.values[index] = unit * value
            self.give()

        return change

    def give(self) -> None:
        """Send the command to all bodies."""
        count = self._batch.num_envs
        self._batch.set_command(self._envs, *(np.full(count, v) for v in self.values))

    def stand(self) -> None:
        """Command zeros."""
        count = self._batch.num_envs
        self._batch.set_command(self._envs, *(np.zeros(count) for _ in self.values))


class _Reach:
    """Reaches for a point half a metre ahead of standing bodies."""

    def __init__(self, batch: WalkCommandsBatch) -> None:
        self._batch, self._on = batch, False

    def switch(self, on: bool) -> None:
        """Start or stop reaching."""
        self._on = on
        self.give()

    def give(self) -> None:
        """Lead the hands, or release them."""
        batch = self._batch
        envs = np.arange(batch.num_envs)
        points = np.full((batch.num_envs, 3), np.nan)
        if self._on:
            yaw = batch.reference_frame[:, 2]
            ahead = np.column_stack([np.cos(yaw), np.sin(yaw)])
            points[:, :2] = batch.simulation.qpos[:, :2] + 0.5 * ahead
            points[:, 2] = 1.1
        batch.reach(envs, points)


class BodyChanges:
    """Changes of friction and mass of all bodies during the simulation, unknown to the policy.

    The controller keeps the nominal body, so that this is a robustness test.
    """

    def __init__(self, members: Sequence[CharacterSimulation]) -> None:
        """Start with the bodies as in their models."""
        self._members = members
        self._models = [member.model for member in members]
        self._friction: float | None = None
        self._mass = 1.0

    def controls(self) -> Sequence[Control]:
        """Sliders for friction and mass."""
        nominal = float(np.max(self._models[0].geom_friction[:, 0]))
        return [
            Slider("Friction", 0.1, 1.5, min(max(nominal, 0.1), 1.5), 0.05, self._rub),
            Slider("Mass, factor", 0.5, 1.5, 1.0, 0.05, self._weigh),
        ]

    def _rub(self, friction: float) -> None:
        self._friction = friction
        self._apply()

    def _weigh(self, mass: float) -> None:
        self._mass = mass
        self._apply()

    def _apply(self) -> None:
        """Run all simulations on varied copies of their models."""
        variant = Variant(friction=self._friction, mass=self._mass)
        for member, model in zip(self._members, self._models, strict=True):
            member.use_models([variant.applied_to(model)] * member.count)
