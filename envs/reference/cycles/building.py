"""References out of cycles: of clips, and of generated gaits."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import balance_controller
from ambulo.envs.reference.clips.fit import fit
from ambulo.envs.reference.clips.survival import CYCLIC_SECONDS, Disturbance, survival
from ambulo.envs.reference.cycles.captured import source_cycle
from ambulo.envs.reference.cycles.prepare import PreparedCycle, physical_cycle
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.gaits.generated import generated_cycle
from ambulo.motion.gaits.variants import at_speed
from ambulo.motion.motion import Motion

log = logging.getLogger(__name__)

PHASES = 128
"""Samples of a cycle in a reference; enough for ten harmonics, linearly interpolated."""
APART = 0.02
"""Least difference in speed of two generated gaits that are blended, [m/s]."""
GOOD_SHARE = 0.5
"""Share of the bodies that a balance controller should hold, or else a warning is given."""


def build_reference(
    clip: str | Path | Motion | None,
    character: Character,
    *,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
    frames: str | None = None,
    speeds: Sequence[float] = (),
    refine: bool = True,
    standing: bool = False,
) -> Reference:
    """The reference that a clip makes for a character.

    Args:
        clip: A motion file of any kind that is read, a motion, or None for the suite's
            own plain walk.
        character: The body; its model's timestep is that of the physics.
        joints: Patterns of the joints that the balance controller may move.
        control_dt: Duration of a control step, [s].
        balance: Make the balance controller too; it takes seconds.
        frames: Part of the clip in which its cycle is found, "A:B": frames A up to but not
            B, from 0; all if None.
        speeds: Make one gait for each of these speeds, ascending, [m/s], out of the
            clip's cycle; the clip's own alone if empty.
        refine: Make a clip's own gait feasible (`stabilized`); needs the balance
            controller, and takes about a minute. Gaits for `speeds` and the suite's own walk
            are taken as they are.
        standing: Take a cycle that hardly moves in a clip that does.

    Raises:
        MotionError: A clip that is no reference for this body (a file's is a
            `MotionFileError`).
        ConfigError: A pattern that matches no joint.
    """
    raw, name, captured = source_cycle(
        clip, character.skeleton, frames=frames, standing=standing
    )
    soles = character.soles
    cycles = [at_speed(raw, soles, speed) for speed in speeds] or [raw]
    prepared = [
        physical_cycle(
            cycle, character.model, soles,
            name=name, warn=captured is not None, captured=captured,
        )
        for cycle in cycles
    ]  # fmt: skip
    if refine and balance and captured is not None and not speeds:
        gaits = [stabilized(prepared[0], character, joints, control_dt, name)]
    else:
        dt = control_dt if balance else None
        gaits = [gait_of(cycle, character, joints, dt) for cycle in prepared]
    if captured is not None:
        cut = {"first_frame": float(captured.first), "last_frame": float(captured.last)}
        gaits = [replace(gait, report=gait.report | cut) for gait in gaits]
    return Reference.of(name, character, control_dt, gaits)


def generated_reference(
    motions: Sequence[Motion],
    character: Character,
    *,
    frames: int,
    name: str,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
) -> Reference:
    """The reference that generated gaits make for a character, by ascending speed.

    One gait is what `Imitate` follows. Several, which begin at the same moment of the
    cycle, are the motion prior of `Locomote`: it blends those next to the commanded
    speed, and its imitation terms (`rewards.reference_weight`) reward what is like them.

    Args:
        motions: Of five cycles and a frame or more each.
        character: As of `build_reference`.
        frames: Of a cycle of the motions.
        name: What the reference is called.
        joints: As of `build_reference`.
        control_dt: As of `build_reference`.
        balance: As of `build_reference`.

    Raises:
        ConfigError: Two gaits of one speed, or none at all.
        MotionError: A gait that is no reference for this body.
    """
    prepared = [
        physical_cycle(
            generated_cycle(motion, frames, character.skeleton),
            character.model,
            character.soles,
            name=motion.name or name,
        )
        for motion in motions
    ]
    prepared.sort(key=lambda cycle: cycle.report.speed)
    speeds = [cycle.report.speed for cycle in prepared]
    steps = [after - before for before, after in pairwise(speeds)]
    if not speeds or min(steps, default=1.0) < APART:
        shown = ", ".join(f"{speed:.2f}" for speed in speeds) or "none"
        raise ConfigError(
            f"reference {name}: gaits must differ by {APART} m/s or more in speed, got {shown}"
        )
    dt = control_dt if balance else None
    gaits = [gait_of(cycle, character, joints, dt) for cycle in prepared]
    return Reference.of(name, character, control_dt, gaits)


def gait_of(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float | None,
    name: str = "",
) -> ReferenceMotion:
    """A prepared cycle as a gait, with a balance controller if `control_dt` is given, [s].

    That of a single posture is the one that holds it for good.
    """
    cycle, dynamics = prepared.cycle, prepared.dynamics
    every = max(1, len(cycle) // PHASES)
    table = ReferenceTable(
        cycle.period,
        cycle.stride,
        dynamics.qpos[::every].copy(),
        dynamics.qvel[::every].copy(),
        dynamics.torques[::every].copy(),
    )
    controller = None
    if control_dt is not None:
        held = table
        if not np.ptp(cycle.rotations, axis=0).any():
            rows = table.qpos[:1], table.qvel[:1], table.torque[:1]
            held = ReferenceTable(control_dt, np.zeros(3), *rows)
        dofs = matching_dofs(character, joints)
        controller = balance_controller(character, held, dofs, control_dt=control_dt)
    return ReferenceMotion(table, controller, prepared.report.as_dict(), name)


def stabilized(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float,
    name: str,
) -> ReferenceMotion:
    """A prepared cycle as the body really makes it (`fit`), with its balance controller.

    The report also says what share of bodies it holds undisturbed (`held`), and by how much
    a cycle of it missed its own beginning (`gap`, [m], [rad]).
    """
    rough = gait_of(prepared, character, joints, None)
    dofs = matching_dofs(character, joints)
    fitted = fit(character, rough.table, control_dt=control_dt, dofs=dofs)
    table = fitted.table
    held = survival(
        character, table, fitted.controller, Disturbance("none"), control_dt=control_dt
    )
    log.info(
        "%s: gap %.4f; %.0f %% of the bodies stand %.0f s",
        name, fitted.gap, 100.0 * held, CYCLIC_SECONDS,
    )  # fmt: skip
    if held < GOOD_SHARE:
        log.warning(
            "%s: the balance controller holds only %.0f %% of the bodies; learning must do the "
            "rest",
            name, 100.0 * held,
        )  # fmt: skip
    report = rough.report | {
        "period": table.period,
        "speed": table.speed,
        "gap": fitted.gap,
        "held": held,
        "peak_torque": float(np.abs(table.torque).max()),
    }
    return ReferenceMotion(table, fitted.controller, report)
