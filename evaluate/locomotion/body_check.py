"""Whether a body can be used: what was found of it, and how long it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ambulo.configs.arrays import Floats
from ambulo.configs.body import BodyRecord
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.own.standing import (
    StandingSoles,
    holding_torques,
    standing_soles,
)
from ambulo.envs.characters.registry import (
    CHARACTERS,
    body_record,
    load_character,
)
from ambulo.envs.reference.clips.survival import push_scale
from ambulo.envs.reference.standing import standing_positions
from ambulo.envs.tasks.stand import SteppingStandBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    play,
    undisturbed,
)
from ambulo.evaluate.locomotion.pushes import push_recovery
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.lengths import leg_length
from ambulo.motion.roles import map_of
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.spd import joint_gains
from ambulo.viz.body_picture import body_picture, top_of

SECONDS = 10.0
"""Time to stand, [s]."""
CALM, PUSHED = 8, 24
"""Bodies in the tests without and with pushes."""
PUSH = 20.0 / 70.0
"""Impulse of a push over the body's mass, [m/s]."""
SURVIVAL = 0.5
"""Smallest fraction of pushed bodies that must stay on their feet; of human23 79 % do."""


AXIS = 0.9995
"""Directions with this cosine to an axis are that axis (2 degrees)."""


@dataclass(frozen=True)
class RoleCheck:
    """Joint, gains and limits of one role."""

    joint: str
    """The joint that carries the part."""
    chain: tuple[str, ...]
    """All joints that turn it."""
    stiffness: float
    """Largest gain of its axes, [N m / rad]."""
    damping: float
    """Damping of the same axis, [N m s / rad]."""
    limit: float
    """Largest torque of the axis that needs most of its own, [N m]."""
    holding: float
    """Torque about that axis in the standing pose, [N m]."""

    @property
    def load(self) -> float:
        """Torque in the standing pose over the largest."""
        return self.holding / self.limit if self.limit else 0.0


@dataclass(frozen=True)
class SoleCheck:
    """The soles in the standing pose."""

    points: int
    """Contact spheres of both."""
    length: float
    """Length of the longer sole, [m]; 0 for single balls."""
    width: float
    """Width of the wider sole, [m]."""
    margin: float
    """From the centre of mass to the edge of the area between all contact spheres, [m];
    negative outside."""


@dataclass(frozen=True)
class StandingCheck:
    """How a body stands without a policy."""

    seconds: float
    """Mean time on its feet, of `SECONDS` at most, [s]."""
    calm: float
    """Fraction on their feet to the end, undisturbed."""
    pushed: float | None
    """Fraction on their feet after a push; None: not tried."""
    impulse: float
    """Impulse of the pushes, [N s]."""
    balance: bool
    """Whether the balance controller helped."""
    steps: Literal["never", "pushed", "always"] = "never"
    """When it steps on the spot."""

    @property
    def text(self) -> str:
        """How long it stands."""
        if self.calm == 1.0:
            how = {"pushed": ", steps when pushed", "always": " by steps on the spot"}
            return f"stands {SECONDS:g} s{how.get(self.steps, '')}"
        return f"falls after {self.seconds:.1f} s"


@dataclass(frozen=True)
class BodyCheck:
    """Result of the check of a body."""

    name: str
    """The body's name."""
    bodies: int
    """Rigid bodies."""
    axes: int
    """Axes of its joints."""
    mass: float
    """[kg]."""
    height: float
    """From the soles to the top of its shapes in the standing pose, [m]."""
    legs: float
    """Hip to knee to ankle; without ankles of the height of the hips, [m]."""
    confidence: float
    """How well shape and names fit a humanoid, 0 to 1; 1 where the roles are given."""
    ahead: tuple[float, float, float]
    """Its front in the axes of its file."""
    up: tuple[float, float, float]
    """Up in the same axes."""
    roles: dict[str, RoleCheck]
    """By role."""
    soles: SoleCheck
    standing: StandingCheck
    """Driven by motors."""
    notes: tuple[str, ...]
    """Doubts and changes, a line each."""
    muscles: StandingCheck | None = None
    """How it stands driven by its muscles, undisturbed; None: it has none."""

    @property
    def passes(self) -> bool:
        """Whether it stands, also when pushed."""
        pushed = self.standing.pushed
        return self.standing.calm == 1.0 and (pushed is None or pushed >= SURVIVAL)

    @property
    def text(self) -> str:
        """Its size in words."""
        return (
            f"{self.bodies} bodies, {self.axes} joint axes, {self.mass:.1f} kg, "
            f"{self.height:.2f} m, legs {self.legs:.2f} m"
        )

    @property
    def facing(self) -> str:
        """Front and up in words."""
        return f"{_axis(self.ahead)} of the file, up {_axis(self.up)}"

    @property
    def verdict(self) -> str:
        """How it stands, in words."""
        one = self.standing
        parts = [one.text]
        if one.pushed is not None and one.calm == 1.0:
            parts.append(f"{one.pushed:.0%} after a push of {one.impulse:.0f} N s")
        if self.muscles is not None:
            parts.append(f"by its muscles {self.muscles.text}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        rows = {
            role: asdict(row) | {"load": row.load} for role, row in self.roles.items()
        }
        return asdict(self) | {
            "roles": rows,
            "passes": self.passes,
            "verdict": self.verdict,
        }


def check_body(
    body: str,
    *,
    pushes: bool = True,
    progress: Callable[[int], None] = lambda count: None,
) -> BodyCheck:
    """Load a body and let it stand, undisturbed and pushed.

    Args:
        body: As for `load_character`: a name, a file or `package:function`.
        pushes: Whether it is pushed too.
        progress: Called with finished episodes.

    Raises:
        ConfigError: It cannot be used, with the rule that it breaks.
    """
    record: BodyRecord | None = None if body in CHARACTERS else body_record(body)
    character = load_character(body, record)
    pose = standing_positions(character)
    data = mujoco.MjData(character.model)
    data.qpos[:] = pose
    mujoco.mj_forward(character.model, data)
    soles = standing_soles(character.model, character.skeleton, character.soles)
    return BodyCheck(
        name=character.name,
        bodies=character.model.nbody - 1,
        axes=character.model.nv - 6,
        mass=float(character.model.body_mass.sum()),
        height=top_of(character.model, data),
        legs=leg_length(retarget_body(character.skeleton)),
        confidence=1.0 if record is None else record.confidence,
        ahead=(1.0, 0.0, 0.0) if record is None else record.ahead,
        up=(0.0, 0.0, 1.0) if record is None else record.up,
        roles=_roles(character, pose, soles),
        soles=_soles(soles, data),
        standing=_standing(body, character, pushes=pushes, progress=progress),
        muscles=(
            _standing(body, character, actuation="muscle")
            if record is not None and record.has_muscles
            else None
        ),
        notes=() if record is None else record.notes,
    )


def check_picture(check: BodyCheck, body: str) -> bytes:
    """Return a PNG of a checked body in its standing pose, with the joints of its roles.

    Raises:
        RenderError: No OpenGL on this machine.
    """
    character = load_character(body)
    title = f"{check.name}: {check.verdict}"
    pose = standing_positions(character)
    return body_picture(character, pose, title, check.text, is_good=check.passes)


def _axis(direction: tuple[float, float, float]) -> str:
    """A direction as an axis with its sign, else as numbers."""
    axis = int(np.abs(direction).argmax())
    if abs(direction[axis]) > AXIS:
        return "-+"[direction[axis] > 0.0] + "XYZ"[axis]
    return "({:.2f}, {:.2f}, {:.2f})".format(*direction)


def _roles(
    character: Character, pose: Floats, soles: StandingSoles
) -> dict[str, RoleCheck]:
    """Gains, limits and holding torques by role."""
    model, names = character.model, character.skeleton.joints
    coupling = joint_coupling(model)
    stiffness, damping = np.zeros(model.nv), np.zeros(model.nv)
    rows = joint_gains(model, character.gains, coupling)
    stiffness[coupling.independent], damping[coupling.independent] = rows
    limits = np.zeros(model.nv)
    if character.actuation is None:
        for motor, joint in enumerate(model.actuator_trnid[:, 0]):
            first = int(model.jnt_dofadr[joint])
            dof = first + int(np.abs(model.actuator_gear[motor, :3]).argmax())
            limits[dof] = model.actuator_forcerange[motor, 1]
    needed = np.abs(holding_torques(model, pose, soles))
    found, checks = map_of(character.skeleton), {}
    for role, joint in found.joints.items():
        chain = [names[j] for j in found.chains.get(role, (joint,)) if j]
        dofs = character.dofs(*chain) if chain else np.zeros(0, np.int64)
        worst = max(dofs, key=lambda d: needed[d] / max(limits[d], 1e-9), default=None)
        stiff = max(dofs, key=lambda d: stiffness[d], default=None)
        checks[role] = RoleCheck(
            names[joint],
            tuple(chain),
            0.0 if stiff is None else float(stiffness[stiff]),
            0.0 if stiff is None else float(damping[stiff]),
            0.0 if worst is None else float(limits[worst]),
            0.0 if worst is None else float(needed[worst]),
        )
    return checks


def _soles(soles: StandingSoles, data: mujoco.MjData) -> SoleCheck:
    """Size of the soles, and how far the centre of mass is from their edge."""
    points = data.geom_xpos[soles.geoms, :2]
    sizes = [np.ptp(points[soles.sides == side], axis=0) for side in (0, 1)]
    length, width = np.max(sizes, axis=0)
    center = data.subtree_com[1, :2]
    try:
        edges = ConvexHull(points).equations
        margin = -float((edges[:, :2] @ center + edges[:, 2]).max())
    except QhullError:  # all in one line
        margin = 0.0
    return SoleCheck(len(points), float(length), float(width), margin)


def _standing(
    body: str,
    character: Character,
    *,
    actuation: Literal["torque", "muscle"] = "torque",
    pushes: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> StandingCheck:
    """Stand with an action of 0."""
    config = LocomotionConfig().override(
        "environment", task="stand", character=body, actuation=actuation
    )
    calm = undisturbed(config, SECONDS)
    subject = LocomotionSubject(calm, (None,))
    batch = bodies(subject, calm, range(CALM), 0)
    played = play(batch, subject, calm.environment.max_episode_steps)
    steps: Literal["never", "pushed", "always"] = "never"
    if isinstance(batch, SteppingStandBatch):
        steps = "pushed" if batch.gaits.stands else "always"
    batch.close()
    progress(CALM)
    impulse = PUSH * float(character.model.body_mass.sum())
    pushed = None
    if pushes:
        test = push_recovery(
            subject, PUSHED, impulses=(impulse / push_scale(character),), envs=PUSHED,
            progress=progress,
        )  # fmt: skip
        pushed = test.survival[0]
    return StandingCheck(
        float(played.standing.sum(axis=0).mean() * played.dt),
        float(played.survived.mean()),
        pushed,
        impulse,
        calm.environment.balance_law,
        steps,
    )
