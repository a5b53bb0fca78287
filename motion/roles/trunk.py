"""Hips, spine, chest, neck and head: what lies between legs and arms, and above."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.roles.limbs import Limb
from ambulo.motion.roles.names import NameVote
from ambulo.motion.roles.symmetry import MirrorPlane
from ambulo.motion.roles.tree import RoleTree

HIPS_NEAR, HIPS_BESIDE = 0.45, 0.12
"""The hips lie within these fractions of the legs' length of the middle of the hip joints, and
of the mirror plane; roots on the floor do not."""
EXTRA = 0.15
"""A joint above the hips within this of them, where the tree turns downwards, is a helper."""
ON_PLANE, LEVEL = 0.06, 0.02
"""Head and neck lie within the first fraction of the legs' length of the mirror plane, and
no joint of them lies lower than the one before by more than the second."""
HEAD_HEIGHT, HEAD_SPREAD, HEAD_MAX = 0.35, 0.15, 0.65
"""Height of the head over the shoulders, its spread and maximum, over the trunk's height."""


@dataclass(frozen=True, eq=False)
class Build:
    """A body whose legs and arms are known."""

    tree: RoleTree
    names: tuple[NameVote, ...]
    plane: MirrorPlane
    up: Floats
    """Shape (3,)."""
    leg: Limb
    arm: Limb
    hips: Floats
    """Point of the mirror plane between the legs. Shape (3,)."""

    def height(self, node: int) -> float:
        """Height of a node over the hips."""
        return float((self.tree.positions[node] - self.hips) @ self.up)

    def vote(self, node: int, limb: str) -> float:
        """How much the name of a node says for a role without side."""
        return self.names[node].for_role(limb)

    def aside(self, node: int) -> float:
        """Distance of a node from the mirror plane, with its sign."""
        return float(self.plane.side(self.tree.positions[node]))


def trunk_chains(build: Build) -> dict[str, list[int]]:
    """Return the joints of hips, spine, chest, neck and head, first those with the role."""
    tree, leg, arm = build.tree, build.leg, build.arm
    shoulder = build.height(arm.pair.sides[0][arm.upper])
    way, crest = _hips_to_chest(build, shoulder)
    chains = {"hips": way[:1]}
    chest = way[crest]
    if crest > 0:
        chains["chest"] = [chest]
    if crest > 1:
        chains["spine"] = way[1:crest]
    trunk = abs(shoulder - build.height(leg.pair.sides[0][leg.upper]))
    above = tree.joints(_highest_chain(build, way[crest:], shoulder))
    above = [n for n in above if build.height(n) - shoulder < HEAD_MAX * trunk]
    if not above:
        return chains
    head = _head(build, above, shoulder, trunk)
    skull, first = above[head], above[0]
    chains["head"] = [skull]
    apart = tree.distance(skull, first) > 0.03 * leg.length
    named = build.vote(first, "neck") > build.vote(first, "head")
    if head > 0 and (apart or named):
        chains["neck"] = above[:head]
    return chains


def _hips_to_chest(build: Build, shoulder: float) -> tuple[list[int], int]:
    """The path from the hips to where the arms meet, and the index of the chest on it."""
    tree, leg, arm = build.tree, build.leg, build.arm
    tops = [_meeting(tree, limb, limb.upper) for limb in (leg, arm)]
    thighs = leg.pair.nodes
    way = [
        node
        for node in tree.path(*tops)
        if node not in thighs and node not in tree.ends
    ]
    way = way or tops[:1]

    def near(node: int) -> bool:
        gap = float(np.linalg.norm(tree.positions[node] - build.hips))
        return (
            gap < HIPS_NEAR * leg.length
            and abs(build.aside(node)) < HIPS_BESIDE * leg.length
        )

    close = [node for node in way if near(node)] or way[:1]
    named = [node for node in close if build.vote(node, "hips") >= 1.0]
    hips = max(
        [close[0], *named], key=lambda n: (build.vote(n, "hips"), -close.index(n))
    )
    way = way[way.index(hips) :]
    apex = next((i for i in range(1, len(way)) if tree.parents[way[i]] not in way), 0)
    if 0 < apex < len(way) - 1 and tree.distance(way[apex], hips) < EXTRA * leg.length:
        del way[1 : apex + 1]
    if build.vote(hips, "hips") < 1.0:
        # A root beside the hips that is called so, although the legs hang on another.
        for node in tree.ancestors(hips)[1:]:
            if (
                build.vote(node, "hips") >= 1.0
                and tree.distance(node, hips) < 0.25 * leg.length
            ):
                way.insert(0, node)
                break
    crest = len(way) - 1
    while crest > 1 and (
        build.height(way[crest]) > shoulder + 0.05 * leg.length
        or build.vote(way[crest], "neck")
    ):
        crest -= 1  # 3ds Max hangs the clavicles on the neck
    return way, crest


def _meeting(tree: RoleTree, limb: Limb, row: int) -> int:
    """The nearest node above both sides of a landmark."""
    left, right = (side[row] for side in limb.pair.sides)
    inside = set(tree.ancestors(left))
    return next((n for n in tree.ancestors(right) if n in inside), tree.parents[left])


def _highest_chain(build: Build, starts: list[int], shoulder: float) -> list[int]:
    """The best chain of nodes near the mirror plane upwards from the chest and above it."""
    tree, length = build.tree, build.leg.length
    limbs = {n for limb in (build.leg, build.arm) for side in limb.pair.sides
             for n in tree.branches[side[0]]} | set(starts)  # fmt: skip
    ahead = np.cross(build.up, build.plane.normal)
    middle = build.arm.pair.holder(build.plane)
    best: tuple[float, list[int]] = (-np.inf, [])
    for start in starts:
        # The neck, where the clavicles hang on it.
        raised = start != starts[0] and build.height(start) > shoulder
        chains = [[start] if raised else []]
        for node, chain in _walk(build, start, chains[0], limbs):
            rise = build.height(node) - shoulder
            if rise < LEVEL * length or abs(build.aside(node)) >= ON_PLANE * length:
                continue
            names = sum(build.vote(n, "neck") + build.vote(n, "head") for n in chain)
            lean = abs((tree.positions[node] - middle) @ ahead)
            value = (
                3.0 * names + rise / length - 0.3 * lean / length
                + 0.05 * len(tree.joints(chain))
            )  # fmt: skip
            if value > best[0]:
                best = (value, chain)
    return best[1]


def _walk(
    build: Build, start: int, chain: list[int], limbs: set[int]
) -> list[tuple[int, list[int]]]:
    """All nodes below `start` beside the limbs that are reached upwards, with their chains."""
    tree = build.tree
    reached: list[tuple[int, list[int]]] = [(start, chain)]
    for node, before in reached:
        for child in tree.children[node]:
            falls = bool(before) and (
                build.height(child)
                < build.height(before[-1]) - LEVEL * build.leg.length
            )
            if child not in limbs and not falls and not _is_paired(build, child):
                reached.append((child, [*before, child]))
    return reached[1:]


def _is_paired(build: Build, node: int) -> bool:
    """Whether a node off the mirror plane has a mirror image among its siblings."""
    tree, near = build.tree, 0.02 * build.leg.length
    if abs(build.aside(node)) <= 0.4 * near:
        return False
    image = build.plane.reflect(tree.positions[node])
    siblings = tree.children[tree.parents[node]]
    return any(
        other != node and np.linalg.norm(tree.positions[other] - image) < near
        for other in siblings
    )


def _head(build: Build, above: list[int], shoulder: float, trunk: float) -> int:
    """Index of the head among joints above the chest, lowest first."""
    tree = build.tree

    def value(index: int) -> tuple[float, float]:
        node = above[index]
        rise = (build.height(node) - shoulder) / max(trunk, 1e-9)
        eyes = any(_is_paired(build, child) for child in tree.children[node])
        shape = -0.5 * ((rise - HEAD_HEIGHT) / HEAD_SPREAD) ** 2 + 0.5 * eyes
        return build.vote(node, "head"), shape + 0.05 * index

    head = max(range(len(above)), key=value)
    if any(build.vote(node, "head") for node in above):
        return head
    if tree.masses is not None:
        # Of robots the last heavy part, not the frame of a camera.
        masses = tree.masses[above]
        return int(np.flatnonzero(masses >= 0.3 * masses.max())[-1])
    while (
        head > 0
        and not tree.children[above[head]]
        and tree.distance(above[head], above[head - 1]) < 0.01 * build.leg.length
    ):
        head -= 1
    return head
