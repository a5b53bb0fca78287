"""Episodes of bodies that track clips: whether each reaches its clip's end, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.tasks.track import LEAST_LEFT, TrackBatch
from ambulo.evaluate.shared.rollout import Act, rollout

NEVER = 1000.0
"""Longer than an episode, [s]."""
PUSH_AFTER = 0.3
"""Time between the start of an episode and its push, [s]."""


Tracker = Act[TrackBatch]
"""Controller of the bodies."""
Distances = Callable[[Any], Floats]
"""Distances of the bodies of a batch from their clips, [m]. Shape (N, K)."""


def from_clip(batch: TrackBatch) -> Floats:
    """Mean distance of joints from the clip's in the world, [m]. Shape (N, 1)."""
    return batch.joint_distance[:, None]


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
    """Results of E episodes."""

    clip: Ints
    """Shape (E,)."""
    step: Ints
    """Control step of the clip at which it began. Shape (E,)."""
    success: Bools
    """Whether the clip's end was reached, without a fall, joints never too far. (E,)."""
    on_feet: Bools
    """Whether the clip's end was reached without a fall, wherever. Shape (E,)."""
    time: Floats
    """Time to the end, a fall or joints that are too far away, [s]. Shape (E,)."""
    traces: Floats
    """Distances after each control step of this time, [m]; NaN later. Shape (E, T, K)."""
    dt: float
    """Duration of a control step, [s]."""

    @property
    def errors(self) -> Floats:
        """Mean distances over time, [m]. Shape (E, K)."""
        return np.asarray(np.nanmean(self.traces, axis=1))

    @property
    def error(self) -> Floats:
        """The first of `errors`, that of all joints, [m]. Shape (E,)."""
        return self.errors[:, 0]

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
    push: tuple[float, float] = (PUSH_AFTER, PUSH_AFTER),
    distances: Distances = from_clip,
    farthest: float = np.inf,
    progress: Callable[[int], None] = lambda count: None,
) -> Tracked:
    """Play the episodes of `starts`, `batch.num_envs` at a time.

    Args:
        batch: Bodies; their settings give noise and limits.
        tracker: What moves them.
        starts: Where the episodes begin.
        seed: Of noise and pushes.
        impulse: Horizontal push at the pelvis in a random direction, [N s], of a user's own
            body for 70 kg; 0 for none.
        push: Least and most time from the start of an episode to its push, [s].
        distances: What is measured.
        farthest: Mean distance of joints from the shown ones at which a body is lost, [m];
            others end an episode by the settings of `batch`.
        progress: Called with numbers of finished episodes.
    """
    parts = []
    for at in range(0, len(starts), batch.num_envs):
        part = Starts(
            starts.clip[at : at + batch.num_envs], starts.step[at : at + batch.num_envs]
        )
        _begin(batch, part, seed + at, impulse, push)
        parts.append(_played(batch, tracker, part, distances, farthest, progress))
    return joined(parts)


def joined(parts: Sequence[Tracked]) -> Tracked:
    """All episodes of `parts`."""
    longest = max(part.traces.shape[1] for part in parts)
    traces = [
        np.pad(
            part.traces,
            ((0, 0), (0, longest - part.traces.shape[1]), (0, 0)),
            constant_values=np.nan,
        )
        for part in parts
    ]
    names = ("clip", "step", "success", "on_feet", "time")
    arrays = {n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    return Tracked(**arrays, traces=np.concatenate(traces), dt=parts[0].dt)


def _begin(
    batch: TrackBatch,
    starts: Starts,
    seed: int,
    impulse: float,
    push: tuple[float, float],
) -> None:
    """Reset all bodies to `starts`, and set their pushes; see `play`."""
    count = batch.num_envs
    bodies = np.arange(count)
    spare = bodies % len(starts)  # bodies that are too many repeat others
    batch.choose(bodies, starts.clip[spare], starts.step[spare])
    batch.seed([seed + int(body) for body in bodies])
    batch.reset(bodies)
    if batch.pushes.on:
        rng = np.random.default_rng([seed, 7])
        angle, start = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(*push, count)
        start = start if impulse > 0.0 else np.full(count, NEVER)
        batch.pushes.plan(start, impulse, angle)


def _played(
    batch: TrackBatch,
    tracker: Tracker,
    starts: Starts,
    distances: Distances,
    farthest: float,
    progress: Callable[[int], None],
) -> Tracked:
    """Play the episodes that have just begun; see `play`."""
    made, dt = len(starts), batch.simulation.dt
    live, success, on_feet = np.array([[True], [False], [False]]).repeat(
        batch.num_envs, axis=1
    )
    traces = []
    for step in rollout(batch, tracker):
        traces.append(np.where(live[:, None], distances(batch), np.nan)[:made])
        live &= batch.joint_distance <= farthest
        done = step.truncated & ~step.terminated
        success |= live & done
        on_feet |= step.running & done
        live &= step.going
        progress(int(np.count_nonzero((step.running & ~step.going)[:made])))
        if not step.going[:made].any():
            break
    kept = np.stack(traces, axis=1)
    steps = np.isfinite(kept[..., 0]).sum(axis=1)
    return Tracked(
        starts.clip, starts.step, success[:made], on_feet[:made], steps * dt, kept, dt
    )
