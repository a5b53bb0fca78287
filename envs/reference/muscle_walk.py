"""From a captured walk to a myolegs that walks by its muscles, with nothing learned.

The cycle is fitted to the body, made to obey its equations of motion, and stabilised by a
balance controller; then the closed-loop cycle of motors, and after them of muscles, becomes
the reference.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.characters.myo import myolegs, sole_balls
from ambulo.envs.characters.myo_pose import PoseCycle, fitted_poses, symmetric
from ambulo.envs.reference.balance import BalanceController, balance_controller
from ambulo.envs.reference.captured import captured_cycle
from ambulo.envs.reference.closed_loop import RollOut, closed_loop_cycle, roll_out
from ambulo.envs.reference.reference import Gait, Reference
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.refine import RefinedCycle, refined
from ambulo.motion.gaits.soles import flat_soles, grounded, no_slip
from ambulo.motion.motion import Motion
from ambulo.muscle.coupling import joint_coupling

log = logging.getLogger(__name__)


CONTROL_DT = 1.0 / 30.0
"""Duration of a control step, [s]."""
JOINTS = (
    "hip_flexion", "hip_adduction", "hip_rotation", "knee_angle", "ankle_angle",
    "subtalar_angle",
)  # fmt: skip
"""Joints whose targets the balance controller moves, without their side."""


@dataclass(frozen=True)
class WalkRound:
    """The body, its balance controller, and how the reference follows its walk."""

    who: Literal["stiff motors", "motors", "muscles"]
    """Stiff motors hold the first reference, whose contacts are not yet those of the
    simulation."""
    lag: float
    """Factor on the time constants of the muscles."""
    effort: float
    """Cost of a moved target in the balance controller, [1/rad^2]."""
    along: float
    """Cost of being behind or ahead in it, [1/m^2]."""
    share: float
    """Of the step from the reference to what was walked. Whole steps overshoot: with
    motors they stay 1.5 deg off, 0.6 of them comes to 0.6 deg in three rounds."""


def _motors(share: float, count: int) -> tuple[WalkRound, ...]:
    return (
        WalkRound("stiff motors", 1.0, 100.0, 0.02, 1.0),
        *(WalkRound("motors", 1.0, 100.0, 0.02, share),) * count,
    )


def _muscles(share: float, *lags: float) -> tuple[WalkRound, ...]:
    return tuple(WalkRound("muscles", lag, 200.0, 0.05, share) for lag in lags)


TRIES: tuple[tuple[WalkRound, ...], ...] = (
    (
        *_motors(1.0, 1),
        WalkRound("muscles", 0.0, 100.0, 0.02, 1.0),
        *_muscles(1.0, 0.0, 1.0, 1.0, 1.0),
    ),
    (*_motors(0.6, 3), *_muscles(0.6, 0.4, 0.6, 0.8, 1.0, 1.0, 1.0, 1.0)),
    (*_motors(0.6, 2), *_muscles(0.4, 0.4, 0.7, 1.0, 1.0, 1.0, 1.0, 1.0)),
)
"""Rounds that are tried until one of them is good. They are a fixed-point iteration on an
unstable gait, and a small change decides which of them stand. With all of their lag
muscles fall on the first reference, so it comes late or grows."""
SURVIVORS = 4
"""Bodies on their feet from which on those that fall do not count for the next round."""
PROMISING = 0.8
"""Share on their feet in a round from which on its reference is tried for longer."""
TRIAL_BODIES, TRIAL_SECONDS = 32, 10.0
"""Size of that trial; what does best in it is the walk."""
GOOD = 0.95
"""Share on their feet in a trial with which no further round is made."""
STIFF = 2.5
"""How much stiffer the stiff motors' joints are."""


def pose_cycle(
    clip: str | Path | Motion, character: Character, frames: str | None = None
) -> PoseCycle:
    """The best cycle of a clip, symmetric, as positions of myolegs."""
    body = human23()
    raw = captured_cycle(clip, body.skeleton, frames=frames).cycle
    cycle, _ = flat_soles(raw, body.soles)
    cycle, _ = no_slip(cycle, body.soles)
    return fitted_poses(symmetric(grounded(cycle, body.soles)), character)


def physical_cycle(poses: PoseCycle, character: Character) -> RefinedCycle:
    """`poses` made to obey the equations of motion of `character`."""
    balls = sole_balls(character.model)
    return refined(character.model, balls, poses.qpos, poses.period, poses.stride)


def walking_controller(
    motors: Character, table: ReferenceTable, effort: float, along: float
) -> BalanceController:
    """The balance controller, linearised on the body with motors.

    Muscles that saturate have no useful derivative; where they do not, they make the torque
    of motors.
    """
    names = [joint + side for side in ("_r", "_l") for joint in JOINTS]
    return balance_controller(
        motors,
        table,
        motors.dofs(*names),
        control_dt=CONTROL_DT,
        effort=effort,
        along=along,
    )


def build_muscle_walk(
    clip: str | Path | Motion,
    *,
    muscles: bool = True,
    frames: str | None = None,
    bodies: int = 16,
    seconds: float = 5.0,
    seed: int = 0,
) -> Reference:
    """The reference of a walk for myolegs, with its balance controller; takes minutes.

    Args:
        clip: A captured walk.
        muscles: For the body with muscles; otherwise for the one with motors.
        frames: Part of the clip in which the cycle is, "A:B"; all if None.
        bodies: How many walk in each round.
        seconds: For how long.
        seed: Of their phases.

    Raises:
        MotionError: A clip without a cycle, or bodies that fall at once.
    """
    motors = myolegs(muscles=False)
    start = physical_cycle(pose_cycle(clip, motors, frames), motors)
    log.info(
        "root residual %.1f N, %.2f N m", start.residual_force, start.residual_moment
    )
    size = (bodies, seconds, seed)
    best: _Walk | None = None
    tries = TRIES if muscles else (_motors(0.6, 3),)
    for number, rounds in enumerate(tries):
        size = (bodies, seconds, seed + number)
        found = _walked(start.table, rounds, size, motors, target=rounds[-1].who)
        if found is not None and (best is None or found.score > best.score):
            best = found
        if best is not None and best.good:
            break
    if best is None:
        raise MotionError(
            "the bodies fall before a walk of theirs shows; the clip may be no level walk"
        )
    if best.survival < GOOD:
        log.warning(
            "only %.0f %% walk by the balance controller; a policy has to learn the rest",
            100 * best.survival,
        )
    report = {
        "period": best.table.period,
        "speed": best.table.speed,
        "residual_force": start.residual_force,
        "residual_moment": start.residual_moment,
        "moved_deg": float(np.rad2deg(start.moved)),
        "peak_torque": float(np.abs(best.table.torque).max()),
        "survival_rate": best.survival,
    }
    name = clip.name if isinstance(clip, Motion) else Path(clip).stem
    gait = Gait(best.table, best.controller, report)
    character = "myolegs" if muscles else motors.name
    return Reference(name, character, CONTROL_DT, (gait,), motors.joint_names)


@dataclass(frozen=True, eq=False)
class _Walk:
    """A reference with its controller, and how well bodies walk it."""

    table: ReferenceTable
    controller: BalanceController
    tried: bool
    """Whether it had a trial; otherwise the scores are of its round."""
    survival: float
    """Share on their feet to the end."""
    error: float
    """Mean deviation of the joints, [rad]."""

    @property
    def good(self) -> bool:
        """Whether no further round is needed."""
        return self.tried and self.survival >= GOOD

    @property
    def score(self) -> tuple[bool, float, float]:
        """More is better."""
        return (self.tried, self.survival, -self.error)


def _walked(
    table: ReferenceTable,
    rounds: tuple[WalkRound, ...],
    size: tuple[int, float, int],
    motors: Character,
    *,
    target: str,
) -> _Walk | None:
    """The best walk of the body `target` among `rounds`; None: all fell before it.

    Args:
        table: The reference that they begin with.
        rounds: Until one of them is good.
        size: Bodies of a round, its length, [s], and the seed of their phases.
        motors: The body with motors, on which controllers for muscles are linearised.
        target: Who is to walk, with all of its lag.
    """
    bodies, seconds, seed = size
    best: _Walk | None = None
    for each in rounds:
        body = _body(each)
        controlled = motors if each.who == "muscles" else body
        controller = walking_controller(controlled, table, each.effort, each.along)
        rolled = roll_out(
            body, table, controller, bodies, seconds, control_dt=CONTROL_DT, seed=seed
        )
        log.info(
            "%s, lag %.1f: %.0f %% walk %.0f s at %.2f m/s, joints %.1f deg off",
            each.who, each.lag, 100 * rolled.share(seconds), seconds, rolled.speed,
            np.rad2deg(rolled.joint_error),
        )  # fmt: skip
        if each.who == target and each.lag == 1.0:  # the body as it is
            found = _Walk(
                table, controller, False, rolled.share(seconds), rolled.joint_error
            )
            if found.survival >= PROMISING:
                found = _Walk(
                    table, controller, True, *_tried(body, table, controller, seed + 1)
                )
            best = found if best is None or found.score > best.score else best
            if best.good:
                break
        try:
            walked = closed_loop_cycle(body, table, _of_survivors(rolled))
        except MotionError:
            break  # the next try may do better
        table = between(motors, table, walked, each.share)
    return best


def _of_survivors(rolled: RollOut) -> RollOut:
    """`rolled` without the bodies that fall, if enough do not: they lean before it."""
    stays = rolled.standing[-1]
    if stays.sum() < SURVIVORS:
        return rolled
    return replace(rolled, standing=[standing & stays for standing in rolled.standing])


def _body(each: WalkRound) -> Character:
    if each.who == "muscles":
        return myolegs(lag=each.lag)
    return myolegs(muscles=False, stiffness=1.0 if each.who == "motors" else STIFF)


def _tried(
    body: Character, table: ReferenceTable, controller: BalanceController, seed: int
) -> tuple[float, float]:
    """Share that walks through the trial, and the mean deviation of its joints, [rad]."""
    rolled = roll_out(
        body,
        table,
        controller,
        TRIAL_BODIES,
        TRIAL_SECONDS,
        control_dt=CONTROL_DT,
        seed=seed,
    )
    log.info(
        "trial: %.0f %% walk %.0f s",
        100 * rolled.share(TRIAL_SECONDS), TRIAL_SECONDS,
    )  # fmt: skip
    return rolled.share(TRIAL_SECONDS), rolled.joint_error


def between(
    body: Character, first: ReferenceTable, second: ReferenceTable, share: float
) -> ReferenceTable:
    """The reference at `share` of the way from `first` to `second`, of the same phases."""

    def mixed(one: Floats, other: Floats) -> Floats:
        return np.asarray((1.0 - share) * one + share * other)

    coupling = joint_coupling(body.model)
    qpos = mixed(first.qpos, second.qpos)
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    qpos = coupling.closed(qpos)
    qvel = coupling.closed_velocity(qpos, mixed(first.qvel, second.qvel))
    return ReferenceTable(
        first.period,
        mixed(first.stride, second.stride),
        qpos,
        qvel,
        mixed(first.torque, second.torque),
    )
