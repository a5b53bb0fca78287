"""A captured motion as it is: nothing is planted, balanced or fitted."""

from __future__ import annotations

import numpy as np

from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.raw_clip import DEPTH, MAX_SECONDS, lowest_points
from ambulo.envs.reference.joint_positions import joint_positions, velocities
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.clip_checks import MIN_SECONDS
from ambulo.motion.filters import smoothed
from ambulo.motion.motion import Motion
from ambulo.motion.operations import resample

CUTOFF = 12.0
"""Low-pass of the noise of markers, [Hz]."""
FLOOR = 5.0
"""Percentile of the heights of the lowest point that stands on the ground."""


def plain_clip(motion: Motion, character: Character) -> ReferenceTable:
    """A motion on the skeleton of `character`, a state for each physics step.

    It is only low-passed, and lifted or lowered as a whole onto the ground; torques are 0.

    Raises:
        MotionError: It is too short or too long.
    """
    if not MIN_SECONDS <= motion.duration <= MAX_SECONDS:
        raise MotionError(
            f"{motion.label}: lasts {motion.duration:.2f} s; a clip to follow lasts "
            f"{MIN_SECONDS:g} to {MAX_SECONDS:g} s"
        )
    model = character.model
    dt = float(model.opt.timestep)
    smooth = smoothed(motion, min(CUTOFF, 0.4 * motion.fps))
    qpos = joint_positions(resample(smooth, 1.0 / dt), model)
    qpos[:, 2] -= DEPTH + np.percentile(lowest_points(qpos, character), FLOOR)
    qvel = velocities(model, qpos, dt)
    return ReferenceTable(
        (len(qpos) - 1) * dt,
        np.zeros(3),
        qpos,
        qvel,
        np.zeros_like(qvel),
        periodic=False,
    )
