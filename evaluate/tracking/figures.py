"""Pictures and films of how clips are tracked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ambulo.common.figures import new_figure, png_of
from ambulo.configs.arrays import Ints
from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.shared.rollout import rollout
from ambulo.evaluate.tracking.episodes import Tracked, Tracker
from ambulo.motion.motion import Motion
from ambulo.viz.plots import agent_colour, clean

MOST_CLIPS = 60
"""Clips in a picture; of more, those that are tracked worst by the first agent."""

LEAST_RUNNING = 0.3
"""Fraction of episodes that still run where errors are drawn."""


def draw_clips(
    runs: Mapping[str, Mapping[str, Tracked]], clips: Ints, names: Sequence[str]
) -> bytes:
    """PNG of the rate of episodes that reach the end, by clip and agent."""
    rates = {
        agent: np.array(
            [cases["random"].success[cases["random"].clip == c].mean() for c in clips]
        )
        for agent, cases in runs.items()
    }
    first = next(iter(rates.values()))
    order = np.argsort(first, kind="stable")[:MOST_CLIPS]
    figure = new_figure((7.0, 1.2 + 0.22 * len(order)))
    ax = figure.add_subplot()
    rows = np.arange(len(order))
    for k, (agent, rate) in enumerate(rates.items()):
        shift = 0.22 * (k - 0.5 * (len(rates) - 1))
        colour = agent_colour(agent)
        ax.plot(rate[order], rows + shift, "o", ms=4, color=colour, label=agent)
    ax.set_yticks(rows, [names[k] for k in order], fontsize=7)
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-1.0, len(order))
    ax.set_xlabel("episodes from random frames that reach the clip's end")
    ax.legend(frameon=False, fontsize=8, loc="lower left")
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def draw_errors(runs: Mapping[str, Mapping[str, Tracked]]) -> bytes:
    """PNG of the error over time from first frames: median, and the middle 80 %.

    Of episodes that still run, as long as `LEAST_RUNNING` of them do.
    """
    figure = new_figure((7.0, 3.6))
    ax = figure.add_subplot()
    for agent, cases in runs.items():
        tracked = cases["first"]
        traces = 100.0 * tracked.traces[..., 0]
        known = np.isfinite(traces).mean(axis=0) >= LEAST_RUNNING
        if not known.any():
            continue
        low, middle, high = np.nanpercentile(traces[:, known], (10, 50, 90), axis=0)
        times = np.flatnonzero(known) * tracked.dt
        colour = agent_colour(agent)
        ax.fill_between(times, low, high, color=colour, alpha=0.15, lw=0)
        ax.plot(times, middle, color=colour, label=agent)
    ax.set_xlabel("time from the clip's first frame [s]")
    ax.set_ylabel("joints from the clip's [cm]")
    ax.legend(frameon=False)
    clean(ax)
    figure.tight_layout()
    return png_of(figure)


def motions_of(batch: TrackBatch, tracker: Tracker, clip: int) -> tuple[Motion, Motion]:
    """A clip, and what the tracking body does from its first frame to the end or a fall."""
    bodies = np.arange(batch.num_envs)
    batch.choose(bodies, np.full(batch.num_envs, clip), np.zeros_like(bodies))
    batch.seed([int(body) for body in bodies])
    batch.reset(bodies)
    batch.pushes.start[:] = np.inf
    shown, done = [], []

    def look(_: int) -> None:
        rows = batch.library.rows(batch.clip[:1], batch.frame[:1])
        shown.append(batch.library.qpos[rows[0]].copy())
        done.append(batch.simulation.qpos[0].copy())

    for step in rollout(batch, tracker, before=look):
        if not step.going[0]:
            break
    character, fps = batch.character, 1.0 / batch.simulation.dt
    clip_motion, body_motion = (
        motion_of_positions(np.array(rows), character.model, character.skeleton, fps)
        for rows in (shown, done)
    )
    return clip_motion, body_motion


def write_film_of(path: Path, batch: TrackBatch, tracker: Tracker, clip: int) -> None:
    """Film a clip and the body that tracks it side by side, the clip as a ghost too.

    Raises:
        RenderError: The film cannot be written.
    """
    from ambulo.viz.skeleton_actor import actor_of
    from ambulo.viz.skeleton_film import write_film

    shown, done = motions_of(batch, tracker, clip)
    actors = [actor_of(shown, label="clip"), actor_of(done, label="body")]
    write_film(path, actors, shown.fps, ghost=True)
