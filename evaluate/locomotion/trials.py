"""Trials of walkers that follow commands: envelope, stops, walls, pushes, sweeps.

Every body begins in standing, with the policy's own settings and no other disturbance, and
depends on (seed, its number) alone. Commands and pushes are those of human23: a user's own body
gets those of alike gaits (`WalkingBatch.units`), up to its fastest, and pushes by its mass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.build import batch_class
from ambulo.envs.locomotion.reward import turn_rate
from ambulo.envs.simulation.touch import BOXES, WALLS
from ambulo.envs.tasks.walk_commands.commands import within_envelope
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    undisturbed,
)
from ambulo.evaluate.shared.rollout import rollout

SPEEDS = (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
TURNS = (-120.0, -90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0, 120.0)
SIDES = (-0.3, -0.1, 0.1, 0.3)
SETTLED, COMMAND_SECONDS = 4.0, 12.0
"""When a command counts as settled into, and how long it is given, [s]."""
STOP_SPEEDS, STOP_AFTER, STAND_SECONDS = (0.3, 0.6, 1.0, 1.3, 1.6), 5.0, 30.0
STOP_WINDOW, STOPPED = 0.5, 0.1
"""A body has stopped from when it goes at less than this in the next half second, [m/s]."""
WALL_SPEEDS, WALL_ANGLES = (
    (0.4, 0.55, 0.7, 1.0),
    (5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0),
)
WALL_GAP, WALL_SECONDS = 1.6, 12.0
PUSHES = (20.0, 40.0, 60.0)
PUSHED = {"standing": (0.0, 0.0), "on the spot": (0.0, 6.0), "0.6 m/s": (0.6, 0.0),
          "1.2 m/s": (1.2, 0.0)}  # fmt: skip
PUSH_TIME, PUSH_FIRST, PUSH_SECONDS = 0.2, 3.0, 9.0
SWEEPS, SWEEP_GAP, SWEEP_SECONDS = (0.2, 0.4, 0.6, 0.8), 1.5, 9.0
SAME_SPEED = 0.01
"""A command this much faster than the fastest gait is one to go as fast, [m/s]."""
_STREAM = 77

Row = dict[str, float | str]
Cell = TypeVar("Cell")


@dataclass(frozen=True)
class Course:
    """What bodies did in a trial: T control steps of N bodies."""

    dt: float
    """Duration of a control step, [s]."""
    alive: Bools
    """On its feet after each step. Shape (T, N)."""
    rates: Floats
    """Speed ahead, [m/s], turning rate, [rad/s], speed to the left, as commands. (T, N, 3)."""
    force: Floats
    """Force of touches, [N]. Shape (T, N)."""
    standing: Bools
    """Standing is followed, not steps. Shape (T, N)."""
    taken: Bools
    """Whether the body goes as fast ahead as it was first commanded to. Shape (N,)."""

    @property
    def survived(self) -> Bools:
        """On its feet to the end. Shape (N,)."""
        return self.alive[-1].copy()


Event = Callable[[WalkingBatch, int], None]
"""Called before each control step with its number."""
Report = Callable[[float], None]
"""Called with the part of a trial that is over."""
Run = Callable[..., Course]
"""`run_course` of a subject, a seed and a report of progress."""


def ignore_progress(part: float) -> None:
    """Show no progress."""


def run_course(
    subject: LocomotionSubject,
    commands: Floats,
    seconds: float,
    *,
    seed: int,
    boxes: bool = False,
    event: Event | None = None,
    progress: Report = ignore_progress,
) -> Course:
    """Give one command, (N, 3): [m/s], [deg/s], [m/s], to each body, from standing.

    Commands are in the body's units.

    Args:
        subject: Agent to evaluate.
        commands: Speed, turning rate and speed to the left of each body.
        seconds: How long.
        seed: Of the starts.
        boxes: Whether there are boxes to be placed; all are parked at first.
        event: What else happens.
        progress: Called after every control step.
    """
    config = undisturbed(subject.config, seconds).override(
        "walk", stand_start=1.0, obstacles=float(boxes)
    )
    count, steps = len(commands), config.environment.max_episode_steps
    batch = bodies(subject, config, [1_000_003 * seed + i for i in range(count)], 0)
    check_walker(config.environment.task)
    assert isinstance(batch, WalkingBatch)

    def command(envs: Ints, wanted: Floats) -> None:
        batch.set_command(envs, *(batch.units * wanted).T)
        if boxes:
            batch.boxes.park(envs)

    every = np.arange(count)
    batch.reset(every)
    command(every, commands * [1.0, np.pi / 180.0, 1.0])
    up = np.ones(count, np.bool_)
    alive, rates, force, stands = [], [], [], []
    for step in rollout(
        batch,
        subject.act,
        steps,
        before=None if event is None else partial(event, batch),
        restarted=lambda envs: command(envs, np.zeros((len(envs), 3))),
    ):
        up = up & ~step.terminated
        alive.append(up)
        heading = batch.state.heading
        rate = np.stack([heading[:, 0], turn_rate(batch.state), heading[:, 1]], 1)
        rates.append(rate / batch.units)
        force.append(np.linalg.norm(batch.felt(), axis=1))
        stands.append(step.info["standing"])
        progress((step.number + 1) / steps)
    dt = batch.simulation.dt
    taken: Bools = commands[:, 0] < batch.speeds[1] + SAME_SPEED
    batch.close()
    return Course(
        dt, np.array(alive), np.array(rates), np.array(force), np.array(stands), taken
    )


def by_row(
    grid: Iterable[Cell], each: int, course: Course
) -> Iterator[tuple[Cell, slice]]:
    """Yield the cells of a trial's `grid` with their bodies, `each` in a row.

    Those that are too fast for the body are left out.
    """
    for k, cell in enumerate(grid):
        mine = slice(k * each, (k + 1) * each)
        if course.taken[mine].all():
            yield cell, mine


def envelope_commands() -> list[tuple[float, float, float]]:
    """The grid of commands, [m/s], [deg/s], [m/s], all within the envelope."""
    plain = list(product(SPEEDS, TURNS, (0.0,)))
    aside = list(product((-0.2, 0.0, 0.4, 0.8, 1.2, 1.6), (-30.0, 0.0, 30.0), SIDES))
    grid = [one for one in plain + aside if one != (0.0, 0.0, 0.0)]
    _, outside = within_envelope(np.array(grid) * [1.0, np.pi / 180.0, 1.0])
    return [one for one, out in zip(grid, outside, strict=True) if not out]


def envelope(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield how well every command of the grid is followed, one row a command."""
    grid = np.array(envelope_commands())
    course = run(np.repeat(grid, each, axis=0), COMMAND_SECONDS)
    late = course.rates[round(SETTLED / course.dt) :].mean(axis=0)
    late[:, 1] = np.rad2deg(late[:, 1])
    for cell, mine in by_row(grid, each, course):
        stood = late[mine][course.survived[mine]]
        off = np.abs(stood - cell)
        mean = stood.mean(axis=0) if len(stood) else np.full(3, np.nan)
        v, w, s = cell
        row: Row = {"speed": v, "turn": w, "side": s, "bodies": float(each)}
        row["survival"] = float(len(stood) / each)
        for i, name in enumerate(("speed", "turn", "side")):
            row[f"{name}_mean"] = float(mean[i])
            row[f"{name}_off"] = float(abs(mean[i] - cell[i]))
            row[f"{name}_worst"] = float(off[:, i].max()) if len(off) else float("nan")
        yield row


def stops(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield whether walkers stop within a second and then stand for `STAND_SECONDS`."""
    grid = [
        (v, w) for v, w in product(STOP_SPEEDS, (0.0, 30.0)) if w == 0.0 or v <= 1.3
    ]
    commands = np.array([(v, w, 0.0) for v, w in grid for _ in range(each)])

    def halt(batch: WalkingBatch, step: int) -> None:
        if step == round(STOP_AFTER / batch.simulation.dt):
            n = batch.num_envs
            batch.set_command(np.arange(n), *np.zeros((3, n)))

    course = run(commands, STOP_AFTER + STAND_SECONDS, event=halt)
    first = round(STOP_AFTER / course.dt)
    walked = course.alive[first - 1]
    ahead = course.rates[first:, :, 0]
    window = round(STOP_WINDOW / course.dt)
    sums = np.cumsum(np.vstack([np.zeros((1, len(commands))), ahead]), axis=0)
    means = np.abs(sums[window:] - sums[:-window]) / window
    slow = means < STOPPED
    time = np.where(slow.any(axis=0), slow.argmax(axis=0) * course.dt, np.inf)
    stands = course.survived & course.standing[-1]
    for (v, w), row in by_row(grid, each, course):
        mine = np.arange(len(commands))[row][walked[row]]
        count = max(1, len(mine))
        yield {
            "speed": v, "turn": w, "bodies": float(count), "walked": len(mine) / each,
            "survival": float(course.survived[mine].sum() / count),
            "stops_in_1_s": float((time[mine] <= 1.0).sum() / count),
            "stands_30_s": float(stands[mine].sum() / count),
            "stop_s": float(np.median(time[mine])) if len(mine) else float("nan"),
            "stop_slowest_s": float(time[mine].max(initial=0.0)),
        }  # fmt: skip


def walls(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield blind walks into walls at a constant command, a row for speed and friction."""
    grid = list(product(WALL_SPEEDS, range(WALLS)))
    commands = np.array([(v, 0.0, 0.0) for v, _ in grid for _ in range(each)])
    box = np.array([b for _, b in grid for _ in range(each)])
    rng = np.random.default_rng([seed, _STREAM])
    angle = np.deg2rad(np.resize(WALL_ANGLES, len(commands)))
    angle *= np.where(rng.random(len(commands)) < 0.5, -1.0, 1.0)

    def put(batch: WalkingBatch, step: int) -> None:
        if step != round(3.0 / batch.simulation.dt):
            return
        root = batch.simulation.qpos[:, :2]
        yaw = batch.reference_frame[:, 2] + batch.state.yaw
        for i in range(batch.num_envs):
            # The body meets the wall, whose normal is `angle` short of aside, in `WALL_GAP`.
            normal = yaw[i] + np.sign(angle[i]) * (np.pi / 2.0 - abs(angle[i]))
            ahead = np.array([np.cos(yaw[i]), np.sin(yaw[i])])
            out = np.array([np.cos(normal), np.sin(normal)])
            gap = max(0.5, WALL_GAP * abs(float(ahead @ out)))
            meet = root[i] + ahead * gap / abs(float(ahead @ out))
            middle = meet + BOXES[box[i]].half[0] * out
            batch.boxes.place[i, box[i]] = *middle, normal
        batch.boxes.show()

    course = run(commands, WALL_SECONDS, boxes=True, event=put)
    force = (course.force * course.alive).max(axis=0)
    for (v, b), mine in by_row(grid, each, course):
        met = force[mine] > 0.0
        yield {
            "speed": v, "friction": BOXES[b].friction, "bodies": float(each),
            "touched": float(met.mean()),
            "survival": float(course.survived[mine].mean()),
            "peak_force": float(np.median(force[mine][met])) if met.any() else float("nan"),
        }  # fmt: skip


def pushes(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield pushes of the pelvis in random directions, standing, on the spot and walking."""
    grid = list(product(PUSHED, PUSHES))
    commands = np.array([(*PUSHED[how], 0.0) for how, _ in grid for _ in range(each)])
    impulse = np.array([one for _, one in grid for _ in range(each)])
    rng = np.random.default_rng([seed, _STREAM, 1])
    angle = rng.uniform(0.0, 2.0 * np.pi, len(commands))
    when = PUSH_FIRST + rng.random(len(commands))
    force = impulse / PUSH_TIME * np.stack([np.cos(angle), np.sin(angle)])

    def push(batch: WalkingBatch, step: int) -> None:
        now = step * batch.simulation.dt
        on = (now >= when) & (now < when + PUSH_TIME - 1e-6)
        root, size = batch.character.model.jnt_bodyid[0], batch.pushes.scale
        batch.simulation.push[:, root, :2] = np.where(on, size * force, 0.0).T

    course = run(commands, PUSH_SECONDS, event=push)
    for (how, one), mine in by_row(grid, each, course):
        yield {
            "while": how, "impulse": one, "bodies": float(each),
            "survival": float(course.survived[mine].mean()),
        }  # fmt: skip


def sweeps(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield pillars that move through a standing body, from any side."""
    pillars = [b for b, box in enumerate(BOXES) if box.half[0] < 0.2 and b >= WALLS]
    grid = list(product(SWEEPS, pillars))
    commands = np.zeros((len(grid) * each, 3))
    rng = np.random.default_rng([seed, _STREAM, 2])
    angle = rng.uniform(0.0, 2.0 * np.pi, len(commands))

    def put(batch: WalkingBatch, step: int) -> None:
        if step != round(2.0 / batch.simulation.dt):
            return
        root = batch.simulation.qpos[:, :2]
        for i in range(batch.num_envs):
            speed, b = grid[i // each]
            out = np.array([np.cos(angle[i]), np.sin(angle[i])])
            batch.boxes.place[i, b, :2] = root[i] + SWEEP_GAP * out
            batch.boxes.velocity[i, b] = -speed * out
        batch.boxes.show()

    course = run(commands, SWEEP_SECONDS, boxes=True, event=put)
    for (speed, b), mine in by_row(grid, each, course):
        yield {
            "speed": speed, "friction": BOXES[b].friction, "bodies": float(each),
            "survival": float(course.survived[mine].mean()),
        }  # fmt: skip


def check_walker(task: str) -> None:
    """Refuse trials of another task.

    Raises:
        ConfigError: The bodies of `task` are not those of `walk_commands`.
    """
    batch = batch_class(task)
    if not (isinstance(batch, type) and issubclass(batch, WalkingBatch)):
        raise ConfigError(f"--trials: is for walkers of walk_commands, not of {task}")
