"""The standing pose of a body, and the reference that holds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import balance_controller, cycle_steps
from ambulo.envs.reference.clips.raw_clip import lowest_points
from ambulo.envs.reference.clips.survival import STANDING, best_feedback
from ambulo.envs.reference.gaits import STAND
from ambulo.envs.reference.inverse_dynamics import ground_reaction
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.reference.joint_positions import qpos_of
from ambulo.envs.reference.reference import Reference, ReferenceMotion
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.walk_gaits import LEAST, Options, stepping_gaits
from ambulo.motion.gaits.variants import standing_cycle
from ambulo.motion.roles import roles_of
from ambulo.muscle.coupling import joint_coupling

BENT_LEGS = {"hip_flexion": 0.05, "knee_angle": 0.15, "ankle_angle": 0.1}
"""Joint angles of the standing pose of legs alone, [rad]: knees a little bent, weight over the
feet."""


def standing_reference(
    character: Character,
    *,
    joints: Sequence[str] = LocomotionEnvironmentConfig().joints,
    control_dt: float = LocomotionEnvironmentConfig().control_dt,
    balance: bool = True,
) -> Reference:
    """Standing still, as a gait that goes nowhere; arguments as `build_reference`.

    Its torques are those of static inverse dynamics. Bodies of the user's own that pushes
    topple have steps beside it (`stepping_gaits`).
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
    dofs = matching_dofs(character, joints)
    controller, held = None, 1.0
    if balance and character.standing is None:
        controller = balance_controller(character, table, dofs, control_dt=control_dt)
    elif balance:  # the best of several
        steps = cycle_steps(character, table, dofs, control_dt=control_dt)
        controller, held = best_feedback(
            character, table, [steps], dofs, control_dt, STANDING
        )
    gaits = [ReferenceMotion(table, controller, {})]
    if held < STANDING.enough:
        gaits = _with_steps(gaits, held, (character, tuple(joints), control_dt))
    return Reference.of("standing", character, control_dt, gaits)


def _with_steps(
    gaits: list[ReferenceMotion], held: float, options: Options
) -> list[ReferenceMotion]:
    """`gaits`, or those of a body that steps, if these hold more than `held` of the bodies."""
    try:
        steps = stepping_gaits(options, slow=True)
    except ConfigError:  # no legs that steps can be solved for
        return gaits
    if any(gait.controller is None for gait in steps):  # it explodes beside one
        return gaits
    stands = max(g.report["held"] for g in steps if g.name == STAND)
    if stands < LEAST <= held:  # with its feet as steps have them it would fall
        return gaits
    on_spot = max(
        gait.report["held"]
        for gait in steps
        if gait.name != STAND and gait.table.speed == 0.0
    )
    return steps if on_spot > held else gaits


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
