"""The body human23 in MuJoCo: 23 bodies, 56 degrees of freedom, torque motors."""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from ambulo.envs.characters.anthropometry import inertials
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

TORQUE_LIMITS: dict[str, float] = {
    "Femur": 250.0, "Tibia": 250.0, "Talus": 200.0, "FootPinky": 30.0,
    "FootThumb": 30.0, "Spine": 250.0, "Torso": 250.0, "Neck": 50.0, "Head": 50.0,
    "Shoulder": 100.0, "Arm": 100.0, "ForeArm": 80.0, "Hand": 25.0,
}  # fmt: skip
"""Largest torque about each axis of a joint, [N m]; both sides alike."""

RADII: dict[str, float] = {
    "Pelvis": 0.09, "Femur": 0.065, "Tibia": 0.045, "Talus": 0.03, "FootPinky": 0.02,
    "FootThumb": 0.02, "Spine": 0.095, "Torso": 0.105, "Neck": 0.05, "Head": 0.085,
    "Shoulder": 0.045, "Arm": 0.045, "ForeArm": 0.035, "Hand": 0.025,
}  # fmt: skip
"""Radius of each body's capsule, [m]."""

DAMPING = 0.5
"""Passive damping of every joint, [N m s / rad]."""
ARMATURE = 0.01
"""Inertia added to every joint, as of a geared drive, [kg m^2]."""
SOLE_RADIUS = 0.02
"""Radius of the balls that touch the ground, [m]."""


def human23_spec(
    skeleton: Skeleton | None = None,
    mass: float = 75.0,
    factors: Mapping[str, float] | None = None,
) -> mujoco.MjSpec:
    """An editable model of a human23 skeleton of `mass`, [kg], times `factors` by body.

    The feet touch the ground with six balls each (two at the heel, two at the ball of
    the foot, one at each toe's end); the other bodies have capsules. Degree of freedom
    6 + k is driven by motor k, whose control is its torque, [N m].
    """
    skeleton = load_skeleton("human23") if skeleton is None else skeleton
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
    properties = inertials(unturned, mass, factors)
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
        _add_joint(body, skeleton, j)
        _add_geoms(body, skeleton, j)
    for j, name in enumerate(skeleton.joints[1:], start=1):
        _add_motors(spec, name, len(skeleton.orders[j]))
    return spec


def kind(body: str) -> str:
    """A body's name without its side: "FemurR" is a "Femur"."""
    return body[:-1] if body[-1] in "RL" and body[:-1] in RADII else body


def _add_joint(body: mujoco.MjsBody, skeleton: Skeleton, j: int) -> None:
    """The free, ball or hinge joint of joint `j`, limited as the skeleton is.

    A ball joint's limit is a cone about its rest orientation: the largest of its angles'.
    """
    order = skeleton.orders[j]
    limits = skeleton.limits[skeleton.angle_slices[j]]
    if j == 0:
        body.add_freejoint(name=body.name)
        return
    joint = body.add_joint(name=body.name, armature=ARMATURE)
    joint.damping[0] = DAMPING
    joint.limited = mujoco.mjtLimited.mjLIMITED_TRUE
    if len(order) == 1:
        joint.type = mujoco.mjtJoint.mjJNT_HINGE
        joint.axis = np.eye(3)["XYZ".index(order)]
        joint.range = limits[0]
    else:
        joint.type = mujoco.mjtJoint.mjJNT_BALL
        joint.range = [0.0, min(float(np.abs(limits).max()), np.deg2rad(170.0))]


def _add_geoms(body: mujoco.MjsBody, skeleton: Skeleton, j: int) -> None:
    """A capsule along the bone, or the balls of a foot's sole."""
    name = skeleton.joints[j]
    radius = RADII[kind(name)]

    def ball(label: str, x: float, y: float, z: float) -> None:
        geom = body.add_geom(name=f"{name}_{label}", type=mujoco.mjtGeom.mjGEOM_SPHERE)
        geom.pos, geom.size = [x, y, z], [SOLE_RADIUS, 0.0, 0.0]
        geom.contype, geom.conaffinity = 0, 1
        geom.friction[0] = 1.0

    if kind(name) == "Talus":
        heel = skeleton.tips[skeleton.tip_parents.index(j)]
        up = heel[2] + SOLE_RADIUS
        for side in (-1.0, 1.0):
            ball("heel" + "ab"[side > 0], heel[0] + SOLE_RADIUS, 0.022 * side, up)
        for child in skeleton.children(j):
            toe = skeleton.offsets[child]
            ball("ball" + skeleton.joints[child][4], toe[0], toe[1], up)
        return
    if kind(name) in ("FootPinky", "FootThumb"):
        tip = skeleton.tips[skeleton.tip_parents.index(j)]
        ball("end", tip[0] - SOLE_RADIUS, tip[1], tip[2] + SOLE_RADIUS)
        return
    geom = body.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_CAPSULE)
    geom.contype, geom.conaffinity = 0, 1
    geom.size = [radius, 0.0, 0.0]
    start, end = _capsule(skeleton, j, radius)
    geom.fromto = [*start, *end]


def _capsule(
    skeleton: Skeleton, j: int, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """The two centres of a body's capsule in its frame, [m]."""
    name = skeleton.joints[j]
    if name == "Pelvis":
        half = skeleton.offsets[skeleton.index("FemurL")] * [0.0, 0.8, 0.5]
        return half, half * [1.0, -1.0, 1.0]
    if name == "Head":
        tip = skeleton.tips[skeleton.tip_parents.index(j)]
        return tip * 0.3, tip - [0.0, 0.0, radius]
    children = skeleton.children(j)
    if children:
        return np.zeros(3), skeleton.offsets[children[0]] * 0.999
    tip = skeleton.tips[skeleton.tip_parents.index(j)]
    return np.zeros(3), tip * max(0.1, 1.0 - radius / np.linalg.norm(tip))


def _add_motors(spec: mujoco.MjSpec, name: str, axes: int) -> None:
    for i in range(axes):
        motor = spec.add_actuator(name=name if axes == 1 else f"{name}_{'xyz'[i]}")
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.target = name
        motor.set_to_motor()
        motor.gear = [*(np.eye(3)[i] if axes == 3 else [1.0, 0.0, 0.0]), 0, 0, 0]
        limit = TORQUE_LIMITS[kind(name)]
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-limit, limit]
