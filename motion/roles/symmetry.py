"""The mirror plane of a body, and its mirrored limbs, from positions alone.

Siblings whose branches mirror each other are candidates; the direction between the two on
which the longest mirrored paths agree is the lateral axis. What has no mirror image (a
sword, a tail, a sensor) drops out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.roles.tree import RoleTree, unit

TOLERANCE = 0.08
"""Largest distance of a node from the mirror image of its counterpart, over the size."""
SAME_AXIS, NEAR_AXIS = 0.97, 0.85
"""Smallest cosine between pairs' directions that support, and that refine, the lateral axis."""
SNAP = 0.9986
"""Smallest cosine to an axis of the file at which that is the lateral axis (3 degrees)."""
SHORT_LIMB = 0.15
"""Mirrored paths shorter than this, over the size, are no limbs."""
MAX_SIBLINGS = 64
"""Largest branches of one node that are compared with each other."""
MAX_LIMBS = 12
"""Longest mirrored paths that are kept as limbs."""


@dataclass(frozen=True, eq=False)
class MirrorPlane:
    """The plane between left and right."""

    normal: Floats
    """Its unit normal, to either side. Shape (3,)."""
    offset: float
    """Distance of the plane from the origin along the normal."""

    def side(self, points: Floats) -> Floats:
        """Signed distance of points (..., 3) from the plane."""
        distance: Floats = points @ self.normal - self.offset
        return distance

    def onto(self, points: Floats) -> Floats:
        """Project points (..., 3) onto the plane."""
        moved: Floats = points - self.side(points)[..., None] * self.normal
        return moved

    def reflect(self, points: Floats) -> Floats:
        """Mirror images of points (..., 3)."""
        image: Floats = points - 2.0 * self.side(points)[..., None] * self.normal
        return image


@dataclass(frozen=True, eq=False)
class LimbPair:
    """A path down the tree on each side, node by node mirror images of each other."""

    sides: tuple[tuple[int, ...], tuple[int, ...]]
    """Nodes from the trunk outwards on the side of the plane's normal, and on the other."""
    points: Floats
    """Mean of the first side and the mirrored second. Shape (n, 3)."""
    width: Floats
    """Distance of the points from the plane. Shape (n,)."""

    @property
    def nodes(self) -> frozenset[int]:
        """All nodes of both paths."""
        return frozenset(self.sides[0]) | frozenset(self.sides[1])

    def holder(self, plane: MirrorPlane) -> Floats:
        """Point of the plane beside which the limb leaves the trunk. Shape (3,)."""
        away = np.flatnonzero(self.width > 0.15 * self.width.max())
        return plane.onto(self.points[int(away[0]) if len(away) else 0])


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A mirror plane and what it mirrors."""

    plane: MirrorPlane
    pairs: tuple[LimbPair, ...]
    """Pairs of limbs."""


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Two siblings that may be mirror images."""

    nodes: tuple[int, int]
    direction: Floats
    """From the second to the first, a unit vector."""
    middle: Floats
    """Point between them."""
    extent: float
    """The smaller of their branches' extents."""

    def plane(self) -> MirrorPlane:
        return MirrorPlane(self.direction, float(self.middle @ self.direction))


def find_symmetry(tree: RoleTree) -> Symmetry | None:
    """Return the mirror plane and the mirrored limbs; None if nothing is mirrored."""
    candidates = _candidates(tree)
    if not candidates:
        return None
    weights = np.array(
        [
            _mirrored(tree, *one.nodes, one.plane())[1] + 0.02 * one.extent
            for one in candidates
        ]
    )
    directions = np.array([one.direction for one in candidates])
    support = ((np.abs(directions @ directions.T) > SAME_AXIS) * weights).sum(axis=1)
    normal = directions[int(support.argmax())]
    along = directions @ normal
    same = np.abs(along) > NEAR_AXIS
    signed = (weights * np.sign(along))[same, None] * directions[same]
    normal = unit(signed.sum(axis=0))
    chosen = [one for one, near in zip(candidates, same, strict=True) if near]
    offset = float(np.median([one.middle @ normal for one in chosen]))
    plane, paths = MirrorPlane(normal, offset), []
    for _ in range(3):  # the plane from the pairs, the pairs from the plane
        paths = _mirrored_limbs(tree, chosen, plane)
        if not paths:
            return None
        plane = _fitted(tree, paths)
    return Symmetry(plane, tuple(_pair(tree, path, plane) for path in paths))


def across(tree: RoleTree, symmetry: Symmetry) -> Symmetry:
    """Return the symmetry of two pairs of limbs whose plane runs along the body.

    Bodies on four legs may be mirrored fore and aft as well. Their legs stand farther apart
    along the body than across.
    """
    if len(symmetry.pairs) != 2:
        return symmetry
    first, second = (pair.sides for pair in symmetry.pairs)
    if len(first[0]) != len(second[0]):
        return symmetry
    gap = tree.distance(first[0][0], first[1][0])
    if gap <= tree.distance(first[0][0], second[0][0]):
        return symmetry
    paths = [list(zip(first[side], second[side], strict=True)) for side in (0, 1)]
    plane = _fitted(tree, paths)
    for path in paths:
        images = plane.reflect(tree.positions[[a for a, _ in path]])
        far = np.linalg.norm(images - tree.positions[[b for _, b in path]], axis=1)
        if far.max() > TOLERANCE * tree.size:
            return symmetry
    return Symmetry(plane, tuple(_pair(tree, path, plane) for path in paths))


def _candidates(tree: RoleTree) -> list[_Candidate]:
    size, places = tree.size, tree.positions
    extents, middles = np.zeros(len(places)), np.zeros_like(places)
    for node, branch in enumerate(tree.branches):
        inside = places[list(branch)]
        middles[node] = inside.mean(axis=0)
        extents[node] = np.linalg.norm(inside - places[node], axis=1).max()
    # Frames are no measure: a robot may have sensors on one leg alone.
    joints = [len(tree.joints(branch)) for branch in tree.branches]
    found = []
    for siblings in (*tree.children, [n for n, p in enumerate(tree.parents) if p < 0]):
        large = [n for n in siblings if len(tree.branches[n]) > 1]
        large.sort(key=lambda n: -len(tree.branches[n]))
        for a, b in combinations(large[:MAX_SIBLINGS], 2):
            counts = sorted(joints[n] for n in (a, b))
            gap = middles[a] - middles[b]
            if (
                counts[0] < 0.4 * counts[1]
                or max(extents[[a, b]]) < 0.12 * size
                or np.linalg.norm(gap) < 0.02 * size
            ):
                continue
            middle = 0.5 * (middles[a] + middles[b])
            first, second = _where_they_part(tree, a, b)
            apart = places[first] - places[second]
            if (
                min(extents[[a, b]]) > 0.6 * max(extents[[a, b]])
                and np.linalg.norm(apart) > 0.04 * size
                and abs(unit(apart) @ unit(gap)) > 0.8
            ):
                # The starts of limbs lie more symmetrically than what they do.
                gap = gap + 3.0 * apart
                middle = 0.25 * middle + 0.375 * (places[first] + places[second])
            extent = float(min(extents[[a, b]]))
            found.append(_Candidate((a, b), unit(gap), middle, extent))
    return found


def _where_they_part(tree: RoleTree, a: int, b: int) -> tuple[int, int]:
    """The first nodes of two branches that do not lie together."""
    while (
        tree.distance(a, b) < 0.02 * tree.size and tree.children[a] and tree.children[b]
    ):
        a, b = (
            max(tree.children[n], key=lambda c: len(tree.branches[c])) for n in (a, b)
        )
    return a, b


def _mirrored(
    tree: RoleTree, a: int, b: int, plane: MirrorPlane
) -> tuple[list[tuple[int, int]], float]:
    """The longest path below `a` whose nodes have mirror images below `b`, and its length."""
    places = tree.positions
    images = plane.reflect(places)
    tolerance = TOLERANCE * tree.size
    matched, before, lengths, depths = [(a, b)], [-1], [0.0], [0]
    for row, (first, second) in enumerate(matched):
        others = list(tree.children[second])
        if not others:
            continue
        for child in tree.children[first]:
            far = np.linalg.norm(images[child] - places[others], axis=1)
            close = [
                # Of images that are equally near, the one with as much below it.
                (round(4.0 * float(d) / tolerance),
                 abs(len(tree.branches[child]) - len(tree.branches[o])), o)
                for d, o in zip(far, others, strict=True) if d < tolerance
            ]  # fmt: skip
            if close:
                matched.append((child, min(close)[2]))
                before.append(row)
                depths.append(depths[row] + 1)
                lengths.append(lengths[row] + tree.distance(first, child))
    # Hinges of one joint lie at one place: the last of them ends the path.
    row = max(
        range(len(matched)), key=lambda r: lengths[r] + 1e-9 * tree.size * depths[r]
    )
    longest, path = lengths[row], []
    while row >= 0:
        path.append(matched[row])
        row = before[row]
    return path[::-1], longest


def _mirrored_limbs(
    tree: RoleTree, candidates: list[_Candidate], plane: MirrorPlane
) -> list[list[tuple[int, int]]]:
    """Mirrored paths of all candidates that are long enough for limbs."""
    paths = []
    for one in candidates:
        a, b = one.nodes if one.direction @ plane.normal >= 0.0 else one.nodes[::-1]
        path, length = _mirrored(tree, a, b, plane)
        if len(path) > 1 and length > SHORT_LIMB * tree.size:
            paths.append((length, path))
    paths.sort(key=lambda item: -item[0])
    return [path for _, path in paths[:MAX_LIMBS]]


def _fitted(tree: RoleTree, paths: list[list[tuple[int, int]]]) -> MirrorPlane:
    """The plane between the two nodes of all pairs."""
    both = np.array([pair for path in paths for pair in path])
    first, second = tree.positions[both[:, 0]], tree.positions[both[:, 1]]
    normal = unit((first - second).sum(axis=0))
    axis = int(np.abs(normal).argmax())
    if abs(normal[axis]) > SNAP:
        normal = np.sign(normal[axis]) * np.eye(3)[axis]
    return MirrorPlane(normal, float(np.median((first + second) @ normal)) / 2.0)


def _pair(tree: RoleTree, path: list[tuple[int, int]], plane: MirrorPlane) -> LimbPair:
    first, second = zip(*path, strict=True)
    points = tree.positions[list(first)] + plane.reflect(tree.positions[list(second)])
    points = 0.5 * points
    return LimbPair((first, second), points, np.abs(plane.side(points)))
