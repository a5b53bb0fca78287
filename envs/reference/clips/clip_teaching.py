"""What the feedback of fitted clips would do, as joint targets beside the clip alone.

A fitted clip is made by moved targets, torques that are known beforehand, and feedback. A
policy that tracks poses has none of them: its action moves the targets away from the pose
that it is shown. Stable PD adds `kp (target - q)` to a known torque, so that a torque t acts
as a target that is moved by t / kp, and a target velocity v as one that is moved by kd v / kp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import ClipLibrary
from ambulo.envs.reference.reference import ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.tangent import Tangent
from ambulo.muscle.spd import SpdController

SMOOTHED = 2
"""Control steps on each side over which gains are averaged. They hold bodies as well as those
of single steps do, and differ less from one to the next: a network learns them sooner."""
LARGEST_DEVIATION, LARGEST_OFFSET = 2.0, 0.8
"""Largest deviation that feedback reads, and largest offset that it makes, [rad]."""


@dataclass(frozen=True, eq=False)
class ClipTeaching:
    """Targets and feedback for Q knots; arrays in the order of the library's knots.

    Deviations are those from `clip`, which may be another one than a policy is shown.
    """

    offsets: Floats
    """Joint targets minus the shown pose, [rad]. Shape (Q, nv)."""
    gains: NDArray[np.float32]
    """Target offsets per deviation of position and velocity. Shape (Q', nv - 6, 2 nv)."""
    clip: Ints
    """The library's fitted clip of each clip. Shape (C,)."""

    def targets(
        self, library: ClipLibrary, clip: Ints, step: Ints, state: Floats
    ) -> Floats:
        """Offsets of joint targets now, [rad]. Shape (N, nv).

        Args:
            library: What `clip` and `step` count in.
            clip: That is shown. Shape (N,).
            step: Physics steps of it that are over. Shape (N,).
            state: Deviation of positions and velocities from the fitted clip. (N, 2 nv).
        """
        bound = LARGEST_DEVIATION
        gains = self.gains[library.knot_rows(self.clip[clip], step)]
        feedback = -np.einsum("nux,nx->nu", gains, np.clip(state, -bound, bound))
        out = self.offsets[library.knot_rows(clip, step)].copy()
        out[:, 6:] += np.clip(feedback, -LARGEST_OFFSET, LARGEST_OFFSET)
        return out


def clip_teaching(
    gaits: Sequence[ReferenceMotion],
    library: ClipLibrary,
    fitted: Ints,
    character: Character,
) -> ClipTeaching:
    """The feedback of fitted clips, for all clips of a library.

    Args:
        gaits: The fitted clips.
        library: Begins with these clips; others are the same ones as captured.
        fitted: The number in `gaits` of each clip of the library. Shape (C,).
        character: The body.

    Raises:
        ConfigError: A clip without feedback.
    """
    for name, gait in zip(library.names, gaits, strict=False):
        if gait.controller is None:
            raise ConfigError(
                f"clip {name}: has no feedback to learn from: ambulo fit it"
            )
    offsets = [
        clip_offsets(gaits[clip].table, library, view, character)
        for view, clip in enumerate(fitted)
    ]
    gains = [
        _gains(gait, int(library.knots[k]), int(character.model.nv))
        for k, gait in enumerate(gaits)
    ]
    return ClipTeaching(np.concatenate(offsets), np.concatenate(gains), fitted)


def gains_of(character: Character) -> tuple[Floats, Floats]:
    """Stiffness, 1 without a motor, and damping of stable PD. Shapes (nv,)."""
    nv = int(character.model.nv)
    spd = SpdController(character.model, character.gains)
    stiffness, damping = np.ones(nv), np.zeros(nv)
    driven = spd.coupling.independent[6:]
    stiffness[driven], damping[driven] = spd.stiffness[6:], spd.damping[6:]
    return stiffness, damping


def clip_offsets(
    table: ReferenceTable, library: ClipLibrary, view: int, character: Character
) -> Floats:
    """Mean of a clip's targets minus what is shown, in each control step, [rad].

    Shape (knots + 1, nv); the last stands twice.

    Args:
        table: The clip.
        library: What is shown.
        view: The clip's number there, or that of another view of it.
        character: The body.
    """
    model, count = character.model, int(library.steps[view])
    stiffness, damping = gains_of(character)
    aim = table.targets
    rows = slice(1, count + 1)
    shown = library.rows(np.full(count, view), np.arange(1, count + 1))
    moved = Tangent(model).difference(aim.qpos[rows].copy(), library.qpos[shown])
    moved += aim.torque[rows] / stiffness
    moved += damping / stiffness * (aim.qvel[rows] - library.qvel[shown])
    moved[:, :6] = 0.0
    steps = moved.reshape(-1, library.substeps, model.nv).mean(axis=1)
    return np.concatenate([steps, steps[-1:]])


def _gains(gait: ReferenceMotion, knots: int, nv: int) -> NDArray[np.float32]:
    """Feedback gains of a clip at its knots. Shape (knots + 1, nv - 6, 2 nv)."""
    assert gait.controller is not None
    gains, last = gait.controller.gains, len(gait.controller.gains) - 1
    around = np.arange(knots + 1)[:, None] + np.arange(-SMOOTHED, SMOOTHED + 1)
    out = np.zeros((knots + 1, nv - 6, 2 * nv), np.float32)
    out[:, gait.controller.dofs - 6] = gains[np.clip(around, 0, last)].mean(axis=1)
    return out
