"""The body myolegs of the package myo-sim: 14 joint axes, driven by muscles or motors.

The packaged model is edited in three places: a flat floor at z = 0 replaces its scene, the
root's frame is turned so that the body at rest faces +X, and the time step is 1/240 s.
The trunk is rigid: it moves with the pelvis.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.muscle import JointGain, MuscleCondition, SpdGains
from ambulo.envs.characters.character import Character
from ambulo.motion.gaits.soles import Soles
from ambulo.motion.rotations import quat_between, quat_multiply
from ambulo.motion.skeleton import Skeleton
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.conditions import condition, model_with
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.muscles import muscle_table

TIMESTEP = 1.0 / 240.0
"""One physics step, [s]."""
STIFFNESS: dict[str, float] = {
    "hip_*": 200.0, "knee_*": 200.0, "ankle_*": 160.0, "subtalar_*": 40.0, "mtp_*": 8.0,
}  # fmt: skip
"""Stiffness of the joints, [N m / rad]. Stiffer joints (500 at the hip) walk with motors,
but ask peaks of the muscles that these cannot give, and fall."""
DAMPING_RATIO = 0.06
"""Damping over stiffness, [s]."""
SOLE_RADIUS = 0.02
"""Radius of the sole balls, [m]; one capsule of the toes is 2.5 mm thinner."""
_FEET = ("calcn", "toes")
MODEL_HASH = "a766136c2500652188f1f49bda700e4043cee6716071c9b7299f1324892666f3"
"""`model_hash` of myolegs in myo-sim 0.2.3 and 0.2.4."""
_INSTALL = "pip install 'myo-sim>=0.2.3,<0.3'"
_HASHED: dict[str, tuple[str, ...]] = {
    "bodies": ("pos", "quat", "mass", "ipos", "inertia"),
    "joints": ("axis", "pos", "range", "stiffness", "damping"),
    "sites": ("pos",),
    "geoms": ("type", "pos", "size", "contype"),
    "actuators": ("gainprm", "biasprm", "dynprm", "ctrlrange"),
    "equalities": ("data",),
}
"""Parts that shipped models and gaits depend on: lists of a model, fields of their entries."""


def myolegs_spec(*, muscles: bool = True, timestep: float = TIMESTEP) -> mujoco.MjSpec:
    """An editable model of myolegs on a flat floor, facing +X.

    Args:
        muscles: With its 80 muscles; otherwise with one motor for each independent joint
            axis, without muscles and tendons (less than half the cost of a step).
        timestep: [s].

    Raises:
        ConfigError: The package myo-sim is not installed, or its myolegs is another body.
    """
    try:
        import myo_sim  # type: ignore[import-untyped]
    except ImportError:
        raise ConfigError(
            f"character myolegs needs the package myo-sim: {_INSTALL}"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # attaching without a prefix is the package's way
        spec = myo_sim.load_spec("myolegs")
        _check_model(spec)
        for geom in list(spec.worldbody.geoms):
            spec.delete(geom)
        floor = spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE)
        floor.size = [0.0, 0.0, 0.05]
        floor.contype = floor.conaffinity = 1
        _face_x(spec)
        spec.option.timestep = timestep
        if not muscles:
            _with_motors(spec)
    return spec


def myolegs(*, muscles: bool = True, timestep: float = TIMESTEP) -> Character:
    """The character myolegs.

    Args:
        muscles: With muscles; otherwise with motors.
        timestep: One physics step, [s].
    """
    with quiet():
        model = myolegs_spec(muscles=muscles, timestep=timestep).compile()
    skeleton = hinge_skeleton(model)
    gains = SpdGains(
        joints=tuple(
            JointGain(joints=name, stiffness=k, damping=DAMPING_RATIO * k)
            for name, k in STIFFNESS.items()
        )
    )
    return Character(
        "myolegs" if muscles else "myolegs_motors",
        model,
        skeleton,
        _soles(model, skeleton),
        gains,
        actuation=partial(MuscleActuation, model) if muscles else None,
    )


def with_conditions(
    character: Character, rules: Sequence[MuscleCondition]
) -> Character:
    """`character`, as `myolegs` makes it, with its muscles in the condition of `rules`.

    Raises:
        MuscleError: A pattern that matches no muscle.
    """
    state = condition(
        muscle_table(character.model).names,
        {rule.muscles: rule.force for rule in rules},
        {rule.muscles: rule.length for rule in rules},
    )
    model = model_with(character.model, state)
    return replace(
        character, model=model, actuation=partial(MuscleActuation, model, state=state)
    )


def hinge_skeleton(model: mujoco.MjModel) -> Skeleton:
    """The root and the independent hinges of `model`, each a joint of one angle.

    Tied joints stay at rest, so a shin is up to 15 deg off about its own axis where the
    knee is bent; the model itself has them right.
    """
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    coupling = joint_coupling(model)
    joints = [int(j) for j in model.dof_jntid[coupling.independent[6:]]]
    names, parents = [model.joint(0).name], [-1]
    root = int(model.jnt_bodyid[0])
    offsets, rest = [data.xpos[root].copy()], [np.array([1.0, 0.0, 0.0, 0.0])]
    axes, limits = [np.array([1.0, 0.0, 0.0, 0.0])], [[-np.pi, np.pi]] * 3
    owner = [root]
    for joint in joints:
        body = int(model.jnt_bodyid[joint])
        parent = _nearest(model, body, owner)
        where, turn = data.xpos[owner[parent]], data.xquat[owner[parent]]
        inverse = turn * [1.0, -1.0, -1.0, -1.0]
        offset = np.zeros(3)
        mujoco.mju_rotVecQuat(offset, data.xpos[body] - where, inverse)
        names.append(model.joint(joint).name)
        parents.append(parent)
        offsets.append(offset)
        rest.append(quat_multiply(inverse, data.xquat[body]))
        axes.append(quat_between(np.array([0.0, 0.0, 1.0]), model.jnt_axis[joint]))
        limits.append(model.jnt_range[joint].tolist())
        owner.append(body)
    return Skeleton(
        "myolegs",
        tuple(names),
        tuple(parents),
        np.array(offsets),
        np.array(rest),
        ("ZXY",) + ("Z",) * len(joints),
        np.array(axes),
        np.array(limits),
    )


def model_hash(spec: mujoco.MjSpec) -> str:
    """SHA-256 of a model's names and numbers that decide how its body moves (`_HASHED`)."""
    digest = hashlib.sha256()
    for part, fields in _HASHED.items():
        for entry in getattr(spec, part):
            numbers = [np.ravel(getattr(entry, field)) for field in fields]
            text = " ".join(
                f"{float(number):.9g}" for number in np.concatenate(numbers)
            )
            digest.update(f"{part} {entry.name} {text}\n".encode())
    return digest.hexdigest()


def _check_model(spec: mujoco.MjSpec) -> None:
    if model_hash(spec) != MODEL_HASH:
        raise ConfigError(
            f"character myolegs: the installed myo-sim {version('myo-sim')} has another body "
            f"than the one that gaits and models here were made for: {_INSTALL}"
        )


def _nearest(model: mujoco.MjModel, body: int, owner: list[int]) -> int:
    """The last joint before those of `body` on its way to the root."""
    while body:
        for index in range(len(owner) - 1, -1, -1):
            if owner[index] == body:
                return index
        body = int(model.body_parentid[body])
    return 0


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warning that the package attaches its parts without a prefix.

    MuJoCo would also write it to a file in the working folder.
    """
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)


def _face_x(spec: mujoco.MjSpec) -> None:
    """Turn the trunk and the legs in the root's frame from -Y to +X."""
    # The pelvis frame of OpenSim: X forward, Y up, Z right.
    upright = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
    for name in ("sacrum", "pelvis"):
        body = spec.body(name)
        body.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
        body.quat = upright


def _with_motors(spec: mujoco.MjSpec) -> None:
    """Replace muscles and tendons by one motor an independent joint axis."""
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for tendon in list(spec.tendons):
        spec.delete(tendon)
    model = spec.compile()
    for dof in joint_coupling(model).independent[6:]:
        name = model.joint(int(model.dof_jntid[dof])).name
        motor = spec.add_actuator(
            name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT
        )
        motor.gainprm[0] = 1.0
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-400.0, 400.0]


def _soles(model: mujoco.MjModel, skeleton: Skeleton) -> Soles:
    """Balls at both ends of the feet's capsules."""
    names = {"calcn": "subtalar_angle", "toes": "mtp_angle"}
    joints, offsets, sides = [], [], []
    for body, place, radius in sole_balls(model):
        foot, side = model.body(body).name.split("_")
        joints.append(skeleton.index(f"{names[foot]}_{side}"))
        # Thinner balls are lowered (Y is up in the foot), so that all have one radius.
        offsets.append(place + np.array([0.0, SOLE_RADIUS - radius, 0.0]))
        sides.append(int(side == "r"))
    return Soles(tuple(joints), np.array(offsets), SOLE_RADIUS, tuple(sides))


def sole_balls(model: mujoco.MjModel) -> list[tuple[int, Floats, float]]:
    """Body, place in its frame (3,), [m], and radius, [m], of each ball of the soles."""
    found = []
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        name = model.body(body).name
        capsule = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
        if not capsule or not name.startswith(_FEET):
            continue
        along = np.zeros(3)
        mujoco.mju_rotVecQuat(along, np.array([0.0, 0.0, 1.0]), model.geom_quat[geom])
        for end in (1.0, -1.0):
            place = model.geom_pos[geom] + end * model.geom_size[geom, 1] * along
            found.append((body, place, float(model.geom_size[geom, 0])))
    return found
