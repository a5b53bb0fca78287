"""Many clips of one body in arrays that a batch looks up by clip and physics step.

Rows are physics steps, those of all clips one after another; knots are control steps, at
every `substeps`-th row. "Heading frame" is the frame below a clip's root that faces where
the root faces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.reference_file import Gait, Reference
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.unrolled import unrolled
from ambulo.envs.simulation.frames import heading_frames, into_frames

SLOPE_TIME = 0.06
"""Time on each side of a state over which velocities are derived, [s]: feet strike in less."""


@dataclass(frozen=True, eq=False)
class ClipLibrary:
    """C clips with R rows and Q knots in all."""

    names: tuple[str, ...]
    """Of the clips."""
    first: Ints
    """First row of each clip. Shape (C,)."""
    steps: Ints
    """Physics steps of each clip, a multiple of `substeps`. Shape (C,)."""
    substeps: int
    """Physics steps of a control step."""
    qpos: Floats
    """Positions in the clip's own world. Shape (R, nq)."""
    qvel: Floats
    """Velocities. Shape (R, nv)."""
    torque: Floats
    """Generalised forces that act, or would have to. Shape (R, nv)."""
    acceleration: Floats
    """Smooth accelerations. Shape (R, nv)."""
    frames: Floats
    """Heading frames: x, y, [m], yaw, [rad], height of the ground, [m]. Shape (R, 4)."""
    joints: Floats
    """Places of the moving bodies in the heading frame, [m]. Shape (Q, B, 3)."""
    com: Floats
    """Centre of mass in the heading frame, [m]. Shape (Q, 3)."""

    @property
    def knots(self) -> Ints:
        """Control steps of each clip. Shape (C,)."""
        return self.steps // self.substeps

    def rows(self, clip: Ints, step: Ints) -> Ints:
        """Rows of physics steps `step` of `clip`; a clip stays at its end. Same shape."""
        return np.asarray(self.first[clip] + np.clip(step, 0, self.steps[clip]))

    def knot_rows(self, clip: Ints, step: Ints) -> Ints:
        """Rows of the knot arrays for physics steps `step` of `clip`. Same shape."""
        # Each clip has one row more than steps, and one knot more than control steps.
        begin = (self.first[clip] - clip) // self.substeps + clip
        within = np.clip(step, 0, self.steps[clip]) // self.substeps
        return np.asarray(begin + within)


def clip_library(
    tables: Mapping[str, ReferenceTable], character: Character, substeps: int
) -> ClipLibrary:
    """The states of several clips by name.

    Args:
        tables: Not periodic, one state for each physics step of the character.
        character: The body.
        substeps: Physics steps of a control step.

    Raises:
        ConfigError: A clip shorter than a control step, or at another rate.
    """
    dt = float(character.model.opt.timestep)
    counts = []
    for name, table in tables.items():
        rate = table.period / (len(table.qpos) - 1)
        if abs(rate - dt) > 1e-6:
            raise ConfigError(
                f"clip {name}: has {1.0 / rate:.4g} states a second; physics makes "
                f"{1.0 / dt:.4g} (control_rate times substeps): fit it anew"
            )
        counts.append((len(table.qpos) - 1) // substeps * substeps)
        if not counts[-1]:
            raise ConfigError(f"clip {name}: shorter than a control step")
    rows = np.array(counts) + 1
    whole = list(zip(tables.values(), rows, strict=True))
    qpos = np.concatenate([table.qpos[:n] for table, n in whole])
    qvel = np.concatenate([table.qvel[:n] for table, n in whole])
    torque = np.concatenate([table.torque[:n] for table, n in whole])
    acceleration = np.concatenate(
        [_acceleration(table.qvel[:n], dt) for table, n in whole]
    )
    first = np.cumsum([0, *rows[:-1]])
    frames = heading_frames(qpos)
    at_knots = np.concatenate(
        [np.arange(a, a + n, substeps) for a, n in zip(first, rows, strict=True)]
    )
    joints, com = _places(qpos[at_knots], frames[at_knots], character)
    return ClipLibrary(
        tuple(tables), first, np.array(counts), substeps, qpos, qvel, torque,
        acceleration, frames, joints, com,
    )  # fmt: skip


def _acceleration(qvel: Floats, dt: float) -> Floats:
    """Slopes of velocities (n, nv) over `SLOPE_TIME` on each side. Shape (n, nv)."""
    reach = min(round(SLOPE_TIME / dt), len(qvel) - 1)
    around = np.arange(-reach, reach + 1)
    padded = np.pad(qvel, ((reach, reach), (0, 0)), "reflect", reflect_type="odd")
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(around), axis=0)
    return np.asarray(windows @ (around / (np.square(around).sum() * dt)))


def named_clips(
    reference: Reference, character: Character, substeps: int
) -> dict[str, Gait]:
    """The clips of a reference by name; its cycles, if it has some, repeated (`unrolled`).

    A name that occurs again gets a number.
    """
    found: dict[str, Gait] = {}
    for given in reference.gaits:
        gait = given
        if gait.table.periodic:
            gait = unrolled(gait, character.model, substeps)
        name = stem = gait.name or reference.name
        number = 1
        while name in found:
            number += 1
            name = f"{stem} ({number})"
        found[name] = gait
    return found


def _places(
    qpos: Floats, frames: Floats, character: Character
) -> tuple[Floats, Floats]:
    """Places of bodies (Q, B, 3) and centre of mass (Q, 3) in heading frames."""
    model = character.model
    data = mujoco.MjData(model)
    root = int(model.jnt_bodyid[0])
    places = np.empty((len(qpos), model.nbody - 1, 3))
    com = np.empty((len(qpos), 1, 3))
    for k, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        places[k], com[k, 0] = data.xpos[1:], data.subtree_com[root]
    return into_frames(places, frames), into_frames(com, frames)[:, 0]
