"""Trials of walkers that follow commands: what bodies do on a grid of cases, as tables.

Every body begins in standing, with the policy's own settings and no other disturbance, and
depends on (seed, its number) alone. What the trials are stands in `walk_trials`. Commands and
pushes are those of human23: a user's own body gets those of similar gaits
(`WalkingBatch.units`), up to its fastest, and pushes by its mass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ambulo.common.console import bars
from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.build import batch_class
from ambulo.envs.locomotion.reward import turn_rate
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    undisturbed,
)
from ambulo.evaluate.shared.result import (
    Breakdown,
    Metric,
    MetricColumn,
    measured_groups,
    rate_metric,
)
from ambulo.evaluate.shared.rollout import rollout

Row = Mapping[str, Any]
"""A case of a grid, or what was measured of the bodies of one, which has no names with an
underscore before."""
Rows = Mapping[str, Mapping[str, Sequence[Row]]]
"""Rows by trial and agent."""
Event = Callable[[WalkingBatch, int], None]
"""Called before each control step with its number."""
SAME_SPEED = 0.01
"""A command this much faster than the fastest gait is one to go as fast, [m/s]."""


@dataclass(frozen=True)
class Course:
    """Record of a trial: T control steps of N bodies."""

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


def rate_of(name: str) -> Callable[[Sequence[Row]], Metric]:
    """Return the rate of bodies, of which each row has its own, with its interval."""

    def rate(rows: Sequence[Row]) -> Metric:
        hits = sum(float(row[name]) * float(row["bodies"]) for row in rows)
        return rate_metric(hits, sum(float(row["bodies"]) for row in rows))

    return rate


SURVIVAL = MetricColumn("survival", "on feet", 0, percent=True, of=rate_of("survival"))


@dataclass(frozen=True)
class Trial:
    """One trial: cases, what happens to the bodies of each, and what is measured."""

    grid: Callable[[], Sequence[Row]]
    """Returns the cases."""
    command: Callable[[Row], tuple[float, float, float]]
    """Speed, [m/s], turning rate, [deg/s], and speed to the left, [m/s], of a case."""
    seconds: float
    """How long."""
    bodies: int
    """Most bodies of a case."""
    title: str
    """Title of the table."""
    line: str | Callable[[Row], str]
    """Line of the table that a case belongs to: a format of its numbers, or a function."""
    columns: tuple[MetricColumn, ...] = (SURVIVAL,)
    """Measurement of the rows of a line."""
    event: Callable[[Sequence[Row], int], Event] | None = None
    """Disturbance, made of the case of each body and a seed."""
    values: Callable[[Row, Course, Ints, Any], Row] = lambda *_: {}
    """Numbers of the row of a case besides survival: of the case, the course, the numbers of
    its bodies, and the event."""
    boxes: bool = False
    """Whether there are boxes to be placed; all are parked at first."""

    def label(self, row: Row) -> str:
        """Return the line that `row` belongs to."""
        return self.line.format(**row) if isinstance(self.line, str) else self.line(row)

    def rows(
        self, run: Callable[..., Course], each: int, seed: int
    ) -> Iterator[dict[str, Any]]:
        """Yield a row for each case of `each` bodies; `run` is `run_course` of a subject."""
        grid = self.grid()
        cases = [case for case in grid for _ in range(each)]
        event = None if self.event is None else self.event(cases, seed)
        commands = np.array([self.command(case) for case in cases], np.float64)
        course = run(commands, self.seconds, boxes=self.boxes, event=event)
        for k, case in enumerate(grid):
            mine = np.arange(k * each, (k + 1) * each)
            if not course.taken[mine].all():  # too fast for the body
                continue
            yield {
                **{k: value for k, value in case.items() if k[0] != "_"},
                "bodies": float(each),
                "survival": float(course.survived[mine].mean()),
                **self.values(case, course, mine, event),
            }


def run_course(
    subject: LocomotionSubject,
    commands: Floats,
    seconds: float,
    *,
    seed: int,
    boxes: bool = False,
    event: Event | None = None,
    progress: Callable[[float], None] = lambda part: None,
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
        progress: Called after every control step with the part that is over.
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


def run_trials(
    trials: Mapping[str, Trial],
    subjects: Mapping[str, LocomotionSubject],
    seed: int,
    most: int | None = None,
) -> Rows:
    """Rows of `trials` of all subjects, with a progress bar for each.

    Args:
        trials: By name.
        subjects: Agents by name.
        seed: Of the starts.
        most: Largest number of bodies of a case, if it is limited.
    """
    found: dict[str, dict[str, list[Row]]] = {}
    for name, trial in trials.items():
        each = trial.bodies if most is None else min(most, trial.bodies)
        found[name] = {}
        with bars(24) as progress:
            tasks = {n: progress.add_task(f"{name} {n}", total=100) for n in subjects}
            for agent, subject in subjects.items():

                def report(part: float, task: Any = tasks[agent]) -> None:
                    progress.update(task, completed=int(100 * part))

                run = partial(run_course, subject, seed=seed, progress=report)
                found[name][agent] = list(trial.rows(run, each, seed))
    return found


def trial_breakdowns(trials: Mapping[str, Trial], rows: Rows) -> list[Breakdown]:
    """Tables of the trials: a line for each label, and one for all rows."""
    found = []
    for name, agents in rows.items():
        trial = trials[name]
        lines: dict[str, dict[str, list[Row]]] = {}
        for agent, own in agents.items():
            of_agent = lines.setdefault(agent, {})
            for row in own:
                of_agent.setdefault(trial.label(row), []).append(row)
            if len(of_agent) > 1:
                of_agent["all"] = list(own)
        scores = measured_groups(trial.columns, lines)
        shown = [column for column in trial.columns if column.label]
        found.append(Breakdown(name, scores, shown, trial.title))
    return found


def check_walker(task: str) -> None:
    """Refuse trials of another task.

    Raises:
        ConfigError: The bodies of `task` are not those of `walk_commands`.
    """
    batch = batch_class(task)
    if not (isinstance(batch, type) and issubclass(batch, WalkingBatch)):
        raise ConfigError(f"--trials: is for walkers of walk_commands, not of {task}")
