"""Ends of a body's head, hands and feet, for lengths and for what reaches."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.own.feet import Feet, body_points
from ambulo.envs.characters.own.links import LinkTree, branch_of
from ambulo.envs.characters.own.roles import BodyRoles
from ambulo.motion.roles.tree import SIDES


def tips_of(
    tree: LinkTree, roles: BodyRoles, feet: Feet
) -> tuple[tuple[int, Floats], ...]:
    """Return link and place, (3,), [m], of the ends of head, hands, heels and toes."""
    tips: list[tuple[int, Floats]] = []
    if "head" in roles.bodies:
        points = _points(tree, roles.bodies["head"])
        if len(points):
            top = points[points[:, 2].argmax()]
            place = np.array([roles.places["head"][0], roles.places["head"][1], top[2]])
            tips.append((tree.of_body[roles.bodies["head"]], place))
    for side in SIDES:
        role = next(
            (r for r in (f"{side}_hand", f"{side}_forearm") if r in roles.bodies), None
        )
        if role is not None:
            points = _points(tree, roles.bodies[role])
            if len(points):
                reach = np.linalg.norm(points - roles.places[role], axis=1)
                tips.append(
                    (tree.of_body[roles.bodies[role]], points[int(reach.argmax())])
                )
    for sole in feet.soles:
        bottoms = sole.centers - np.array([0.0, 0.0, sole.radius])
        for row in (int(bottoms[:, 0].argmin()), int(bottoms[:, 0].argmax())):
            link = int(sole.links[row])
            same = np.abs(bottoms[:, 0] - bottoms[row, 0]) < 2.0 * sole.radius
            tips.append((link, bottoms[same & (sole.links == link)].mean(axis=0)))
    return tuple(tips)


def _points(tree: LinkTree, body: int) -> Floats:
    return body_points(tree, branch_of(tree.model, body)).points
