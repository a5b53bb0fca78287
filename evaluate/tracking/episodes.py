"""Episodes of bodies that track clips: whether each reaches its clip's end, and how near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.tasks.track import LEAST_LEFT, TrackBatch
from ambulo.evaluate.shared.rollout import Act, rollout

NEVER = 1000.0
"""Longer than an episode, [s]."""
PUSH_AFTER = 0.3
"""Time between the start of an episode and its push, [s]."""


Tracker = Act[TrackBatch]
"""What moves the bodies."""


@dataclass(frozen=True, eq=False)
class Starts:
    """Where E episodes begin."""

    clip: Ints
    """Number of the clip in the batch's library. Shape (E,)."""
    step: Ints
    """Control step of the clip. Shape (E,)."""

    def __len__(self) -> int:
        """Return E."""
        return len(self.clip)


@dataclass(frozen=True, eq=False)
class Tracked:
    """What became of E episodes."""

    clip: Ints
    """Shape (E,)."""
    step: Ints
    """Control step of the clip at which it began. Shape (E,)."""
    success: Bools
    """Whether the clip's end was reached, without a fall. Shape (E,)."""
    time: Floats
    """Duration of the episode, [s]. Shape (E,)."""
    traces: Floats
    """Mean distance of joints from the clip's in the world after each control step, [m]; NaN
    after the end. Shape (E, T)."""
    dt: float
    """Duration of a control step, [s]."""

    @property
    def error(self) -> Floats:
        """Mean distance of joints from the clip's in the world, [m]. Shape (E,)."""
        return np.asarray(np.nanmean(self.traces, axis=1))

    def only(self, chosen: Bools) -> Tracked:
        """The episodes that are chosen, (E,)."""
        arrays = {
            f.name: getattr(self, f.name)[chosen]
            for f in fields(self)
            if f.name != "dt"
        }
        return Tracked(**arrays, dt=self.dt)


def random_starts(batch: TrackBatch, clips: Ints, count: int, seed: int) -> Starts:
    """`count` starts in each of `clips`, at least `LEAST_LEFT` before the end."""
    rng = np.random.default_rng([seed, 5])
    least = round(LEAST_LEFT / batch.simulation.dt)
    latest = np.maximum(batch.library.knots[clips] - least, 0)
    steps = (rng.random((len(clips), count)) * (latest[:, None] + 1)).astype(np.int64)
    return Starts(np.repeat(clips, count), steps.ravel())


def first_starts(clips: Ints, count: int) -> Starts:
    """`count` starts at the first frame of each of `clips`."""
    whole = np.repeat(clips, count)
    return Starts(whole, np.zeros_like(whole))


def play(
    batch: TrackBatch,
    tracker: Tracker,
    starts: Starts,
    *,
    seed: int,
    impulse: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Tracked:
    """Play the episodes of `starts`, `batch.num_envs` at a time.

    Args:
        batch: Bodies; their settings give noise and limits.
        tracker: What moves them.
        starts: Where the episodes begin.
        seed: Of noise and pushes.
        impulse: Horizontal push at the pelvis `PUSH_AFTER` the start, in a random
            direction, [N s]; 0 for none.
        progress: Called with numbers of finished episodes.
    """
    parts = []
    for at in range(0, len(starts), batch.num_envs):
        part = Starts(
            starts.clip[at : at + batch.num_envs], starts.step[at : at + batch.num_envs]
        )
        parts.append(_play(batch, tracker, part, seed + at, impulse))
        if progress is not None:
            progress(len(part))
    return joined(parts)


def joined(parts: Sequence[Tracked]) -> Tracked:
    """All episodes of `parts`."""
    longest = max(part.traces.shape[1] for part in parts)
    traces = [
        np.pad(
            part.traces,
            ((0, 0), (0, longest - part.traces.shape[1])),
            constant_values=np.nan,
        )
        for part in parts
    ]
    names = ("clip", "step", "success", "time")
    arrays = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    return Tracked(**arrays, traces=np.concatenate(traces), dt=parts[0].dt)


def _play(
    batch: TrackBatch, tracker: Tracker, starts: Starts, seed: int, impulse: float
) -> Tracked:
    count, played, dt = batch.num_envs, len(starts), batch.simulation.dt
    spare = np.arange(count) % played  # bodies that are too many repeat others
    bodies = np.arange(count)
    batch.choose(bodies, starts.clip[spare], starts.step[spare])
    batch.seed([seed + int(body) for body in bodies])
    batch.reset(bodies)
    pushes, width = batch.pushes, batch.config.environment.push_duration
    if pushes.on:
        angle = np.random.default_rng([seed, 7]).uniform(0.0, 2.0 * np.pi, count)
        pushes.start[:] = PUSH_AFTER if impulse > 0.0 else NEVER
        force = np.stack([np.cos(angle), np.sin(angle)], axis=1) * impulse / width
        pushes.force[:] = force
    success, steps, traces = np.zeros(count, np.bool_), np.zeros(count), []
    for step in rollout(batch, tracker):
        steps += step.running
        traces.append(np.where(step.running, batch.joint_distance, np.nan)[:played])
        success |= step.running & step.truncated & ~step.terminated
        if not step.going[:played].any():
            break
    made = slice(0, played)
    return Tracked(
        starts.clip, starts.step, success[made], (steps * dt)[made],
        np.stack(traces, axis=1), dt,
    )  # fmt: skip
