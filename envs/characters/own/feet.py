"""The feet of a user's body: which shapes they have, and their soles."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.own.links import LinkTree, branch_of, geom_points
from ambulo.envs.characters.own.roles import BodyRoles
from ambulo.envs.characters.own.settings import BodySettings
from ambulo.envs.characters.own.soles import (
    FootPoints,
    FootSole,
    box_sole,
    foot_sole,
    joined_soles,
)
from ambulo.motion.roles.tree import SIDES


@dataclass(frozen=True, eq=False)
class Feet:
    """Soles of both feet."""

    soles: tuple[FootSole, ...]
    """Soles of the left and the right foot, all spheres of one radius."""
    links: frozenset[int]
    """Links of the feet: only their soles touch the ground."""
    notes: tuple[str, ...] = ()
    """Assumptions, a line each."""


def feet_of(
    tree: LinkTree,
    roles: BodyRoles,
    missing: tuple[tuple[str, str], ...],
    settings: BodySettings,
    leg: float,
) -> Feet:
    """Return the feet of a body whose legs are `leg` long, [m].

    Raises:
        ConfigError: There are none, or meshes that would show them are not there.
    """
    found = [
        [
            _foot(tree, roles, missing, settings, leg, (side, part))
            for part in roles.feet
        ]
        for side in SIDES
    ]
    radius = min(foot.sole.radius for row in found for foot in row)
    soles = [joined_soles([_with_radius(f.sole, radius) for f in row]) for row in found]
    links = frozenset(link for row in found for foot in row for link in foot.links)
    notes = tuple(foot.note for row in found for foot in row if foot.note)
    return Feet(tuple(soles), links, notes)


@dataclass(frozen=True, eq=False)
class _Foot:
    """One foot, or a hand that stands."""

    sole: FootSole
    links: frozenset[int]
    note: str = ""


def _foot(
    tree: LinkTree,
    roles: BodyRoles,
    missing: tuple[tuple[str, str], ...],
    settings: BodySettings,
    leg: float,
    which: tuple[str, str],
) -> _Foot:
    """Return the foot of side and part `which`, with its sole."""
    side, part = which
    role = f"{side}_{part}"
    name = f"{side} foot" if part == "foot" else f"{side} front foot"
    if role not in roles.bodies:
        raise ConfigError(
            f"no {name}: its leg ends at the shin; give it one, or roles in"
            " NAME.roles.json"
        )
    bodies = branch_of(tree.model, roles.bodies[role])
    links = frozenset(tree.of_body[body] for body in bodies)
    points = body_points(tree, bodies)
    bare = {
        tree.model.body(body).name
        for body in bodies
        if not tree.model.body_geomnum[body]
    }
    gone = [file for body, file in missing if body in bare]
    if part == "foot" and side in settings.feet:
        return _Foot(_given_sole(tree, roles, role, settings.feet[side], leg), links)
    if gone:
        raise ConfigError(
            f"mesh {gone[0]} is not there: it shows the {name}'s sole; put it"
            " where the file says, or give feet in NAME.body.json"
        )
    if len(points.points):
        return _Foot(foot_sole(points, leg), links)
    ankle = roles.places[role]
    low = [roles.places[r][2] for r in (f"{side}_toe",) if r in roles.places]
    link = tree.of_body[roles.bodies[role]]
    sole = box_sole(ankle, min([*low, ankle[2]]), link, leg)
    note = f"no shape of the {name}: a sole of {0.3 * leg:.2f} m is made"
    return _Foot(sole, links, note)


def body_points(tree: LinkTree, bodies: list[int]) -> FootPoints:
    """Return the points of the shapes of `bodies`: of those that collide, if any do."""
    model, inside = tree.model, set(bodies)
    shapes = [
        (i, shape)
        for i, link in enumerate(tree.links)
        for shape in link.geoms
        if int(model.geom_bodyid[shape.geom]) in inside
    ]
    solid = [
        (i, shape)
        for i, shape in shapes
        if model.geom_contype[shape.geom] or model.geom_conaffinity[shape.geom]
    ]
    points, radii, links = [np.zeros((0, 3))], [np.zeros(0)], []
    for i, shape in solid or shapes:
        own, radius = geom_points(model, shape)
        points.append(own)
        radii.append(np.full(len(own), radius))
        links += [i] * len(own)
    return FootPoints(
        np.concatenate(points), np.concatenate(radii), np.array(links, dtype=np.int64)
    )


def _given_sole(
    tree: LinkTree,
    roles: BodyRoles,
    role: str,
    corners: tuple[tuple[float, float, float], ...],
    leg: float,
) -> FootSole:
    """Contact spheres inside of given corners."""
    data = mujoco.MjData(tree.model)
    mujoco.mj_kinematics(tree.model, data)
    body = roles.bodies[role]
    local: Floats = np.array(corners)
    world = data.xpos[body] + local @ data.xmat[body].reshape(3, 3).T
    placed = (world - roles.origin) @ roles.turn.T
    links = np.full(len(placed), tree.of_body[body])
    return foot_sole(FootPoints(placed, np.zeros(len(placed)), links), leg)


def _with_radius(sole: FootSole, radius: float) -> FootSole:
    """The spheres with another radius, their lowest points where they were."""
    if sole.radius == radius:
        return sole
    centers = sole.centers - np.array([0.0, 0.0, sole.radius - radius])
    return FootSole(centers, radius, sole.links, sole.is_ball)
