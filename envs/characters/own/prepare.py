"""From a user's model to a body that the suite can stand, walk and fit: `BodyRecord`."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.body import BodyRecord
from ambulo.configs.errors import ConfigError, SkeletonError
from ambulo.envs.characters.ankles import ankle_reach
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
    standing_soles,
)
from ambulo.envs.characters.own.strength import (
    CARRIES,
    check_strength,
    drive_gains,
    gains_of,
    largest_load,
    largest_torques,
)
from ambulo.envs.characters.own.tips import tips_of
from ambulo.motion.retargeting.chains import hinge_chains
from ambulo.motion.roles.tree import SIDES
from ambulo.motion.skeleton import Skeleton

_FRONT_LEG = {"upper_arm": "thigh", "forearm": "shin", "hand": "foot"}
ARMATURE = 5e-4
"""Smallest inertia added to a joint over mass * leg length squared."""
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
    torques, weak = largest_torques(body, part_of, limits, settings, moment)
    notes += weak
    limp = drive_gains(body, torques)
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
        notes.append("ball feet: it cannot stand still, it balances by steps")
    if not roles.four_legs:
        ankles = [chains.get(f"{side}_foot", ()) for side in SIDES]
        pose = stance.solve(ankle_reach(body, ankles, torques)[:, 0].tolist())
    load = largest_load(body, pose, soles, torques, part_of)
    check_strength(load, torques)
    return BodyRecord(
        name=name,
        source=label,
        digest=digest,
        xml=xml,
        roles={role: skeleton.joints[skeleton.roles[role]] for role in chains},
        chains=chains,
        gains=gains_of(body, pose, part_of, moment),
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
