"""References made for a character: from clips, from nothing, and as configured."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import (
    BalanceController,
    balance_controller,
    cycle_steps,
)
from ambulo.envs.reference.captured import source_cycle
from ambulo.envs.reference.clips.fit import fit
from ambulo.envs.reference.clips.raw_clip import lowest_points
from ambulo.envs.reference.clips.survival import (
    CYCLIC_SECONDS,
    STANDING,
    Disturbance,
    best_feedback,
    survival,
)
from ambulo.envs.reference.inverse_dynamics import ground_reaction
from ambulo.envs.reference.joint_positions import qpos_of
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
from ambulo.motion.gaits.generated import generated_cycle
from ambulo.motion.gaits.variants import at_speed, standing_cycle
from ambulo.motion.motion import Motion
from ambulo.motion.roles import ROLES, map_of, roles_of
from ambulo.muscle.coupling import joint_coupling

__all__ = [
    "Gait",
    "Reference",
    "build_reference",
    "gait_of",
    "generated_reference",
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
BENT_LEGS = {"hip_flexion": 0.05, "knee_angle": 0.15, "ankle_angle": 0.1}
"""Joint angles of the standing pose of legs alone, [rad]: knees a little bent, weight over the
feet."""
APART = 0.02
"""Least difference in speed of two generated gaits that are blended, [m/s]."""
GOOD_SHARE = 0.5
"""Share of the bodies that a balance controller should hold, or else a warning is given."""


def matching_joints(character: Character, patterns: Sequence[str]) -> tuple[str, ...]:
    """The character's joints, except the root, that match any of the shell `patterns`.

    A joint matches by its name or by the role whose part it turns.

    Raises:
        ConfigError: A pattern that matches none; of a role that a body may lack, none may.
    """
    skeleton = character.skeleton
    names = skeleton.joints[1:]
    turns: dict[str, set[str]] = {name: {name} for name in names}
    for role, chain in map_of(skeleton).chains.items():
        for joint in chain:
            turns.get(skeleton.joints[joint], set()).add(role)
    for pattern in patterns:
        known = any(fnmatchcase(role, pattern) for role in ROLES)
        if not known and not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(
                f"{character.name}: no joint matches {pattern!r}{nearest(pattern, names)}"
            )
    return tuple(
        name
        for name in names
        if any(fnmatchcase(own, p) for own in turns[name] for p in patterns)
    )


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


def standing_reference(
    character: Character,
    *,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
) -> Reference:
    """Standing still, as a gait that goes nowhere; arguments as `build_reference`.

    Its torques are those of static inverse dynamics.
    """
    model, soles = character.model, character.soles
    qpos, still = standing_positions(character)[None], np.zeros((1, int(model.nv)))
    bodies = [
        int(model.jnt_bodyid[model.joint(character.skeleton.joints[j]).id])
        for j in soles.joints
    ]
    left, _ = ground_reaction(model, soles, bodies, (qpos, still, still))
    coupling = joint_coupling(model)
    torque = coupling.expanded(coupling.reduced(left, coupling.factors(qpos)))
    torque[:, :6] = 0.0
    table = ReferenceTable(control_dt, np.zeros(3), qpos, still, torque)
    controller = None
    if balance:
        dofs = matching_dofs(character, joints)
        controller = _standing_controller(character, table, dofs, control_dt)
    gaits = [Gait(table, controller, {})]
    return Reference.of("standing", character, control_dt, gaits)


def _standing_controller(
    character: Character, table: ReferenceTable, dofs: Ints, control_dt: float
) -> BalanceController:
    """Balance controller of a standing body; for a user's own body the best of several."""
    if character.standing is None:
        return balance_controller(character, table, dofs, control_dt=control_dt)
    steps = cycle_steps(character, table, dofs, control_dt=control_dt)
    return best_feedback(character, table, [steps], dofs, control_dt, STANDING)[0]


def standing_positions(character: Character) -> Floats:
    """MuJoCo's positions of the standing pose, (nq,).

    Raises:
        ConfigError: A body without a standing pose.
    """
    model = character.model
    if character.standing is not None:
        return character.standing
    if "left_thigh" in roles_of(character.skeleton):
        cycle = standing_cycle(character.skeleton, character.soles)
        return np.asarray(qpos_of(cycle, model)[0])
    qpos = np.array(model.qpos0)
    names = {model.joint(joint).name for joint in range(model.njnt)}
    for joint, angle in BENT_LEGS.items():
        for side in "rl":
            if f"{joint}_{side}" not in names:
                raise ConfigError(
                    f"{character.name} has no standing pose yet: task = imitate"
                )
            qpos[model.joint(f"{joint}_{side}").qposadr[0]] = angle
    qpos = joint_coupling(model).closed(qpos)
    qpos[2] -= lowest_points(qpos[None], character)[0]
    return np.asarray(qpos)


def gait_of(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float | None,
    name: str = "",
) -> Gait:
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
    return Gait(table, controller, prepared.report.as_dict(), name)


def stabilized(
    prepared: PreparedCycle,
    character: Character,
    joints: Sequence[str],
    control_dt: float,
    name: str,
) -> Gait:
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
    return Gait(table, fitted.controller, report)
