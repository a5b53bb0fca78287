"""From a captured walk to a myolegs that walks by its muscles, with nothing learned.

The cycle is fitted to the body, made to obey its equations of motion, and held by a balance
law; then the cycle that motors, and after them muscles, really walk becomes the reference.
"""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.characters.myo import myolegs, sole_balls
from ambulo.envs.characters.myo_pose import PoseCycle, fitted_poses, symmetric
from ambulo.envs.locomotion.balance import BalanceLaw, balance_law
from ambulo.envs.locomotion.realised import realised, roll_out
from ambulo.envs.locomotion.reference import Gait, Reference
from ambulo.envs.locomotion.reference_table import ReferenceTable
from ambulo.envs.locomotion.refine import Refined, refined
from ambulo.motion.files import read_motion
from ambulo.motion.motion import Motion
from ambulo.motion.reference.cycle import along_x, find_cycle, periodic
from ambulo.motion.reference.soles import flat_soles, grounded, no_slip
from ambulo.motion.retargeting.retarget import retarget

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]

CONTROL_DT = 1.0 / 30.0
"""Duration of a control step, [s]."""
JOINTS = (
    "hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle",
    "subtalar_angle",
)  # fmt: skip
"""Joints whose targets the balance law moves, without their side."""
ROUNDS: tuple[tuple[str, float, float], ...] = (
    ("stiff motors", 100.0, 0.02), ("motors", 100.0, 0.02),
    ("muscles without lag", 100.0, 0.02), ("muscles without lag", 200.0, 0.05),
    *(("muscles", 200.0, 0.05),) * 3,
)  # fmt: skip
"""Who walks, effort and along of the balance law, round by round. Stiff motors hold the
first reference, whose contacts are not yet those of the simulation."""
GOOD_ERROR = np.deg2rad(1.2)
"""Mean deviation of the joints under which no further round is made, [rad]."""
STIFF = 2.5
"""How much stiffer the stiff motors' joints are."""


def pose_cycle(clip: str | Path | Motion, character: Character) -> PoseCycle:
    """The best cycle of a clip, symmetric, as positions of myolegs."""
    motion = clip if isinstance(clip, Motion) else read_motion(clip)
    body = human23()
    turned = along_x(retarget(motion, body.skeleton).motion)
    cycle, _ = flat_soles(periodic(turned, find_cycle(turned)), body.soles)
    cycle, _ = no_slip(cycle, body.soles)
    return fitted_poses(symmetric(grounded(cycle, body.soles)), character)


def physical_cycle(poses: PoseCycle, character: Character) -> Refined:
    """`poses` made to obey the equations of motion of `character`."""
    balls = sole_balls(character.model)
    return refined(character.model, balls, poses.qpos, poses.period, poses.stride)


def walking_law(
    motors: Character, table: ReferenceTable, effort: float, along: float
) -> BalanceLaw:
    """The balance law, linearised on the body with motors.

    Muscles that saturate have no useful derivative; where they do not, they make the torque
    of motors.
    """
    names = [joint + side for side in ("_r", "_l") for joint in JOINTS]
    return balance_law(
        motors,
        table,
        motors.dofs(*names),
        control_dt=CONTROL_DT,
        effort=effort,
        along=along,
    )


def build_muscle_walk(
    clip: str | Path | Motion, *, bodies: int = 16, seconds: float = 5.0, seed: int = 0
) -> Reference:
    """The reference of a walk for myolegs, with its balance law; takes minutes.

    Args:
        clip: A captured walk.
        bodies: How many walk in each round.
        seconds: For how long.
        seed: Of their phases.

    Raises:
        MotionError: A clip without a cycle, or bodies that fall at once.
    """
    bodies_of = {
        "stiff motors": myolegs(muscles=False, stiffness=STIFF),
        "muscles without lag": myolegs(lag=False),
        "motors": myolegs(muscles=False),
        "muscles": myolegs(),
    }
    motors = bodies_of["motors"]
    start = physical_cycle(pose_cycle(clip, motors), motors)
    log.info(
        "root residual %.1f N, %.2f N m", start.residual_force, start.residual_moment
    )
    table = start.table
    best: tuple[tuple[float, float], ReferenceTable, BalanceLaw] | None = None
    for who, effort, along in ROUNDS:
        body = bodies_of[who]
        law = walking_law(body if "motors" in who else motors, table, effort, along)
        rolled = roll_out(
            body, table, law, bodies, seconds, control_dt=CONTROL_DT, seed=seed
        )
        log.info(
            "%s: %.0f %% walk %.0f s at %.2f m/s, joints %.1f deg off",
            who, 100 * rolled.share(seconds), seconds, rolled.speed,
            np.rad2deg(rolled.joint_error),
        )  # fmt: skip
        if who == "muscles":
            merit = (rolled.share(seconds), -rolled.joint_error)
            best = max(best or (merit, table, law), (merit, table, law), key=_merit)
            if merit >= (1.0, -GOOD_ERROR):
                break
        table = realised(body, table, rolled)
    if best is None:
        raise MotionError("the rounds have no muscles in them")
    _, table, law = best
    report = {
        "period": table.period,
        "speed": table.speed,
        "residual_force": start.residual_force,
        "residual_moment": start.residual_moment,
        "moved_deg": float(np.rad2deg(start.moved)),
        "peak_torque": float(np.abs(table.torque).max()),
    }
    name = clip.name if isinstance(clip, Motion) else Path(clip).stem
    return Reference(name, "myolegs", CONTROL_DT, (Gait(table, law, report),))


def _merit(
    candidate: tuple[tuple[float, float], ReferenceTable, BalanceLaw],
) -> tuple[float, float]:
    return candidate[0]
