"""References made for a character: from clips, from nothing, and as configured."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import balance_controller
from ambulo.envs.reference.captured import captured_cycle
from ambulo.envs.reference.inverse_dynamics import inverse_dynamics
from ambulo.envs.reference.prepare import PreparedCycle, physical_cycle
from ambulo.envs.reference.reference_file import (
    Gait,
    Reference,
    is_reference,
    load_reference,
    reference_bytes,
    reference_from_bytes,
    save_reference,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.stabilize import stabilized_gait
from ambulo.motion.gaits.plain_walk import plain_walk
from ambulo.motion.gaits.variants import at_speed, standing_cycle
from ambulo.motion.motion import Motion
from ambulo.motion.roles import roles_of

__all__ = [
    "Gait",
    "Reference",
    "build_reference",
    "gait_of",
    "is_reference",
    "load_reference",
    "matching_dofs",
    "matching_joints",
    "reference_bytes",
    "reference_from_bytes",
    "save_reference",
    "stabilized",
    "standing_reference",
]

log = logging.getLogger(__name__)


PHASES = 128
"""Samples of a cycle in a reference; enough for ten harmonics, linearly interpolated."""
GOOD_SHARE = 0.5
"""Share of the bodies that a balance controller should hold, or else a warning is given."""


def matching_joints(character: Character, patterns: Sequence[str]) -> tuple[str, ...]:
    """The character's joints, except the root, that match any of the shell `patterns`.

    Raises:
        ConfigError: A pattern that matches none.
    """
    names = character.skeleton.joints[1:]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(
                f"{character.name}: no joint matches {pattern!r}{nearest(pattern, names)}"
            )
    return tuple(n for n in names if any(fnmatchcase(n, p) for p in patterns))


def matching_dofs(character: Character, patterns: Sequence[str]) -> Ints:
    """Degrees of freedom of the joints that match `patterns`; see `matching_joints`."""
    return character.dofs(*matching_joints(character, patterns))


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
        refine: Lead a clip's own gait to a cycle that the simulation repeats (`hold`);
            needs the balance controller, and takes up to about a minute. Gaits for `speeds` and
            the suite's own walk are taken as they are.
        standing: Take a cycle that hardly moves in a clip that does.

    Raises:
        MotionError: A clip that is no reference for this body (a file's is a
            `MotionFileError`).
        ConfigError: A pattern that matches no joint.
    """
    captured = None
    if clip is None:
        raw, name = plain_walk(character.skeleton), "plain walk"
    else:
        captured = captured_cycle(
            clip, character.skeleton, frames=frames, standing=standing
        )
        raw, name = captured.cycle, captured.name
        log.info("%s", captured.text())
    soles = character.soles
    cycles = [at_speed(raw, soles, speed) for speed in speeds] or [raw]
    prepared = [
        physical_cycle(
            cycle, character.model, soles,
            name=name, warn=captured is not None, captured=captured,
        )
        for cycle in cycles
    ]  # fmt: skip
    if refine and balance and clip is not None and not speeds:
        gaits = [stabilized(prepared[0], character, joints, control_dt, name)]
    else:
        dt = control_dt if balance else None
        gaits = [gait_of(cycle, character, joints, dt) for cycle in prepared]
    if captured is not None:
        cut = {"first_frame": float(captured.first), "last_frame": float(captured.last)}
        gaits = [replace(gait, report=gait.report | cut) for gait in gaits]
    return Reference(
        name, character.name, control_dt, tuple(gaits), character.joint_names
    )


def standing_reference(
    character: Character,
    *,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
) -> Reference:
    """Standing still, as a gait that goes nowhere; arguments as `build_reference`."""
    if "left_thigh" not in roles_of(character.skeleton):
        raise ConfigError(f"{character.name} has no standing pose yet: task = imitate")
    soles = character.soles
    cycle = standing_cycle(character.skeleton, soles)
    dynamics = inverse_dynamics(cycle, character.model, soles)
    still = slice(0, 1)
    table = ReferenceTable(
        control_dt,
        np.zeros(3),
        dynamics.qpos[still],
        dynamics.qvel[still],
        dynamics.torques[still],
    )
    controller = None
    if balance:
        dofs = matching_dofs(character, joints)
        controller = balance_controller(character, table, dofs, control_dt=control_dt)
    return Reference(
        "standing", character.name, control_dt, (Gait(table, controller, {}),),
        character.joint_names,
    )  # fmt: skip


def gait_of(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float | None,
) -> Gait:
    """A prepared cycle as a gait, with a balance controller if `control_dt` is given, [s]."""
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
        dofs = matching_dofs(character, joints)
        controller = balance_controller(character, table, dofs, control_dt=control_dt)
    return Gait(table, controller, prepared.report.as_dict())


def stabilized(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float,
    name: str,
) -> Gait:
    """A prepared cycle refined until its balance controller holds it."""
    rough = gait_of(prepared, character, joints, None)
    dofs = matching_dofs(character, joints)
    stable = stabilized_gait(character, rough.table, dofs, control_dt=control_dt)
    before = rough.report["residual_force"]
    log.info(
        "%s: root residual %.0f N, %.1f N when refined; %.0f %% of the bodies hold it",
        name, before, stable.report["residual_force"], 100.0 * stable.report["held"],
    )  # fmt: skip
    if stable.report["held"] < GOOD_SHARE:
        log.warning(
            "%s: the balance controller holds only %.0f %% of the bodies; learning must do the "
            "rest",
            name, 100.0 * stable.report["held"],
        )  # fmt: skip
    report = rough.report | {"residual_force_before": before} | stable.report
    return Gait(stable.table, stable.controller, report)
