"""The input of the role finder: a tree of joints with rest positions, and what else is known.

Any unit, any axes; names are optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import SkeletonError

SIDES = ("left", "right")
LEG = ("thigh", "shin", "foot", "toe")
ARM = ("clavicle", "upper_arm", "forearm", "hand")
TRUNK = ("hips", "spine", "chest", "neck", "head")

ROLES: tuple[str, ...] = (
    *TRUNK,
    *(f"{side}_{limb}" for side in SIDES for limb in (*LEG, *ARM)),
)
"""Every role. A joint stands where its part begins: the thigh's at the hip, the forearm's
at the elbow, the hand's at the wrist. "spine" is the first joint above the hips, "chest"
the one that carries neck and arms, "neck" the first between chest and head."""


ALONG, SHORT_BONE = 0.9, 0.02
"""Smallest cosine between a bone and the axis of a hinge that twists it, and the length over
the tree's size below which a bone has no direction."""


@dataclass(frozen=True, eq=False)
class Hinge:
    """A joint that turns about one axis."""

    node: int
    """The node that it turns."""
    axis: Floats
    """Its axis at rest, a unit vector. Shape (3,)."""
    limits: tuple[float, float]
    """Lower and upper limit of its angle, [rad]."""


@dataclass(frozen=True, eq=False)
class RoleTree:
    """A tree, or several, of N joints at rest.

    Raises:
        SkeletonError: The parents form a loop, or sizes and numbers do not fit.
    """

    parents: tuple[int, ...]
    """Parent of each node, -1 for a root, in any order."""
    positions: Floats
    """Positions at rest, any unit and axes. Shape (N, 3)."""
    names: tuple[str, ...] = ()
    """Name of each node; () where they are not known."""
    ends: frozenset[int] = frozenset()
    """Nodes that are no joints (ends of bones, frames): they mark lengths, but get no role."""
    still: frozenset[int] = frozenset()
    """Nodes that do not move against their parents."""
    masses: Floats | None = None
    """Mass of each node's body. Shape (N,)."""
    centers: Floats | None = None
    """Center of mass of each node's body. Shape (N, 3)."""
    outlines: dict[int, Floats] = field(default_factory=dict)
    """Points of the shapes that a node carries, (n, 3)."""
    hinges: tuple[Hinge, ...] = ()
    """Hinges with their limits, a whole turn without one."""
    up: Floats | None = None
    """Direction up, if it is known. Shape (3,)."""
    front: Floats | None = None
    """Front by the convention of the format. Shape (3,)."""

    def __post_init__(self) -> None:
        """Validate sizes, numbers and the tree."""
        count = len(self.parents)
        positions = np.array(self.positions, dtype=np.float64)
        object.__setattr__(self, "positions", positions)
        if count == 0:
            raise SkeletonError("there are no joints")
        if positions.shape != (count, 3):
            raise SkeletonError(f"expected {count} positions, got {positions.shape}")
        if not np.isfinite(positions).all():
            raise SkeletonError("every position must be finite")
        if len(self.names) not in (0, count):
            raise SkeletonError(f"expected {count} names, got {len(self.names)}")
        for node, parent in enumerate(self.parents):
            if not -1 <= parent < count:
                raise SkeletonError(f"{self.label(node)}: its parent is no node")
        if len(self.order) != count:
            loose = min(set(range(count)) - set(self.order))
            raise SkeletonError(f"{self.label(loose)}: its parents form a loop")

    def label(self, node: int) -> str:
        """Return the name of a node, or its number."""
        return repr(self.names[node]) if self.names else f"node {node}"

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        below: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(node)
        return tuple(tuple(nodes) for nodes in below)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """All nodes that hang on a root, parents first."""
        order = [node for node, parent in enumerate(self.parents) if parent < 0]
        for node in order:
            order.extend(self.children[node])
        return tuple(order)

    @cached_property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """Each node and all its descendants."""
        inside: list[list[int]] = [[node] for node in range(len(self.parents))]
        for node in reversed(self.order):
            for child in self.children[node]:
                inside[node].extend(inside[child])
        return tuple(tuple(nodes) for nodes in inside)

    @cached_property
    def twists(self) -> frozenset[int]:
        """Nodes whose hinges turn about the line from their parent: no knee, no elbow."""
        turning: dict[int, bool] = {}
        for hinge in self.hinges:
            above = self.parents[hinge.node]
            bone = self.positions[hinge.node] - self.positions[max(above, 0)]
            is_bone = above >= 0 and np.linalg.norm(bone) >= SHORT_BONE * self.size
            along = is_bone and abs(float(unit(bone) @ hinge.axis)) >= ALONG
            turning[hinge.node] = bool(along) and turning.get(hinge.node, True)
        return frozenset(node for node, along in turning.items() if along)

    @cached_property
    def size(self) -> float:
        """Diagonal of the box around all nodes."""
        return float(np.linalg.norm(np.ptp(self.positions, axis=0)))

    def joints(self, nodes: Sequence[int]) -> list[int]:
        """Return those of `nodes` that are joints."""
        return [node for node in nodes if node not in self.ends]

    def ancestors(self, node: int) -> list[int]:
        """Return `node` and what it hangs on, up to the root."""
        above = [node]
        while self.parents[above[-1]] >= 0:
            above.append(self.parents[above[-1]])
        return above

    def path(self, start: int, end: int) -> list[int]:
        """Return the nodes from `start` to `end` through the tree, both included."""
        up, down = self.ancestors(start), self.ancestors(end)
        inside = set(down)
        meet = next((node for node in up if node in inside), None)
        if meet is None:
            return up + down[::-1]
        return up[: up.index(meet) + 1] + down[: down.index(meet)][::-1]

    def distance(self, a: int, b: int) -> float:
        """Return the distance of two nodes."""
        return float(np.linalg.norm(self.positions[a] - self.positions[b]))


def joined(tree: RoleTree) -> tuple[RoleTree, int]:
    """Return one tree, and how many loose ones were hung on the nearest joint of it.

    The main tree has the most nodes. Single loose nodes stay roots.
    """
    roots = [node for node, parent in enumerate(tree.parents) if parent < 0]
    if len(roots) == 1:
        return tree, 0
    extended = [r for r in roots if np.ptp(tree.positions[list(tree.branches[r])])]
    main = max(extended or roots, key=lambda root: len(tree.branches[root]))
    parents = list(tree.parents)
    inside = [node for node in tree.branches[main] if node not in tree.ends]
    loose = [r for r in roots if r != main and len(tree.branches[r]) > 1]
    count = len(loose)
    while loose:
        gaps = tree.positions[loose][:, None] - tree.positions[inside]
        nearest = np.linalg.norm(gaps, axis=-1)
        row, column = np.unravel_index(int(nearest.argmin()), nearest.shape)
        root = loose.pop(int(row))
        parents[root] = inside[int(column)]
        inside.extend(tree.joints(tree.branches[root]))
    return replace(tree, parents=tuple(parents)), count


def branch(tree: RoleTree, root: int) -> tuple[RoleTree, list[int]]:
    """Return the tree of a node and all below it, and the nodes of `tree` that it is of."""
    nodes = sorted(tree.branches[root])
    if len(nodes) == len(tree.parents):
        return tree, nodes
    index = {node: i for i, node in enumerate(nodes)}
    return (
        replace(
            tree,
            parents=tuple(
                -1 if node == root else index[tree.parents[node]] for node in nodes
            ),
            positions=tree.positions[nodes],
            names=tuple(tree.names[node] for node in nodes) if tree.names else (),
            ends=frozenset(index[node] for node in tree.ends & index.keys()),
            still=frozenset(index[node] for node in tree.still & index.keys()),
            masses=None if tree.masses is None else tree.masses[nodes],
            centers=None if tree.centers is None else tree.centers[nodes],
            outlines={index[n]: p for n, p in tree.outlines.items() if n in index},
            hinges=tuple(
                replace(hinge, node=index[hinge.node])
                for hinge in tree.hinges
                if hinge.node in index
            ),
        ),
        nodes,
    )


def unit(vectors: Floats) -> Floats:
    """Return vectors (..., 3) of length 1; zeros stay."""
    units: Floats = vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-12)
    return units
