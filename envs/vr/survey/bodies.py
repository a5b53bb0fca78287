"""Bodies that levels are judged for, and what of a level each cannot reach."""

from __future__ import annotations

from dataclasses import dataclass

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.body.fitting import BodySize
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.layers import CLEARANCE


@dataclass(frozen=True)
class Body:
    """How much room a body needs, and what it climbs."""

    name: str
    """For people."""
    height: float
    """[m]; flat levels have no use for it."""
    clearance: float = CLEARANCE
    """Distance of its axis from obstacles and edges, [m]."""
    level_only: bool = False
    """Whether it keeps to the floor that it starts on: no ramps, steps or lifts."""

    @classmethod
    def of(cls, name: str, eye_height: float) -> Body:
        """The capsule of a player whose eyes are at `eye_height`, [m]."""
        return cls(name, WorldSpec(eye_height=eye_height).body_height)

    @property
    def title(self) -> str:
        """Name and height."""
        return f"{self.name} ({self.height:.2f} m)"

    @property
    def note(self) -> str:
        """Limits of its motion, in one line; empty without any."""
        if not self.level_only:
            return ""
        return (
            f"{self.name}: no ramps, steps, lifts or beams below {self.height:.2f} m; ways of "
            f"{2 * self.clearance:.2f} m; simulated on ground floors only"
        )


STANDING, SEATED, CHILD = (
    Body.of("standing", 1.6), Body.of("seated", 1.2), Body.of("child", 1.1)
)  # fmt: skip
LEGS = Body("with legs", BodySize.height, 0.5 * BodySize.width, level_only=True)
"""A simulated character: `human23` and its twins."""


def judged_bodies(eye_height: float) -> tuple[Body, ...]:
    """Return the bodies that a level must fit, agents of `eye_height` [m] first."""
    kinds = (STANDING, SEATED, CHILD, LEGS)
    own = Body.of("agents", eye_height)
    own = next(
        (b for b in kinds if not b.level_only and abs(b.height - own.height) < 1e-6),
        own,
    )
    return (own, *(body for body in kinds if body is not own))


@dataclass(frozen=True, eq=False)
class MissedPart:
    """Connected floor that the same bodies cannot reach."""

    name: str
    """Letter on the plan: that of an area of the first body, or the next one."""
    area: float
    """Floor, [m^2]."""
    position: Floats
    """A place in the middle of it, shape (3,), [m]."""


@dataclass(frozen=True, eq=False)
class Access:
    """Parts of the floor that bodies cannot reach which reach the same."""

    bodies: tuple[Body, ...]
    """Which bodies."""
    parts: tuple[MissedPart, ...]
    """Floor that they cannot reach, though another body does or would fit there."""
    places: tuple[str, ...]
    """Keys of starts, goals and waypoints of the level file that they cannot reach."""
