"""Roll-outs of a walker that its twin is fitted to: on free ground, and into a wall."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.twin import Envelope
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.body.commands import StickCommands
from ambulo.envs.vr.body.walker import Walker
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level

FREE_SECONDS = 40.0
"""Duration of a roll-out on free ground, [s]."""
WALL_SECONDS = 9.0
"""Duration of a roll-out into the wall, [s]."""
HOLD = (0.1, 4.0)
"""Time between changes of a command, [s]; log-uniform."""
STRAIGHT = 0.3
"""Share of commands without turning, and without a part to the side."""
APPROACH = 2.0
"""Time until a walker is at the wall, [s]."""
ANGLES = (math.radians(5.0), math.radians(90.0))
"""Between walking direction and wall, [rad]."""
SLOWEST = 0.3
"""Slowest speed at which a walker is sent into the wall, [m/s]."""
FIRST_GAP = 0.7
"""Least distance from the wall at the start, [m]."""
_WALL = 0.1
_SIZE = 400.0


@dataclass(frozen=True)
class FreeWalks:
    """N walkers for T steps of `dt`, [s], on free ground."""

    dt: float
    command: Floats
    """Speed, to the left, turning rate, shape (T, N, 3), [m/s], [m/s], [rad/s]."""
    motion: Floats
    """The same three numbers, as the body does them. Shape (T, N, 3)."""
    fell: Bools
    """Whether each body has fallen by the end of each step, shape (T, N)."""


@dataclass(frozen=True)
class WallWalks:
    """N walkers for T steps of `dt`, [s], that are sent into a wall."""

    dt: float
    touched: Bools
    """Shape (T, N)."""
    gap: Floats
    """From the point below the head to the wall, shape (T, N), [m]."""
    into: Floats
    """Speed into the wall that the command asks for, shape (T, N), [m/s]."""
    fell: Bools
    """As in `FreeWalks`."""


def free_walks(
    walker: Walker, count: int, seed: int, fastest: float = math.inf
) -> FreeWalks:
    """`count` walkers under random commands of their envelope, up to `fastest`, [m/s]."""
    level = Level("free", np.array([-_SIZE, -_SIZE, _SIZE, _SIZE]))
    world, rng = _world(walker, level, count, seed), np.random.default_rng([seed, 1])
    starts = np.zeros((count, 3))
    _begin(world, starts, rng)
    steps = round(FREE_SECONDS / world.spec.dt)
    requested = _random_commands(
        slowed(walker.envelope, fastest), steps, count, world.spec.dt, rng
    )
    sticks = [_sticks(command, world.spec) for command in requested]
    # Not all that is wanted is in the envelope: turns take of side-steps, and so on.
    ordered = StickCommands(world.spec, walker.envelope, walker.name)
    commands = np.stack([ordered.of(stick) for stick in sticks])
    motion, fell = np.zeros_like(commands), np.zeros((steps, count), np.bool_)
    before = _pose(world)
    for step, stick in enumerate(sticks):
        world.step(stick)
        after = _pose(world)
        motion[step], before = _motion(before, after, world.spec.dt), after
        fell[step] = world.state.fell
    world.close()
    return FreeWalks(world.spec.dt, commands, motion, fell)


def wall_walks(
    walker: Walker, count: int, seed: int, fastest: float = math.inf
) -> WallWalks:
    """`count` walkers that are sent blindly into a wall, at many angles and speeds.

    Speeds go up to `fastest`, [m/s].
    """
    wall = np.array([[0.0, _WALL, 1.25, 0.9 * _SIZE, _WALL, 1.25, 0.0]])
    level = Level("wall", np.array([-_SIZE, -_SIZE, _SIZE, _SIZE]), boxes=wall)
    world, rng = _world(walker, level, count, seed), np.random.default_rng([seed, 2])
    low, high = (max(v, SLOWEST) for v in slowed(walker.envelope, fastest).speed)
    speed, angle = rng.uniform(low, high, count), rng.uniform(*ANGLES, size=count)
    away = FIRST_GAP + APPROACH * speed * np.sin(angle)
    _begin(world, np.column_stack([np.zeros(count), -away, angle]), rng)
    command = np.column_stack([speed, np.zeros(count), np.zeros(count)])
    rows = [
        (
            state.contact_ticks > 0,
            -state.position[:, 1],
            speed * np.maximum(np.sin(state.yaw), 0.0),
            state.fell.copy(),
        )
        for state in (
            world.step(_sticks(command, world.spec))
            for _ in range(round(WALL_SECONDS / world.spec.dt))
        )
    ]
    world.close()
    touched, gap, into, fell = (np.array(column) for column in zip(*rows, strict=True))
    return WallWalks(world.spec.dt, touched, gap, into, fell)


def _world(walker: Walker, level: Level, count: int, seed: int) -> BodyWorld:
    """Bodies whose step is a control step, and whose sticks act at once."""
    low, high = walker.envelope.turn
    spec = WorldSpec(
        ticks_per_decision=1,
        dt=1.0 / walker.control_rate,
        max_speed=walker.envelope.speed[1],
        max_yaw_rate=float(np.radians(min(-low, high))),
        smoothing=0.0,
        dead_zone=0.0,
        num_rays=4,
    )
    world = BodyWorld(count, spec, walker)
    world.set_levels([0], [level])
    world.seed(np.arange(count), seed * count + np.arange(count))
    return world


def _begin(world: BodyWorld, poses: Floats, rng: np.random.Generator) -> None:
    count = len(poses)
    world.seed(np.arange(count), rng.integers(2**31, size=count))
    world.reset(np.arange(count), np.zeros(count, np.int64), poses)


def _sticks(command: Floats, spec: WorldSpec) -> Floats:
    """Sticks (N, 3) that ask for commands (N, 3)."""
    return np.column_stack(
        [
            -command[:, 1] / spec.max_speed,
            command[:, 0] / spec.max_speed,
            -command[:, 2] / spec.max_yaw_rate,
        ]
    )


def slowed(envelope: Envelope, fastest: float) -> Envelope:
    """`envelope` with speeds ahead up to `fastest`, [m/s]."""
    low, high = envelope.speed
    return envelope.model_copy(update={"speed": (low, max(low, min(high, fastest)))})


def _random_commands(
    envelope: Envelope, steps: int, count: int, dt: float, rng: np.random.Generator
) -> Floats:
    """Commands (T, N, 3), each constant for a random time."""
    commands = np.zeros((steps, count, 3))
    spans = (envelope.speed, envelope.side, tuple(np.radians(envelope.turn)))
    for body in range(count):
        for channel, (low, high) in enumerate(spans):
            for first, last in _pieces(steps, dt, rng):
                straight = channel > 0 and rng.random() < STRAIGHT
                value = 0.0 if straight else rng.uniform(low, high)
                commands[first:last, body, channel] = value
    return commands


def _pieces(
    steps: int, dt: float, rng: np.random.Generator
) -> Iterator[tuple[int, int]]:
    first = 0
    while first < steps:
        hold = math.exp(rng.uniform(*np.log(HOLD)))
        last = first + max(1, round(hold / dt))
        yield first, min(last, steps)
        first = last


def _pose(world: BodyWorld) -> Floats:
    """x, y, yaw of the bodies, shape (N, 3)."""
    return np.column_stack([world.state.position[:, :2], world.state.yaw])


def _motion(before: Floats, after: Floats, dt: float) -> Floats:
    """Speed ahead and to the left, [m/s], and turning rate, [rad/s], shape (N, 3)."""
    moved = (after - before) / dt
    cos, sin = np.cos(before[:, 2]), np.sin(before[:, 2])
    return np.column_stack(
        [
            cos * moved[:, 0] + sin * moved[:, 1],
            cos * moved[:, 1] - sin * moved[:, 0],
            moved[:, 2],
        ]
    )


def joined(walks: Sequence[WallWalks]) -> WallWalks:
    """The walkers of all `walks` side by side."""
    columns = ("touched", "gap", "into", "fell")
    parts = {
        name: np.concatenate([getattr(walk, name) for walk in walks], axis=1)
        for name in columns
    }
    return WallWalks(walks[0].dt, **parts)
