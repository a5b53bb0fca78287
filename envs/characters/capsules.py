"""Bodies of capsules: the MuJoCo model of any skeleton that stands as human23 does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.anthropometry import body_parts, inertials
from ambulo.motion.roles import roles_of
from ambulo.motion.skeleton import Skeleton

TORQUE_LIMITS: dict[str, float] = {
    "thigh": 250.0, "shin": 250.0, "foot": 200.0, "toe": 30.0, "spine": 250.0,
    "chest": 250.0, "neck": 50.0, "head": 50.0, "clavicle": 100.0, "upper_arm": 100.0,
    "forearm": 80.0, "hand": 25.0,
}  # fmt: skip
"""Largest torque about each axis of a joint by the part that it carries, [N m]."""

RADII: dict[str, float] = {
    "hips": 0.09, "thigh": 0.065, "shin": 0.045, "foot": 0.03, "toe": 0.02, "spine": 0.095,
    "chest": 0.105, "neck": 0.05, "head": 0.085, "clavicle": 0.045, "upper_arm": 0.045,
    "forearm": 0.035, "hand": 0.025,
}  # fmt: skip
"""Radius of the capsule of each part, [m]."""

DAMPING = 0.5
"""Passive damping of every joint, [N m s / rad]."""
ARMATURE = 0.01
"""Inertia added to every joint, as of a geared drive, [kg m^2]."""
SOLE_RADIUS = 0.02
"""Radius of the balls that touch the ground, [m]."""
HEEL_HALF, TOES_HALF = 0.022, 0.03
"""Half the distance of the two balls of the heel, and of those of toes in one body, [m]."""


@dataclass(frozen=True)
class Build:
    """How a body differs from an adult of 1.75 m and 75 kg, besides its skeleton."""

    length: float = 1.0
    """Length of its legs over the adult's."""
    mass: float = 1.0
    """Mass over the adult's."""

    @property
    def torque(self) -> float:
        """Torques over the adult's: with mass times length, as those of gravity."""
        return self.mass * self.length

    @property
    def damping(self) -> float:
        """Dampings over the adult's: torque times the time in which such legs swing."""
        return self.torque * self.length**0.5

    @property
    def armature(self) -> float:
        """Inertias of drives over the adult's."""
        return self.mass * self.length**2


ADULT = Build()


def capsule_spec(
    skeleton: Skeleton,
    mass: float,
    factors: Mapping[str, float] | None = None,
    build: Build = ADULT,
) -> mujoco.MjSpec:
    """An editable model of a skeleton of `mass`, [kg], times `factors` by body.

    Its joints are free, balls and hinges as the skeleton says. The feet touch the ground
    with balls (two at the heel, two at the ball of the foot, the others at the toes' ends);
    the other bodies have capsules. Degree of freedom 6 + k is driven by motor k, whose
    control is its torque, [N m].

    Args:
        skeleton: The skeleton, at rest as `inertials` asks. The feet have a tip at the heel
            first, toes, hands and head have one at their ends; feet without toes have a
            second tip there, forearms without hands tips at the wrist and the hand's end.
        mass: Mass of the body before `factors`, [kg].
        factors: Factors of masses by joint.
        build: Its radii, torques, damping and armature over the adult's.
    """
    spec = mujoco.MjSpec()
    spec.modelname = skeleton.name
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = 1.0 / 150.0
    spec.option.iterations = 4
    spec.option.ls_iterations = 8
    floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE)
    floor.size = [0.0, 0.0, 0.05]
    floor.contype, floor.conaffinity = 1, 0
    # Along the bones, whose own axes the rest orientations only turn.
    unturned = skeleton.replace(rest=np.zeros((0, 4)))
    properties, parts = inertials(unturned, mass, factors), body_parts(skeleton)
    bodies: list[mujoco.MjsBody] = []
    for j, name in enumerate(skeleton.joints):
        parent = spec.worldbody if j == 0 else bodies[skeleton.parents[j]]
        body = parent.add_body(
            name=name, pos=skeleton.offsets[j], quat=skeleton.rest[j]
        )
        bodies.append(body)
        own = properties[name]
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = own.mass, own.center, own.inertia
        _add_joint(body, skeleton, j, build)
        if parts[j] in ("foot", "toe"):
            _add_sole(body, skeleton, j, parts[j], build)
        else:
            _add_capsules(body, skeleton, j, parts, build)
    for j, name in enumerate(skeleton.joints[1:], start=1):
        limit = TORQUE_LIMITS[parts[j]] * build.torque
        _add_motors(spec, name, len(skeleton.orders[j]), limit)
    return spec


def _add_joint(body: mujoco.MjsBody, skeleton: Skeleton, j: int, build: Build) -> None:
    """The free, ball or hinge joint of joint `j`, limited as the skeleton is.

    A ball joint's limit is a cone about its rest orientation: the largest of its angles'.
    """
    order = skeleton.orders[j]
    limits = skeleton.limits[skeleton.angle_slices[j]]
    if j == 0:
        body.add_freejoint(name=body.name)
        return
    joint = body.add_joint(name=body.name, armature=ARMATURE * build.armature)
    joint.damping[0] = DAMPING * build.damping
    joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
    if len(order) == 1:
        joint.type = mujoco.mjtJoint.mjJNT_HINGE
        joint.axis = np.eye(3)["XYZ".index(order)]
        joint.range = limits[0]
    else:
        joint.type = mujoco.mjtJoint.mjJNT_BALL
        joint.range = [0.0, min(float(np.abs(limits).max()), np.deg2rad(170.0))]


def _add_sole(
    body: mujoco.MjsBody, skeleton: Skeleton, j: int, part: str, build: Build
) -> None:
    """The balls of a foot, or of one of its toes."""
    name, radius = skeleton.joints[j], SOLE_RADIUS * build.length
    great = {roles_of(skeleton).get(f"{side}_toe") for side in ("left", "right")}

    def ball(label: str, x: float, y: float, z: float) -> None:
        geom = body.add_geom(name=f"{name}_{label}", type=mujoco.mjtGeom.mjGEOM_SPHERE)
        geom.pos, geom.size = [x, y, z], [radius, 0.0, 0.0]
        geom.contype, geom.conaffinity = 0, 1
        geom.friction[0] = 1.0

    def pair(label: str, x: float, y: float, z: float, half: float) -> None:
        for side in (-1.0, 1.0):
            ball(label + "ab"[side > 0], x, y + half * build.length * side, z)

    tips = _tips(skeleton, j)
    if part == "toe":
        tip, alone = tips[0], len(skeleton.children(skeleton.parents[j])) == 1
        place = (tip[0] - radius, tip[1], tip[2] + radius)
        if alone:
            pair("end", *place, TOES_HALF)
        else:
            ball("end", *place)
        return
    heel, toes = tips[0], skeleton.children(j)
    up = heel[2] + radius
    pair("heel", heel[0] + radius, 0.0, up, HEEL_HALF)
    if len(toes) > 1:
        for child in toes:
            toe = skeleton.offsets[child]
            ball("ball" + "PT"[child in great], toe[0], toe[1], up)
    else:
        front = skeleton.offsets[toes[0]] if toes else tips[1] - [radius, 0.0, 0.0]
        pair("ball", front[0], front[1], up, TOES_HALF)


def _add_capsules(
    body: mujoco.MjsBody,
    skeleton: Skeleton,
    j: int,
    parts: tuple[str, ...],
    build: Build,
) -> None:
    """The capsule along a bone; across the hips.

    Hips without a spine have another up to the next joint of the trunk.
    """
    radius = RADII[parts[j]] * build.length
    name = skeleton.joints[j]
    rows = [(name, radius, *_capsule(skeleton, j, parts[j], radius))]
    trunk = [k for k in skeleton.children(j) if parts[k] != "thigh"]
    if parts[j] == "hips" and trunk and parts[trunk[0]] != "spine":
        end = skeleton.offsets[trunk[0]] * 0.999
        rows.append((f"{name}_trunk", RADII["spine"] * build.length, np.zeros(3), end))
    for label, thick, start, end in rows:
        geom = body.add_geom(name=label, type=mujoco.mjtGeom.mjGEOM_CAPSULE)
        geom.contype, geom.conaffinity = 0, 1
        geom.size = [thick, 0.0, 0.0]
        geom.fromto = [*start, *end]


def _capsule(
    skeleton: Skeleton, j: int, part: str, radius: float
) -> tuple[Floats, Floats]:
    """The two centres of a body's capsule in its frame, [m]."""
    if part == "hips":
        left = roles_of(skeleton)["left_thigh"]
        half = skeleton.offsets[left] * [0.0, 0.8, 0.5]
        return half, half * [1.0, -1.0, 1.0]
    children = skeleton.children(j)
    if children and part != "head":
        bone = skeleton.offsets[children[0]]
        if np.linalg.norm(bone) < 1e-3:  # a neck that begins where the chest does
            bone = np.array([0.0, 0.0, radius])
        return np.zeros(3), bone * 0.999
    tip = _tips(skeleton, j)[-1]
    if part == "head":
        return tip * 0.3, tip - [0.0, 0.0, radius]
    return np.zeros(3), tip * max(0.1, 1.0 - radius / np.linalg.norm(tip))


def _tips(skeleton: Skeleton, j: int) -> Floats:
    """Tips of a joint in its frame, [m]. Shape (n, 3)."""
    rows = [k for k, owner in enumerate(skeleton.tip_parents) if owner == j]
    return np.asarray(skeleton.tips[rows])


def _add_motors(spec: mujoco.MjSpec, name: str, axes: int, limit: float) -> None:
    for i in range(axes):
        motor = spec.add_actuator(name=name if axes == 1 else f"{name}_{'xyz'[i]}")
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.target = name
        motor.set_to_motor()
        motor.gear = [*(np.eye(3)[i] if axes == 3 else [1.0, 0.0, 0.0]), 0, 0, 0]
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-limit, limit]
