"""Which way a body faces, and so which side is left: votes of shape, limits and names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.roles.limbs import Limb, is_beyond_hinges
from ambulo.motion.roles.names import NameVote
from ambulo.motion.roles.trunk import Build

NAMES = 8.0
"""Weight of the sides in names."""
TOES, KNEES, ELBOWS, EYES, MASS, THUMBS = 3.0, 0.9, 0.9, 1.0, 0.7, 0.3
"""Largest weights of what shape shows; a bend alone, which few rest poses have, is not sure."""
KNEE_RANGE, ELBOW_RANGE, SOLE = 1.5, 0.7, 1.2
"""Weights of each side's hinge limits and of the reach of its foot."""
AT_JOINT, ONE_SIDED, SWING = 0.1, 0.3, 0.2
"""A hinge within the first fraction of a limb's length of the knee or elbow is one of it; one
side of its range is wider by the second; it swings the limb's end by the third per radian."""
SURE, AGREED = 1.0, 0.5
"""Least sum of votes, and least part of all weights, that settle the front."""


@dataclass(frozen=True, eq=False)
class Facing:
    """Which way a body faces."""

    forward: Floats
    """Unit vector. Shape (3,)."""
    left: int
    """Which side of the pairs is left: 0 or 1."""
    is_sure: bool
    """Whether the votes settle it."""
    note: str
    """Contradictions, or that it is ambiguous; "" if all agree."""


def find_facing(build: Build, head: int | None) -> Facing:
    """Return which way the body faces."""
    # With the plane's normal as left.
    ahead = np.cross(build.plane.normal, build.up)
    votes = [
        *_foot_votes(build, ahead),
        *_bend_votes(build, ahead),
        *_range_votes(build, ahead),
        *_eye_votes(build, head, ahead),
        *_thumb_votes(build, ahead),
        *_name_votes(build),
    ]
    votes = [(vote, what) for vote, what in votes if vote]
    total = sum(vote for vote, _ in votes)
    weight = sum(abs(vote) for vote, _ in votes)
    sure = abs(total) >= SURE and abs(total) >= AGREED * weight
    note = ""
    if not sure:
        shown = ", ".join(f"{what} {vote:+.1f}" for vote, what in votes)
        note = f"facing ambiguous: {shown or 'nothing shows the front'}"
        if build.tree.front is not None and abs(total) < SURE:
            usual = float(build.tree.front @ ahead)
            if abs(usual) > 0.3:
                total = usual
                note += "; taken from the format's convention"
    elif abs(total) < weight - 1e-9:
        against = [what for vote, what in votes if vote * total < 0.0]
        note = f"facing: evidence against: {', '.join(against)}"
    sign = 1.0 if total >= 0.0 else -1.0
    return Facing(sign * ahead, 0 if sign > 0.0 else 1, sure, note)


def _foot_votes(build: Build, ahead: Floats) -> list[tuple[float, str]]:
    """Toes ahead of the ankle, reach of the foot's shapes, and its mass."""
    tree, leg = build.tree, build.leg
    ankles = [side[leg.end or 0] for side in leg.pair.sides]
    length, votes = leg.length, []
    ends = tree.ends if tree.still or tree.masses is not None else frozenset()
    reaches = sorted(
        (
            float((tree.positions[node] - tree.positions[ankle]) @ ahead)
            for ankle in ankles
            for node in tree.branches[ankle]
            if node not in ends
            and (
                node == ankle
                or build.vote(node, "toe") > 0.0
                or is_beyond_hinges(
                    tree.positions[node] - tree.positions[ankle], -build.up, length
                )
            )
        ),
        key=abs,
    )
    if len(reaches) > 2:
        reach = float(np.mean(reaches[-2:]))
        if abs(reach) > 0.05 * length:
            part = min(1.0, (reach / (0.15 * length)) ** 2)
            votes.append((TOES * np.sign(reach) * part, "toes"))
    for ankle in ankles:
        outlines = [
            tree.outlines[n] for n in tree.branches[ankle] if n in tree.outlines
        ]
        if outlines:
            points = (np.concatenate(outlines) - tree.positions[ankle]) @ ahead
            past = float(points.max() + points.min())
            if abs(past) > 0.05 * length:
                votes.append((SOLE * np.sign(past), "reach of the feet"))
    if tree.masses is not None and tree.centers is not None:
        masses = tree.masses
        heavy = [max(tree.branches[ankle], key=lambda n: masses[n]) for ankle in ankles]
        shift = float(np.mean((tree.centers - tree.positions)[heavy] @ ahead))
        if abs(shift) > 0.015 * length:
            votes.append((MASS * np.sign(shift), "mass of the feet"))
    return votes


def _bend_votes(build: Build, ahead: Floats) -> list[tuple[float, str]]:
    """Knees bend forwards at rest, elbows backwards."""
    votes = []
    leg, arm = build.leg, build.arm
    knee = float(_off_line(leg) @ ahead) / leg.length
    if abs(knee) > 0.02:
        size = min(KNEES, abs(knee) / 0.03)
        votes.append((np.sign(knee) * size, "bend of the knees"))
    if arm.end is not None:
        elbow = float(_off_line(arm) @ ahead) / arm.length
        if abs(elbow) > 0.03:
            size = min(ELBOWS, abs(elbow) / 0.06)
            votes.append((-np.sign(elbow) * size, "bend of the elbows"))
    return votes


def _off_line(limb: Limb) -> Floats:
    """From the line between a limb's ends to its knee or elbow. Shape (3,)."""
    line = limb.point(limb.end) - limb.point(limb.upper)
    middle = limb.point(limb.lower) - limb.point(limb.upper)
    off: Floats = middle - line * (middle @ line) / max(float(line @ line), 1e-12)
    return off


def _range_votes(build: Build, ahead: Floats) -> list[tuple[float, str]]:
    """Knees flex backwards and elbows forwards: the wider side of their hinges' limits."""
    votes, tree = [], build.tree
    for limb, weight, sign, what in (
        (build.leg, KNEE_RANGE, -1.0, "range of the knees"),
        (build.arm, ELBOW_RANGE, 1.0, "range of the elbows"),
    ):
        gaps = np.linalg.norm(limb.pair.points - limb.point(limb.lower), axis=1)
        for side in limb.pair.sides:
            end = len(side) - 1 if limb.end is None else limb.end
            near = [
                n
                for n, gap in zip(side, gaps, strict=True)
                if gap < AT_JOINT * limb.length
            ]
            for hinge in tree.hinges:
                low, high = hinge.limits
                if hinge.node not in near or abs(low + high) < ONE_SIDED * (high - low):
                    continue
                bone = tree.positions[side[end]] - tree.positions[hinge.node]
                swing = np.cross(np.sign(low + high) * hinge.axis, bone)
                part = float(swing @ ahead) / limb.length
                if abs(part) > SWING:
                    votes.append((sign * weight * float(np.sign(part)), what))
    return votes


def _eye_votes(
    build: Build, head: int | None, ahead: Floats
) -> list[tuple[float, str]]:
    """A mirrored pair of small branches in front of the head."""
    if head is None:
        return []
    tree, length = build.tree, build.leg.length
    near = [c for child in tree.children[head] for c in (child, *tree.children[child])]
    gaps = []
    for node in near:
        aside = abs(build.aside(node))
        high = build.height(node) > build.height(head) - 0.02 * length
        small = len(tree.branches[node]) <= 2 and node not in tree.ends
        if not (high and small and 0.01 * length < aside < 0.09 * length):
            continue
        image = build.plane.reflect(tree.positions[node])
        far = np.linalg.norm(tree.positions[near] - image, axis=1).min()
        if far < 0.02 * length:
            gaps.append(float((tree.positions[node] - tree.positions[head]) @ ahead))
    if gaps and abs(np.mean(gaps)) > 0.03 * length:
        return [(EYES * float(np.sign(np.mean(gaps))), "eyes")]
    return []


def _thumb_votes(build: Build, ahead: Floats) -> list[tuple[float, str]]:
    """The finger whose tip is nearest to the wrist is the thumb, in front with palms down."""
    tree, arm = build.tree, build.arm
    if arm.end is None:
        return []
    wrist = arm.pair.sides[0][arm.end]
    fingers = tree.joints(tree.children[wrist])
    if len(fingers) < 3:
        return []
    tips = np.array(
        [
            tree.positions[max(tree.branches[f], key=lambda n: tree.distance(n, wrist))]
            for f in fingers
        ]
    )
    far = np.linalg.norm(tips - tree.positions[wrist], axis=1)
    shift = float((tips[far.argmin()] - tips.mean(axis=0)) @ ahead)
    if abs(shift) > 0.03 * build.leg.length:
        return [(THUMBS * float(np.sign(shift)), "thumbs")]
    return []


def _name_votes(build: Build) -> list[tuple[float, str]]:
    """Sides in the names of legs and arms."""
    side = named_side(build.names, (build.leg, build.arm))
    return [(NAMES * side, "names of sides")] if side else []


def named_side(names: tuple[NameVote, ...], limbs: tuple[Limb, ...]) -> float:
    """Return 1 if names call the first sides of limbs left, -1 if right, 0 if neither."""
    worth = {"left": 1, "right": -1, "": 0}
    total = sum(
        sign * worth[names[node].side]
        for limb in limbs
        for side, sign in zip(limb.pair.sides, (1, -1), strict=True)
        for node in side
    )
    return float(np.sign(total))
