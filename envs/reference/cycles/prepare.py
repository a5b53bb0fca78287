"""From a captured clip to a reference that a simulated body can follow, with a report."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.cycles.captured import CapturedCycle
from ambulo.envs.reference.inverse_dynamics import InverseDynamics, inverse_dynamics
from ambulo.motion.gaits.cycle import Cycle
from ambulo.motion.gaits.planting import planted_cycle
from ambulo.motion.gaits.soles import (
    Soles,
    flat_soles,
    grounded,
    no_slip,
    sole_places,
    sole_velocities,
    stance,
)

log = logging.getLogger(__name__)

WARN_SLIP, REFUSE_SLIP = 0.10, 0.40
"""Mean speed of standing feet, [m/s], from which a clip is warned of, or refused."""
WARN_RESIDUAL, REFUSE_RESIDUAL = 0.10, 0.40
"""Root force that the ground cannot give (root mean square over body weight)."""


@dataclass(frozen=True)
class ReferenceReport:
    """How physical a prepared cycle is."""

    period: float
    """Duration of the cycle, [s]."""
    speed: float
    """Forward speed, [m/s]."""
    clip_speed: float
    """Forward speed before the slip was taken off, [m/s]."""
    slip: float
    """Mean horizontal speed of standing soles, [m/s]."""
    lowest: float
    """Least height of a sole point, [m]; below 0 it presses into the ground."""
    highest: float
    """Largest height of the lowest sole point over the cycle, [m]; large in flight."""
    residual_force: float
    """Root mean square of the root force that no ground force explains, [N]."""
    residual_moment: float
    """Root mean square of the root moment that no ground force explains, [N m]."""
    ground_force: float
    """Mean vertical ground force over body weight; 1 for a steady gait."""
    peak_torque: float
    """Largest joint torque, [N m]."""
    weight: float
    """Body weight, [N]."""

    def warnings(self) -> list[str]:
        """Reasons why this clip is a doubtful reference, one line each."""
        lines = []
        if self.slip > WARN_SLIP:
            lines.append(
                f"standing feet slide at {self.slip:.2f} m/s (good clips: under "
                f"{WARN_SLIP} m/s)"
            )
        if self.residual_force > WARN_RESIDUAL * self.weight:
            share = self.residual_force / self.weight
            lines.append(
                f"the movement needs {share:.0%} of the body's weight as a force that no "
                f"contact with the ground gives (good clips: under {WARN_RESIDUAL:.0%}); the "
                "body may stumble"
            )
        return lines

    def as_dict(self) -> dict[str, float]:
        """The numbers by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class PreparedCycle:
    """A physical cycle, what moves it, and how physical it is."""

    cycle: Cycle
    """The movement."""
    dynamics: InverseDynamics
    """Joint state, torques and ground forces."""
    report: ReferenceReport
    """How physical it is."""


def physical_cycle(
    raw: Cycle,
    model: mujoco.MjModel,
    soles: Soles,
    *,
    name: str = "cycle",
    warn: bool = True,
    captured: CapturedCycle | None = None,
) -> PreparedCycle:
    """A cycle made physical for the body `model`; errors and warnings begin with `name`.

    Args:
        raw: The movement.
        model: The body.
        soles: Its soles.
        name: What messages call it.
        warn: Log what makes it a doubtful reference.
        captured: Where it is from: feet that then slide more than the clip's, or that would
            be refused, are planted.

    Raises:
        MotionError: Feet that slide, or a root that flies.
    """
    flat, _ = flat_soles(raw, soles)
    cycle = _on_ground(flat, soles)
    if captured is not None and _slip(cycle, soles) > _allowed_slip(captured, raw):
        cycle = _on_ground(planted_cycle(cycle, soles), soles)
    dynamics = inverse_dynamics(cycle, model, soles)
    report = report_of(raw, cycle, dynamics, model, soles)
    force = report.residual_force / report.weight
    if report.slip > REFUSE_SLIP or force > REFUSE_RESIDUAL:
        where = "" if captured is None else _in_file(captured, dynamics)
        raise MotionError(
            f"{name}: {'; '.join(report.warnings())}{where}: no reference for a simulated body"
        )
    for line in report.warnings() if warn else ():
        log.warning("%s: %s", name, line)
    return PreparedCycle(cycle, dynamics, report)


def made_cycle(cycle: Cycle, character: Character) -> PreparedCycle:
    """A cycle that was made for a body, as it is, with what moves it."""
    model, soles = character.model, character.soles
    dynamics = inverse_dynamics(cycle, model, soles)
    report = report_of(cycle, cycle, dynamics, model, soles)
    return PreparedCycle(cycle, dynamics, report)


def _allowed_slip(captured: CapturedCycle, raw: Cycle) -> float:
    """Slip of a gait out of a clip that needs no planting, [m/s].

    The clip's own; of a faster gait that is made of it more in proportion.
    """
    faster = raw.speed / max(captured.cycle.speed, 1e-9)
    return min(captured.slide * max(1.0, faster), REFUSE_SLIP)


def _on_ground(cycle: Cycle, soles: Soles) -> Cycle:
    """A cycle with the stride that its feet make, on the ground."""
    return grounded(no_slip(cycle, soles)[0], soles)


def _in_file(captured: CapturedCycle, dynamics: InverseDynamics) -> str:
    """Description of the file where a cycle is no reference, in words."""
    force = np.linalg.norm(dynamics.residual[:, :3], axis=1)
    part = (captured.last - captured.first) * int(force.argmax()) / len(force)
    text = (
        f". In the file (frames {captured.first}:{captured.last}) the force is largest at "
        f"frame {captured.first + round(part)}"
    )
    if captured.feet:
        foot = max(captured.feet, key=lambda one: one.slide)
        text += (
            f"; where feet are slowest they slide at {captured.slide:.2f} m/s, the "
            f"{foot.side} one at {foot.slide:.2f} m/s in frames {foot.first} to {foot.last}"
        )
    return text


def report_of(
    raw: Cycle,
    cycle: Cycle,
    dynamics: InverseDynamics,
    model: mujoco.MjModel,
    soles: Soles,
) -> ReferenceReport:
    """How physical `cycle`, made of `raw`, is."""
    lowest = sole_places(cycle, soles)[..., 2].min(axis=1)
    weight = float(model.body_mass.sum() * np.linalg.norm(model.opt.gravity))
    force, moment = dynamics.residual[:, :3], dynamics.residual[:, 3:]
    return ReferenceReport(
        period=cycle.period,
        speed=cycle.speed,
        clip_speed=raw.speed,
        slip=_slip(cycle, soles),
        lowest=float(lowest.min()),
        highest=float(lowest.max()),
        residual_force=_rms(force),
        residual_moment=_rms(moment),
        ground_force=float(dynamics.forces[..., 2].sum(axis=1).mean()) / weight,
        peak_torque=float(np.abs(dynamics.torques).max()),
        weight=weight,
    )


def _slip(cycle: Cycle, soles: Soles) -> float:
    """Mean horizontal speed of each foot's soles while it stands, [m/s]."""
    speeds = np.linalg.norm(sole_velocities(cycle, soles)[..., :2], axis=-1)
    standing, sides = stance(cycle, soles), np.array(soles.sides)
    means = [speeds[standing[:, f]][:, sides == f].mean() for f in range(2)]
    return float(np.mean(means))


def _rms(vectors: Floats) -> float:
    return float(np.sqrt(np.square(vectors).sum(axis=1).mean()))
