"""Joint roles of any humanoid tree, by shape, with names as votes.

All lengths are relative to the legs' length or to the size of the whole. A body that is no
humanoid is refused with what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.roles.facing import find_facing, named_side
from ambulo.motion.roles.four_legs import four_legs
from ambulo.motion.roles.limbs import Limb, LimbScores, bell
from ambulo.motion.roles.names import votes_of
from ambulo.motion.roles.symmetry import LimbPair, Symmetry, find_symmetry
from ambulo.motion.roles.tree import ARM, LEG, ROLES, SIDES, RoleTree, joined, unit
from ambulo.motion.roles.trunk import Build, trunk_chains

ARM_SCORE, BOTH = 0.7, 8.0
"""Weight of an arm's score, and what having arms is worth."""
SNAP_UP, SNAP_TRUNK = 0.966, 0.9
"""Smallest cosines to an axis of the file at which that is up (15 degrees), and is tried as
up along a trunk, which is shorter."""
LEGS_ONLY, ARMS_ONLY = "legs only: no arms found", "arms only: no legs found"
"""Refusals of half a body."""
FOUR_LEGS = "four legs"
"""Refusal of a body on four legs, whose roles may be known nevertheless (`four_legs`)."""
NO_FEET = "no feet: its legs end at the shin"
"""Refusal of a body whose lowest limbs are too short for legs."""
SIDE_BY_SIDE = "several limbs side by side: many legs, or a hand"
"""Refusal of limbs that leave one place."""
MIN_SCORE, LEGS_DOWN, TRUNK_UP = -4.0, 0.75, 0.7
"""A humanoid has at least this score and these cosines of legs to down and of trunk to up."""


@dataclass(frozen=True, eq=False)
class RoleMap:
    """Joints of a body by role."""

    joints: dict[str, int] = field(default_factory=dict)
    """The joint of each role, in the order of `ROLES`: it carries the part."""
    chains: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """All joints that turn the part of each role, from the trunk outwards: the hinges of its
    joint and the twist bones up to the next landmark."""
    refusal: str = ""
    """Why it is no humanoid, or what it is instead; "" if it is one."""
    notes: tuple[str, ...] = ()
    """Doubts, a line each."""
    confidence: float = 0.0
    """How well shape and names fit a humanoid, 0 to 1."""
    up: Floats | None = None
    """Unit vector. Shape (3,)."""
    forward: Floats | None = None
    """Unit vector. Shape (3,)."""
    is_facing_sure: bool = False
    """Whether the front, and so left and right, is settled."""
    mirror: Ints | None = None
    """Each node's counterpart on the other side, itself if it has none. Shape (N,)."""

    def swapped(self) -> RoleMap:
        """Return the map with left and right exchanged, facing the other way."""
        forward = None if self.forward is None else -self.forward
        return replace(
            self,
            joints=in_order({_other(role): j for role, j in self.joints.items()}),
            chains=in_order({_other(role): c for role, c in self.chains.items()}),
            forward=forward,
        )


def _other(role: str) -> str:
    """The role on the other side, itself for the trunk's."""
    side, _, limb = role.partition("_")
    swapped = {"left": "right", "right": "left"}.get(side)
    return role if swapped is None else f"{swapped}_{limb}"


T = TypeVar("T")


def in_order(roles: dict[str, T]) -> dict[str, T]:
    """Return `roles` in the order of `ROLES`."""
    return {role: roles[role] for role in ROLES if role in roles}


def find_roles(tree: RoleTree) -> RoleMap:
    """Return the roles of a tree's joints, or why it is no humanoid."""
    tree, loose = joined(tree)
    notes = [f"{loose} loose trees hung on the nearest joint"] if loose else []
    if tree.size < 1e-9:
        return RoleMap(refusal="all joints are at one place", notes=tuple(notes))
    symmetry = find_symmetry(tree)
    if symmetry is None:
        return RoleMap(
            refusal="no mirrored pair of limbs: one limb alone?", notes=tuple(notes)
        )
    scores = LimbScores(tree, votes_of(tree))
    stance = _best_stance(scores, symmetry)
    quadruped = four_legs(scores, symmetry)
    if quadruped is not None:
        notes.append("four legs: ahead is taken for the positive axis of its file")
        return RoleMap(
            in_order(quadruped.joints), in_order(quadruped.chains), FOUR_LEGS,
            tuple(notes), up=quadruped.up, forward=quadruped.forward,
        )  # fmt: skip
    if stance is None or stance.arm is None:
        return _half(scores, symmetry, stance, tuple(notes))
    build = _build(scores, symmetry, stance, stance.arm)
    chains = {role: tuple(chain) for role, chain in trunk_chains(build).items()}
    joints = {role: chain[0] for role, chain in chains.items()}
    facing = find_facing(build, joints.get("head"))
    limbs, limb_chains = _limb_roles(tree, (build.leg, build.arm), facing.left)
    notes += [
        text for text in (facing.note, "" if "head" in joints else "no head") if text
    ]
    return RoleMap(
        in_order(joints | limbs),
        in_order(chains | limb_chains),
        _refusal(build, scores, stance, symmetry),
        tuple(notes),
        float(1.0 / (1.0 + np.exp(-np.clip(0.5 * stance.score, -20.0, 20.0)))),
        build.up,
        facing.forward,
        facing.is_sure,
        _mirror(tree, symmetry, build),
    )


def _half(
    scores: LimbScores,
    symmetry: Symmetry,
    stance: _Stance | None,
    notes: tuple[str, ...],
) -> RoleMap:
    """Refusal of a body without arms or legs; of legs with named sides their roles."""
    if stance is None:
        return RoleMap(refusal="no pair of limbs is a pair of legs", notes=notes)
    what = _what_it_is(scores, stance, symmetry)
    side = named_side(scores.names, (stance.leg,))
    if what != LEGS_ONLY or not side:  # only names tell left from right without arms
        return RoleMap(refusal=what, notes=notes)
    joints, chains = _limb_roles(scores.tree, (stance.leg,), 0 if side > 0 else 1)
    return RoleMap(in_order(joints), in_order(chains), what, notes, up=stance.up)


@dataclass(frozen=True, eq=False)
class _Stance:
    """Which pairs are legs and arms, and what is up."""

    score: float
    leg: Limb
    arm: Limb | None
    up: Floats
    hips: Floats


def _best_stance(scores: LimbScores, symmetry: Symmetry) -> _Stance | None:
    stances = [
        stance
        for leg in symmetry.pairs
        for arm in (*symmetry.pairs, None)
        if arm is None or not arm.nodes & leg.nodes
        if (stance := _stance(scores, symmetry, leg, arm)) is not None
    ]
    return max(stances, key=lambda stance: stance.score, default=None)


def _stance(
    scores: LimbScores, symmetry: Symmetry, leg: LimbPair, arm: LimbPair | None
) -> _Stance | None:
    """The body that stands on one pair and has the other for arms, with its score."""
    tree, plane = scores.tree, symmetry.plane
    hips = leg.holder(plane)
    trunk = 0.0
    if arm is None:
        middle = leg.points[len(leg.points) // 2] - hips
        up = _snapped(unit((middle @ plane.normal) * plane.normal - middle), 0.8)
        up = up if tree.up is None else unit(tree.up)
    else:
        rise = arm.holder(plane) - hips
        rise = rise - (rise @ plane.normal) * plane.normal
        trunk = float(np.linalg.norm(rise))
        if trunk < 0.06 * tree.size:
            return None
        up = _snapped(rise / trunk, SNAP_TRUNK)
        if tree.up is not None:
            if up @ unit(tree.up) < 0.5:
                return None
            up = unit(tree.up)
    legs = scores.leg(leg, -up)
    if legs is None:
        return None
    height = tree.positions @ up
    over_floor = float(leg.points[-1] @ up - height.min()) / legs.length
    score = legs.score + float(bell(max(0.0, over_floor), 0.0, 0.15))
    arms = None
    if arm is not None:
        arms = scores.arm(arm, legs.length, float(leg.width[legs.upper]))
        if arms is None:
            return None
        hands_below = float((hips - arm.points[-1]) @ up) / legs.length
        score += float(
            BOTH
            + ARM_SCORE * arms.score
            + bell(np.log(trunk / legs.length), np.log(0.55), 0.35)
            + bell(max(0.0, hands_below - 0.35), 0.0, 0.1)
        )
    return _Stance(score, legs, arms, up, hips)


def _build(scores: LimbScores, symmetry: Symmetry, stance: _Stance, arm: Limb) -> Build:
    tree, up, plane = scores.tree, stance.up, symmetry.plane
    if tree.up is None:
        # From ankles to shoulders is longer and straighter than the trunk.
        line = arm.pair.holder(plane) - plane.onto(stance.leg.point(stance.leg.end))
        up = _snapped(unit(line - (line @ plane.normal) * plane.normal), SNAP_UP)
    return Build(tree, scores.names, plane, up, stance.leg, arm, stance.hips)


def _what_it_is(scores: LimbScores, stance: _Stance, symmetry: Symmetry) -> str:
    """Kind of a body without legs or without arms, in words."""
    tree, leg, plane = scores.tree, stance.leg, symmetry.plane
    length = float(np.linalg.norm(np.diff(leg.pair.points, axis=0), axis=1).sum())
    alike = [
        pair
        for pair in symmetry.pairs
        if not pair.nodes & leg.pair.nodes
        and 0.6
        < np.linalg.norm(np.diff(pair.points, axis=0), axis=1).sum() / length
        < 1.6
        and _direction(pair) @ _direction(leg.pair) > 0.8
    ]
    if any(
        len(pair.points) < 3 and (leg.pair.points[-1] - pair.points[-1]) @ stance.up > 0
        for pair in alike
    ):
        return NO_FEET
    if alike:
        middle = leg.pair.points.mean(axis=0)
        gaps = [np.linalg.norm(pair.points.mean(axis=0) - middle) for pair in alike]
        if max(gaps) < 0.3 * length:
            return "limbs side by side: a hand?"
        ends = [(pair.points[-1] - leg.pair.points[-1]) for pair in alike]
        below = max(float(end @ _direction(leg.pair)) for end in ends)
        return NO_FEET if below > 0.3 * length else FOUR_LEGS
    top = tree.parents[leg.pair.sides[0][0]]
    reaches = [
        max(tree.distance(child, node) for node in tree.branches[child])
        for child in (tree.children[top] if top >= 0 else ())
    ]
    if sum(reach > 0.5 * length for reach in reaches) > 3:
        return SIDE_BY_SIDE
    legs, arms = (
        sum(scores.names[n].for_role(role) for n in leg.pair.nodes for role in roles)
        for roles in (LEG, ARM)
    )
    beside = np.abs(plane.side(tree.positions)) < 0.05 * length
    depth = (stance.hips - tree.positions) @ stance.up
    hangs = bool((beside & (depth > 0.25 * length)).any())
    return ARMS_ONLY if arms > legs or (arms == legs and hangs) else LEGS_ONLY


def _direction(pair: LimbPair) -> Floats:
    """From the first to the last node of a limb, a unit vector. Shape (3,)."""
    return unit(pair.points[-1] - pair.points[0])


def _refusal(
    build: Build, scores: LimbScores, stance: _Stance, symmetry: Symmetry
) -> str:
    """Reason why a body with legs and arms is no humanoid; "" if it is one."""
    leg, plane, up = build.leg, build.plane, stance.up
    used = leg.pair.nodes | build.arm.pair.nodes
    for pair in symmetry.pairs:
        other = None if pair.nodes & used else scores.leg(pair, -up)
        if (
            other is not None
            and abs(other.length - leg.length) < 0.4 * leg.length
            and np.linalg.norm(other.point(other.upper) - leg.point(leg.upper))
            > 0.35 * leg.length
            and abs((pair.points[-1] - leg.pair.points[-1]) @ up) < 0.15 * leg.length
        ):
            return "more than two legs"
    if unit(build.arm.pair.holder(plane) - build.hips) @ build.up < TRUNK_UP:
        return "the trunk is not upright: four legs?"
    if unit(leg.point(leg.end) - leg.point(leg.upper)) @ -build.up < LEGS_DOWN:
        return "the legs do not go down from the trunk"
    if stance.score <= MIN_SCORE:
        return "its lengths and directions are no humanoid's"
    return ""


def _limb_roles(
    tree: RoleTree, limbs: tuple[Limb, ...], left: int
) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Joints and chains of legs, and of arms if there are any; side `left` of pairs is left."""
    joints: dict[str, int] = {}
    chains: dict[str, tuple[int, ...]] = {}
    for roles, limb in zip((LEG, ARM), limbs, strict=False):
        marks = [limb.upper, limb.lower, limb.end]
        marks = [limb.beyond, *marks] if roles is ARM else [*marks, limb.beyond]
        rows = [
            (role, row)
            for role, row in zip(roles, marks, strict=True)
            if row is not None
        ]
        starts = [limb.first_of_cluster(row) for _, row in rows]
        for side, which in zip(SIDES, (left, 1 - left), strict=True):
            path = limb.pair.sides[which]
            for n, (role, row) in enumerate(rows):
                stop = starts[n + 1] if n + 1 < len(rows) else len(path)
                if role in ("hand", "toe"):
                    stop = row + 1
                start = max(starts[n], rows[n - 1][1] + 1 if n else 0)
                if path[row] not in tree.ends:
                    joints[f"{side}_{role}"] = path[row]
                    chain = tree.joints(path[start : max(stop, row + 1)])
                    chains[f"{side}_{role}"] = tuple(chain)
    return joints, chains


def _mirror(tree: RoleTree, symmetry: Symmetry, build: Build) -> Ints:
    """Counterparts: of limbs those of the pairs, of others the mirror image if it is one."""
    count = len(tree.parents)
    mirror = np.arange(count)
    near = 0.02 * build.leg.length
    far = np.abs(symmetry.plane.side(tree.positions)) > near
    images = symmetry.plane.reflect(tree.positions)
    for node in np.flatnonzero(far):
        gaps = np.linalg.norm(tree.positions - images[node], axis=1)
        other = int(gaps.argmin())
        if gaps[other] < 2.0 * near:
            mirror[node] = other
    for pair in sorted(symmetry.pairs, key=lambda pair: len(pair.points)):
        for a, b in zip(*pair.sides, strict=True):
            mirror[a], mirror[b] = b, a
    single = mirror[mirror] != np.arange(count)
    mirror[single] = np.flatnonzero(single)
    return mirror


def _snapped(direction: Floats, cosine: float) -> Floats:
    """A unit vector (3,), or the axis within that cosine of it."""
    axis = int(np.abs(direction).argmax())
    if abs(direction[axis]) > cosine:
        snapped: Floats = np.sign(direction[axis]) * np.eye(3)[axis]
        return snapped
    return direction
