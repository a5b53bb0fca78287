"""Films of a clip and of the body that tracks it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ambulo.envs.reference.joint_positions import motion_of_positions
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.shared.rollout import rollout
from ambulo.evaluate.tracking.episodes import Tracker
from ambulo.motion.motion import Motion


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
