"""Lines between the sole balls of a body, which pictures show as feet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint

NEAR = 0.16
"""Sole balls nearer than this at rest are joined, [m]."""
LEAST_RADIUS = 0.01
"""[m]."""


@dataclass(frozen=True, eq=False)
class FootLine:
    """A capsule between two points of bodies."""

    ends: tuple[tuple[int, Floats], tuple[int, Floats]]
    """Body, and place in its frame, [m]."""
    radius: float
    """[m]."""
    right: bool
    """Whether it is of the right foot."""

    def places(self, data: mujoco.MjData) -> list[Floats]:
        """The two ends in the world, [m]."""
        return [
            data.xpos[body] + data.xmat[body].reshape(3, 3) @ offset
            for body, offset in self.ends
        ]


def foot_lines(character: Character) -> list[FootLine]:
    """Sole points of a foot to be joined: those near each other at rest, and its outline."""
    model, soles = character.model, character.soles
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    bodies = [body_of_joint(character, joint) for joint in soles.joints]
    turns = data.xmat[bodies].reshape(-1, 3, 3)
    places = data.xpos[bodies] + np.einsum("pij,pj->pi", turns, soles.offsets)
    outline = {edge for side in (0, 1) for edge in _outline(places, soles.sides, side)}
    lines = []
    for m, n in combinations(range(len(bodies)), 2):
        far = float(np.linalg.norm(places[m] - places[n]))
        if soles.sides[m] == soles.sides[n] and (far < NEAR or (m, n) in outline):
            ends = ((bodies[m], soles.offsets[m]), (bodies[n], soles.offsets[n]))
            right = bool(soles.sides[m])
            lines.append(FootLine(ends, max(soles.radius, LEAST_RADIUS), right))
    return lines


def _outline(
    places: Floats, sides: tuple[int, ...], side: int
) -> Iterator[tuple[int, int]]:
    """Pairs of points of one foot that are neighbours around it, seen from above."""
    own = [point for point, of in enumerate(sides) if of == side]
    if len(own) > 2:
        middle = places[own].mean(axis=0)
        around = np.arctan2(*(places[own] - middle).T[:2])
        order = [own[k] for k in np.argsort(around)]
        for a, b in zip(order, [*order[1:], order[0]], strict=True):
            yield min(a, b), max(a, b)
