"""From a user's model to a body that the suite can stand, walk and fit: `BodyRecord`."""

from __future__ import annotations

import glob
import hashlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.body import BodyRecord
from ambulo.configs.errors import ConfigError, SkeletonError
from ambulo.configs.muscle import JointGain, SpdGains
from ambulo.envs.characters.own.body_xml import (
    BodyParts,
    body_xml,
    joint_names,
    tied_joints,
)
from ambulo.envs.characters.own.feet import feet_of
from ambulo.envs.characters.own.limits import model_limits
from ambulo.envs.characters.own.links import (
    LinkTree,
    links_of,
    rooted,
    turned,
    with_plain_axes,
)
from ambulo.envs.characters.own.reading import Source, SourceModel, read_source
from ambulo.envs.characters.own.record import model_skeleton, model_soles
from ambulo.envs.characters.own.roles import BodyRoles, body_roles
from ambulo.envs.characters.own.settings import BodySettings, settings_beside
from ambulo.envs.characters.own.standing import (
    StandingPose,
    StandingSoles,
    holding_torques,
    standing_soles,
)
from ambulo.envs.characters.own.tips import tips_of
from ambulo.motion.retargeting.chains import hinge_chains
from ambulo.motion.roles.tree import SIDES
from ambulo.motion.skeleton import Skeleton

STIFFNESS: dict[str, float] = {
    "foot": 2.0, "shin": 2.5, "thigh": 2.5, "toe": 0.2, "spine": 2.5, "chest": 2.5,
    "hips": 2.5, "neck": 0.15, "head": 0.15, "clavicle": 0.45, "upper_arm": 0.4,
    "forearm": 0.2, "hand": 0.06,
}  # fmt: skip
"""Stiffness of the joints of each part over mass * gravity * height of the centre of mass,
[1/rad]. At a quarter of it most bodies fall."""
TORQUE: dict[str, float] = {
    "foot": 0.3, "shin": 0.4, "thigh": 0.45, "toe": 0.05, "spine": 0.5, "chest": 0.5,
    "hips": 0.5, "neck": 0.06, "head": 0.06, "clavicle": 0.2, "upper_arm": 0.15,
    "forearm": 0.1, "hand": 0.03,
}  # fmt: skip
"""Largest torque of joints without a limit, over the same."""
CARRIES = ("thigh", "shin", "foot", "hips", "spine", "chest")
"""Parts whose joints carry the body: their gains do not go by their own inertia."""
_FRONT_LEG = {"upper_arm": "thigh", "forearm": "shin", "hand": "foot"}
DAMPING_RATIO = 0.08
"""Damping over stiffness, [s]."""
FREQUENCY = 8.0
"""Largest natural frequency of a joint that carries nothing but its own part, [Hz]."""
ARMATURE = 5e-4
"""Smallest inertia added to a joint over mass * leg length squared."""
EASY = 0.4
"""Largest load of a joint with which the centre of mass stays over the middle of the soles."""
DRIVE, DRIVES = 1.0, 4.0
"""Angles from rest that motors must reach against the springs of their joints, [rad]: of every
joint, and of the others where one does not."""
MAX_AXES = 250
"""Most joint axes of a body; a balance controller's cost grows with their cube."""
SHORTEST, LONGEST = 0.1, 3.0
"""Legs that a body in metres may have, [m]."""


def prepare_body(
    source: Source, *, label: str = "", settings: BodySettings | None = None
) -> BodyRecord:
    """Return a user's body made ready.

    Args:
        source: A file (MJCF, URDF), XML text, `package:function`, MjSpec or MjModel.
        label: How `character` names it; `source` if it is a text.
        settings: What its shape does not tell; None: those in the files `NAME.body.json`
            and `NAME.roles.json` beside it, if there are any.

    Raises:
        ConfigError: It cannot be read or is no humanoid, or its motors cannot hold it.
    """
    is_text = isinstance(source, (str, Path))
    if not label:
        label = str(source) if is_text else "body"
    if "<" in label:
        label = "body"
    try:
        if settings is None:
            settings = settings_beside(Path(source) if is_text else None)
        return _prepared(read_source(source), label, settings)
    except (ConfigError, SkeletonError) as error:
        text = str(error)
        raise ConfigError(
            text if text.startswith(label) else f"{label}: {text}"
        ) from None


def _prepared(found: SourceModel, label: str, settings: BodySettings) -> BodyRecord:
    model = found.model
    if model.nv > MAX_AXES + 6:
        raise ConfigError(f"{model.nv - 6} joint axes; a body has at most {MAX_AXES}")
    roles = body_roles(model, settings)
    tree = links_of(model, roles.top)
    tree = turned(tree, roles.turn, roles.origin)
    tree = with_plain_axes(rooted(tree, tree.of_body[roles.bodies["hips"]]))
    names = joint_names(tree)
    leg = _leg(roles)
    feet = feet_of(tree, roles, found.missing, settings, leg)
    notes = [*found.notes, *roles.notes, *tree.notes, *feet.notes]
    tips = tips_of(tree, roles, feet)
    mass = sum(link.mass for link in tree.links)
    parts = BodyParts(
        feet.soles,
        tips,
        feet.links,
        armature=ARMATURE * mass * leg**2,
    )
    digest = hashlib.sha256(
        (found.digest + settings.model_dump_json()).encode()
    ).hexdigest()
    name = f"{found.name}-{digest[:8]}"
    body = _compiled(body_xml(tree, name, parts))
    skeleton, chains = _chains(body, roles, tree, names)
    soles = standing_soles(body, skeleton, model_soles(body, skeleton))
    legs = [
        body.joint(joint).id
        for role, chain in chains.items()
        if _part(role, roles) in ("thigh", "shin", "foot")
        for joint in chain
    ]
    knees = [
        body.joint(joint).id
        for role, chain in chains.items()
        if _part(role, roles) == "shin"
        for joint in chain
    ]
    tied = {int(body.eq_obj1id[e]) for e in range(body.neq)}
    stance = StandingPose(
        body, soles, [j for j in legs if j not in tied], knees, leg,
        keeps_length=roles.four_legs,
    )  # fmt: skip
    pose = stance.solve()
    moment = _moment(body, pose)
    part_of = _parts_of_joints(body, chains, roles)
    limits = model_limits(tree, names)
    torques, weak = _torques(body, part_of, limits, settings, moment)
    notes += weak
    limp = _drives(body, torques)
    parts = replace(parts, torques=torques, limp=limp)
    xml = body_xml(tree, name, parts)
    if limp:
        body = _compiled(xml)
        notes.append(
            f"springs of {len(limp)} joints, as {min(limp)}, hold them against their"
            " motors: taken for gains of a drive, left out"
        )
    if tree.muscles:
        notes.append(
            f"{len(tree.muscles)} muscles, used with environment.actuation = muscle"
        )
    if any(sole.is_ball for sole in feet.soles):
        notes.append("ball feet: it cannot stand still, it must balance")
    load = _largest_load(body, pose, soles, torques, part_of)
    for ankles in (0.25, 0.5, 0.75, 1.0):
        if load[0] <= EASY:  # toward the ankles no farther than needed: heels are short
            break
        leaned = stance.solve(ankles=ankles)
        found_load = _largest_load(body, leaned, soles, torques, part_of)
        if found_load[0] < load[0]:
            pose, load = leaned, found_load
    _check_strength(load, torques)
    return BodyRecord(
        name=name,
        source=label,
        digest=digest,
        xml=xml,
        roles={role: skeleton.joints[skeleton.roles[role]] for role in chains},
        chains=chains,
        gains=_gains(body, pose, part_of, moment),
        standing=tuple(pose.tolist()),
        confidence=roles.confidence,
        ahead=_direction(roles.turn[0]),
        up=_direction(roles.turn[2]),
        notes=tuple(dict.fromkeys(notes)),
    )


def _compiled(xml: str) -> mujoco.MjModel:
    """The model of a prepared body's XML."""
    try:
        return mujoco.MjModel.from_xml_string(xml)
    except ValueError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ConfigError(f"MuJoCo: {'; '.join(lines[:2])}") from None


def _chains(
    body: mujoco.MjModel, roles: BodyRoles, tree: LinkTree, names: list[list[str]]
) -> tuple[Skeleton, dict[str, tuple[str, ...]]]:
    """The skeleton with the joint of each role, and the joints that turn its part.

    A role whose joint is in another's chain has none of its own (a spine of one hinge).
    """
    tied = tied_joints(tree, names)
    carried = roles.joints_of(tree, names, tied)
    given = roles.given_chains(tree, names, tied)
    skeleton = model_skeleton("body", body, carried, given)
    found = hinge_chains(skeleton, skeleton.roles)
    inside = {joint: role for role, chain in found.items() for joint in chain}
    rows = {
        role: found.get(role, [joint])
        for role, joint in skeleton.roles.items()
        if inside.get(joint, role) == role
    }
    chains = {
        role: tuple(skeleton.joints[j] for j in row) for role, row in rows.items()
    }
    return skeleton, chains


def _direction(vector: Floats) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 6) + 0.0 for value in vector)
    return x, y, z


def _leg(roles: BodyRoles) -> float:
    """Mean length of both legs from hip to ankle, [m]."""
    lengths = [
        sum(
            float(np.linalg.norm(roles.places[b] - roles.places[a]))
            for a, b in pairwise(line)
        )
        for side in SIDES
        if (line := [f"{side}_{part}" for part in ("thigh", "shin", "foot")])
        and all(role in roles.places for role in line)
    ]
    if not lengths:
        raise ConfigError("its legs have no hip, knee and ankle")
    leg = float(np.mean(lengths))
    if not SHORTEST <= leg <= LONGEST:
        unit = {1e3: "millimetres", 1e2: "centimetres", 39.37: "inches"}
        likely = [u for f, u in unit.items() if 0.5 <= leg / f <= 1.3]
        hint = f"; these look like {likely[0]}" if likely else ""
        raise ConfigError(f"its legs are {leg:.3g} m long: lengths are metres{hint}")
    return leg


def _moment(body: mujoco.MjModel, pose: Floats) -> float:
    """Mass * gravity * height of the centre of mass over the soles, [N m]."""
    data = mujoco.MjData(body)
    data.qpos[:] = pose
    mujoco.mj_forward(body, data)
    weight = float(body.body_mass.sum()) * float(np.linalg.norm(body.opt.gravity))
    return weight * float(data.subtree_com[1, 2])


def _part(role: str, roles: BodyRoles) -> str:
    """A role without its side; of front legs that of the hind ones."""
    part = role.removeprefix("left_").removeprefix("right_")
    return _FRONT_LEG.get(part, part) if roles.four_legs else part


def _parts_of_joints(
    body: mujoco.MjModel, chains: dict[str, tuple[str, ...]], roles: BodyRoles
) -> dict[str, str]:
    """The part that each joint moves: that of its chain, else of what it hangs on.

    Joints that hang on the trunk without a role are as those of a head.
    """
    own = {
        joint: _part(role, roles) for role, chain in chains.items() for joint in chain
    }
    parts: dict[str, str] = {}
    for b in range(2, body.nbody):
        name = body.body(b).name
        above = body.body(int(body.body_parentid[b])).name
        part = own.get(name)
        if part is None:
            upper = parts.get(above, "hips")
            part = upper if upper not in CARRIES else "head"
            if upper in ("thigh", "shin", "foot"):
                part = "toe"
        parts[name] = part
    return parts


def _torques(
    body: mujoco.MjModel,
    part_of: dict[str, str],
    limits: dict[str, float],
    settings: BodySettings,
    moment: float,
) -> tuple[dict[str, float], list[str]]:
    """Largest torque of each joint: settings, else the model's, else the rule's."""
    torques: dict[str, float] = {}
    ruled = []
    for name, part in part_of.items():
        given = settings.torque_of(name)
        if given is not None:
            torques[name] = given
        elif name in limits and not settings.rule_torques:
            torques[name] = limits[name]
        else:
            torques[name] = TORQUE[part] * moment
            ruled.append(name)
    notes = []
    if ruled and len(ruled) == len(part_of):
        notes.append("no torque limits: those of a person of its weight")
    elif ruled:
        notes.append(f"no torque limit of {', '.join(ruled[:3])}: by the rule")
    return torques, notes


def _drives(body: mujoco.MjModel, torques: dict[str, float]) -> frozenset[str]:
    """Joints whose springs are gains of drives, as some simulators read MJCF files.

    Those hold joints near rest against their motors (`DRIVE`); if any does, the strong ones
    of all joints (`DRIVES`) are no springs.
    """
    reach = {
        name: limit / max(float(body.joint(name).stiffness[0]), 1e-12)
        for name, limit in torques.items()
    }
    if min(reach.values(), default=DRIVE) >= DRIVE:
        return frozenset()
    return frozenset(name for name, angle in reach.items() if angle < DRIVES)


def _largest_load(
    body: mujoco.MjModel,
    pose: Floats,
    soles: StandingSoles,
    torques: dict[str, float],
    part_of: dict[str, str],
) -> tuple[float, str, float]:
    """The largest load of a joint that carries the body where it stands.

    Its torque over the largest that it has, its name, and its torque, [N m].
    """
    needed = np.abs(holding_torques(body, pose, soles))
    worst: tuple[float, str, float] = (0.0, "", 0.0)
    tied = {int(body.eq_obj1id[e]) for e in range(body.neq)}
    for dof in range(6, body.nv):
        joint = int(body.dof_jntid[dof])
        name = body.joint(joint).name
        if joint in tied or part_of[name] not in CARRIES:
            continue
        ratio = float(needed[dof]) / torques[name]
        if ratio > worst[0]:
            worst = (ratio, name, float(needed[dof]))
    return worst


def _check_strength(load: tuple[float, str, float], torques: dict[str, float]) -> None:
    """Refuse motors that cannot hold the body where it stands."""
    ratio, name, needed = load
    if ratio > 1.0:
        raise ConfigError(
            f"too weak to stand: {name} needs {needed:.3g} N m in the standing pose and"
            f" has {torques[name]:.3g} ({ratio:.2g} times); torque_limits in"
            ' NAME.body.json gives others, or "rule"'
        )


def _gains(
    body: mujoco.MjModel, pose: Floats, part_of: dict[str, str], moment: float
) -> SpdGains:
    """Stiffness by part and weight; of what carries nothing, by its inertia."""
    data = mujoco.MjData(body)
    data.qpos[:] = pose
    mujoco.mj_forward(body, data)
    matrix = np.zeros((body.nv, body.nv))
    mujoco.mj_fullM(body, data, matrix)
    inertia = np.diag(matrix)
    rows = []
    tied = {int(body.eq_obj1id[e]) for e in range(body.neq)}
    for j in range(1, body.njnt):
        if j in tied:
            continue
        name = body.joint(j).name
        first = int(body.jnt_dofadr[j])
        last = int(body.jnt_dofadr[j + 1]) if j + 1 < body.njnt else body.nv
        own = float(inertia[first:last].mean())
        part = part_of[name]
        stiffness = STIFFNESS[part] * moment
        damping = DAMPING_RATIO * stiffness
        if part not in CARRIES:
            stiffness = min(stiffness, (2.0 * np.pi * FREQUENCY) ** 2 * own)
            damping = min(0.1 * stiffness, 2.0 * np.sqrt(stiffness * own))
        rows.append(
            JointGain(
                joints=glob.escape(name), stiffness=stiffness, damping=float(damping)
            )
        )
    return SpdGains(joints=tuple(rows))
