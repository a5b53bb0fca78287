"""A gait that its balance controller stabilises: refined, then led to a periodic orbit.

A gait on which half of the bodies stay up is replaced by its closed-loop cycle
(`closed_loop_cycle`); one on which more fall, as a run, is brought nearer to an orbit of the
simulation (`orbit`).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Ints
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import EFFORT, BalanceController, regulator
from ambulo.envs.reference.closed_loop import RollOut, closed_loop_cycle, roll_out
from ambulo.envs.reference.orbit import OrbitSearch
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.reference.refine import Ball, refined

log = logging.getLogger(__name__)


ROUNDS = 6
"""Most rounds; each costs as much as a balance controller."""
EFFORTS = (EFFORT, 0.3 * EFFORT)
"""Costs of a moved target that are tried: a stiffer controller holds faster gaits."""
BODIES, SECONDS = 16, 6.0
"""How many bodies try a controller, and for how long, [s]."""
FOLLOWED = 0.5
"""Share of bodies that have to stand for what they do to become the reference."""
GOOD_ERROR = np.deg2rad(1.0)
"""Mean deviation of the joints under which a gait that all bodies hold is good, [rad]."""


@dataclass(frozen=True, eq=False)
class StabilizedGait:
    """A cycle with the controller that holds it, and what it took."""

    table: ReferenceTable
    """States and torques."""
    controller: BalanceController
    """Its balance controller."""
    report: dict[str, float]
    """Numbers of the refinement; see `stabilized_gait`."""


def stabilized_gait(
    character: Character, rough: ReferenceTable, dofs: Ints, *, control_dt: float
) -> StabilizedGait:
    """The version of a cycle that most of `BODIES` bodies hold for `SECONDS`.

    The period becomes a multiple of `control_dt` (at the same stride). The report has
    `residual_force`, [N], and `residual_moment`, [N m], after the refinement, how far it moved
    the joints (`moved_deg`), the energy of the gaps between control steps
    (`gap`, [J]), the fraction of bodies that stayed up (`held`), and `peak_torque`, [N m].

    Args:
        character: The body, with motors.
        rough: One cycle at N phases, a multiple of 64.
        dofs: Degrees of freedom whose targets the controller may move.
        control_dt: Duration of a control step, [s].

    Raises:
        MotionError: The simulation explodes beside the cycle.
    """
    model = character.model
    steps = max(1, round(rough.period / control_dt))
    samples = steps * round(control_dt / model.opt.timestep)
    physical = refined(
        model,
        sole_balls(character),
        rough.qpos,
        steps * control_dt,
        rough.stride,
        samples=samples,
    )
    search = OrbitSearch(character, physical.table, control_dt)
    columns = np.searchsorted(search.free[6:], dofs)
    best: _Candidate | None = None
    for _ in range(ROUNDS):
        linear = search.linearized()
        tries: list[_Candidate] = []
        for effort in EFFORTS:
            controller = regulator(character, linear.only(columns), dofs, effort=effort)
            tries.append(_tried(character, search, controller, control_dt))
            if tries[-1].good:
                break
        now = max(tries, key=lambda candidate: candidate.merit)
        if best is None or now.merit > best.merit:
            best = now
        if now.good:
            break
        settled = _settled(character, now)
        if settled is not None:
            search = OrbitSearch(character, settled, control_dt)
        elif not search.advance(linear):
            break
    assert best is not None
    table = best.table
    report = {
        "period": table.period,
        "speed": table.speed,
        "residual_force": physical.residual_force,
        "residual_moment": physical.residual_moment,
        "moved_deg": float(np.rad2deg(physical.moved)),
        "gap": best.gap,
        "held": best.merit[0],
        "peak_torque": float(np.abs(table.torque).max()),
    }
    return StabilizedGait(table, best.controller, report)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A table and a controller that were tried."""

    table: ReferenceTable
    controller: BalanceController
    gap: float
    rolled: RollOut

    @property
    def merit(self) -> tuple[float, float]:
        """The share of bodies that stand to the end, and minus their joints' error, [rad]."""
        error = self.rolled.joint_error
        share = self.rolled.share(SECONDS)
        return share, -error if np.isfinite(error) else -np.inf

    @property
    def good(self) -> bool:
        """Nothing more is to be won."""
        return self.merit >= (1.0, -GOOD_ERROR)


def _tried(
    character: Character,
    search: OrbitSearch,
    controller: BalanceController,
    control_dt: float,
) -> _Candidate:
    """How `BODIES` bodies do under `controller` along the search's table."""
    rolled = roll_out(
        character, search.table, controller, BODIES, SECONDS, control_dt=control_dt
    )
    log.info(
        "gap %.2f J: %.0f %% of %d bodies stand %.0f s, joints %.1f deg off",
        search.gap, 100.0 * rolled.share(SECONDS), BODIES, SECONDS,
        np.rad2deg(rolled.joint_error),
    )  # fmt: skip
    return _Candidate(search.table, controller, search.gap, rolled)


def _settled(character: Character, candidate: _Candidate) -> ReferenceTable | None:
    """What bodies settled to; None where most fall."""
    if candidate.merit[0] < FOLLOWED:
        return None
    try:
        return closed_loop_cycle(character, candidate.table, candidate.rolled)
    except MotionError:
        return None


def sole_balls(character: Character) -> list[Ball]:
    """The balls of a character's soles, on the model's bodies."""
    model, soles = character.model, character.soles
    joints = [model.joint(character.skeleton.joints[j]).id for j in soles.joints]
    return [
        (int(model.jnt_bodyid[joint]), offset, soles.radius)
        for joint, offset in zip(joints, soles.offsets, strict=True)
    ]
