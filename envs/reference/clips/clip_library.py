"""Many clips of one body in arrays that a batch looks up by clip and physics step.

Rows are physics steps, those of all clips one after another; knots are control steps, at
every `substeps`-th row. "Heading frame" is the frame below a clip's root that faces where
the root faces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.joint_positions import body_places
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.frames import heading_frames, into_frames
from ambulo.envs.state_arrays import NamedState

SLOPE_TIME = 0.06
"""Time on each side of a state over which velocities are derived, [s]: feet strike in less."""
UNROLLED = 6.0
"""Duration of a cycle as a clip, [s]."""
MEMORY = 0.05
"""Weight of an episode in the failure rate of its clip."""
LEAST = 0.02
"""Failure rate that a clip never falls below, so that none is forgotten."""


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


class ClipSampler(NamedState):
    """Draws clips; those that fail more often are drawn more often."""

    saved = ("failures",)

    def __init__(self, groups: Sequence[tuple[Ints, float]], hard_share: float) -> None:
        """Draw among the clips of `groups`.

        Args:
            groups: Clips, numbered from 0 over all groups, with the fraction of episodes that
                follows one of them.
            hard_share: Fraction of episodes whose clip is drawn by failure rate.
        """
        self._groups = [(clips, share) for clips, share in groups if len(clips)]
        self._hard = hard_share
        count = sum(len(clips) for clips, _ in groups)
        self.failures: Floats = np.full(count, 0.5)
        """Running failure rate of each clip. Shape (C,)."""

    def draw(self, uniform: Floats) -> int:
        """Return a clip for three random numbers in [0, 1)."""
        shares = np.cumsum([share for _, share in self._groups])
        group = int(np.searchsorted(shares, uniform[0] * shares[-1], side="right"))
        clips = self._groups[min(group, len(self._groups) - 1)][0]
        weights = np.full(len(clips), 1.0 / len(clips))
        if uniform[1] < self._hard:
            rates = np.maximum(self.failures[clips], LEAST)
            weights = rates / rates.sum()
        index = int(np.searchsorted(np.cumsum(weights), uniform[2], side="right"))
        return int(clips[min(index, len(clips) - 1)])

    def note(self, clips: Ints, failed: Bools) -> None:
        """Take in finished episodes of `clips` (k,), and whether they `failed`."""
        for clip, value in zip(clips, failed, strict=True):
            self.failures[clip] += MEMORY * (float(value) - self.failures[clip])


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
    clips = [
        (
            table.qpos[:n],
            table.qvel[:n],
            table.torque[:n],
            _acceleration(table.qvel[:n], dt),
        )
        for table, n in zip(tables.values(), np.array(counts) + 1, strict=True)
    ]
    return joined_clips(tuple(tables), clips, character, substeps)


def joined_clips(
    names: tuple[str, ...],
    clips: Sequence[tuple[Floats, Floats, Floats, Floats]],
    character: Character,
    substeps: int,
) -> ClipLibrary:
    """A library of clips, one row for each physics step of whole control steps.

    Args:
        names: Of the clips.
        clips: Positions (n, nq), velocities, torques and accelerations (n, nv) of each.
        character: The body.
        substeps: Physics steps of a control step.
    """
    rows = [len(clip[0]) for clip in clips]
    first = np.cumsum([0, *rows[:-1]])
    qpos, qvel, torque, acceleration = map(np.concatenate, zip(*clips, strict=True))
    frames = heading_frames(qpos)
    knots = np.concatenate(
        [np.arange(a, a + n, substeps) for a, n in zip(first, rows, strict=True)]
    )
    joints, com = body_places(qpos[knots], character.model)
    return ClipLibrary(
        names, first, np.array(rows) - 1, substeps, qpos, qvel, torque, acceleration,
        frames, into_frames(joints, frames[knots]),
        into_frames(com[:, None], frames[knots])[:, 0],
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
) -> dict[str, ReferenceMotion]:
    """The clips of a reference by name; its cycles, if it has some, repeated (`unrolled`).

    A name that occurs again gets a number.
    """
    found: dict[str, ReferenceMotion] = {}
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


def unrolled(
    gait: ReferenceMotion,
    model: mujoco.MjModel,
    substeps: int,
    seconds: float = UNROLLED,
) -> ReferenceMotion:
    """`gait`, a cycle, as a clip of `seconds` with a state for each physics step of `model`.

    Args:
        gait: A cycle of whatever period.
        model: The body; its time step is that of the physics.
        substeps: Physics steps of a control step, each of which has feedback gains.
        seconds: Duration of the clip, [s].
    """
    cycle, dt = gait.table, float(model.opt.timestep)
    control_dt = dt * substeps
    knots: Floats = np.arange(round(seconds / control_dt)) * np.float64(control_dt)
    times: Floats = np.arange(len(knots) * substeps + 1) * np.float64(dt)
    aim = None if cycle.aim is None else cycle.aim.as_clip(times, model)
    table = replace(cycle.as_clip(times, model), aim=aim)
    controller = gait.controller
    if controller is not None:
        rows = np.rint(cycle.phase(knots) * len(controller.gains)).astype(np.int64)
        gains = controller.gains[rows % len(controller.gains)]
        controller = BalanceController(gains, controller.dofs, periodic=False)
    return replace(gait, table=table, controller=controller)
