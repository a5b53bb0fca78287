"""The skeleton: names, parents, bone offsets, rest orientations and angle conventions.

Axes everywhere inside the suite: metres, Z up, the character at rest faces +X, its left
hand is at +Y. Files with other axes are converted where they are read and written.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import SkeletonError, nearest
from ambulo.motion.euler import ORDERS

MAX_JOINTS = 4096
"""Maximum number of joints; a file with more is damaged."""


def frozen(values: object, shape: tuple[int, ...], what: str) -> Floats:
    """`values` as a read-only float64 array of `shape` (-1 is any length)."""
    array = np.array(values, dtype=np.float64)
    matches = array.ndim == len(shape) and all(
        want in (-1, got) for want, got in zip(shape, array.shape, strict=True)
    )
    if not matches:
        raise SkeletonError(f"{what}: expected shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise SkeletonError(f"{what}: every number must be finite")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Skeleton:
    """A tree of joints; joint 0 is the root and parents come before children.

    A joint's orientation in the world is parent * rest * local, its position is
    parent position + parent orientation * offset.
    """

    name: str
    """Name, for example "human23"."""
    joints: tuple[str, ...]
    """Joint names, J of them, all different."""
    parents: tuple[int, ...]
    """Index of each joint's parent; -1 for the root alone."""
    offsets: Floats
    """Joint from parent, in the parent's frame, [m]. Shape (J, 3). For the root: its position
    at rest."""
    rest: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    """Orientation at rest in the parent's frame, wxyz. Shape (J, 4); identities by default."""
    orders: tuple[str, ...] = ()
    """Each joint's rotation axes: "" fixed, "Y" a hinge, "ZXY" a ball, intrinsic order; "ZXY"
    everywhere by default."""
    axes: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    """Frame C in which the angles of `orders` are measured: local = C R(angles) C^-1. Shape (J,
    4); identities by default."""
    limits: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    """Lower and upper limit of each angle, joint after joint, [rad]. Shape (A, 2); (-pi, pi)
    everywhere by default."""
    tip_parents: tuple[int, ...] = ()
    """Joints that carry a tip (a finger's or toe's end)."""
    tips: Floats = field(default_factory=lambda: np.zeros((0, 3)))
    """Tips in the frames of their joints, [m]. Shape (len(tip_parents), 3)."""
    roles: dict[str, int] = field(default_factory=dict)
    """Joint of each role, if given; {}: detected (`ambulo.motion.roles`)."""
    chains: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Consecutive joints, from the trunk outwards, that rotate the part of a role, if given
    with the roles; by default the role's joint alone."""

    def __post_init__(self) -> None:
        """Fill in defaults and validate; raise `SkeletonError` naming the broken rule."""
        count = len(self.joints)
        if not 1 <= count <= MAX_JOINTS:
            raise SkeletonError(
                f"{self.name}: {count} joints; expected 1 to {MAX_JOINTS}"
            )
        if len(set(self.joints)) != count:
            twice = next(n for n in self.joints if self.joints.count(n) > 1)
            raise SkeletonError(f"{self.name}: two joints are called {twice!r}")
        self._check_tree()
        if not self.orders:
            object.__setattr__(self, "orders", ("ZXY",) * count)
        if len(self.orders) != count or not set(self.orders) <= ORDERS | {""}:
            raise SkeletonError(
                f"{self.name}: orders must name one rotation order for each joint"
            )
        angles = sum(len(order) for order in self.orders)
        identity = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        given: tuple[tuple[str, object, tuple[int, ...]], ...] = (
            ("offsets", self.offsets, (count, 3)),
            ("rest", self.rest if len(self.rest) else identity, (count, 4)),
            ("axes", self.axes if len(self.axes) else identity, (count, 4)),
            (
                "limits",
                self.limits if len(self.limits) else [[-np.pi, np.pi]] * angles,
                (angles, 2),
            ),
            ("tips", self.tips, (len(self.tip_parents), 3)),
        )
        for name, values, shape in given:
            if name == "limits" and not angles:
                values = np.zeros((0, 2))  # noqa: PLW2901
            what = f"{self.name}: {name}"
            object.__setattr__(self, name, frozen(values, shape, what))
        for name in ("rest", "axes"):
            with np.errstate(over="ignore"):
                lengths = np.linalg.norm(getattr(self, name), axis=1)
            if np.abs(lengths - 1.0).max() > 1e-6:
                raise SkeletonError(f"{self.name}: {name} must be unit quaternions")
        if np.any(self.limits[:, 0] > self.limits[:, 1]):
            raise SkeletonError(
                f"{self.name}: a lower limit lies above its upper limit"
            )

    def _check_tree(self) -> None:
        if len(self.parents) != len(self.joints) or self.parents[0] != -1:
            raise SkeletonError(
                f"{self.name}: one parent for each joint, and -1 for the first"
            )
        for joint, parent in enumerate(self.parents[1:], start=1):
            if not 0 <= parent < joint:
                raise SkeletonError(
                    f"{self.name}: the parent of {self.joints[joint]!r} must come before it"
                )
        if any(not 0 <= joint < len(self.joints) for joint in self.tip_parents):
            raise SkeletonError(f"{self.name}: a tip belongs to no joint")
        for role, joint in (
            *self.roles.items(),
            *((role, joint) for role, chain in self.chains.items() for joint in chain),
        ):
            if not 0 <= joint < len(self.joints):
                raise SkeletonError(f"{self.name}: {role} belongs to no joint")
        for role, chain in self.chains.items():
            if any(self.parents[b] != a for a, b in pairwise(chain)):
                raise SkeletonError(
                    f"{self.name}: the chain of {role} must be joints in a row, each the parent"
                    " of the next"
                )

    def __repr__(self) -> str:
        """Name and number of joints, without the arrays."""
        return f"<Skeleton {self.name!r}: {len(self)} joints>"

    def __len__(self) -> int:
        """The number of joints."""
        return len(self.joints)

    def index(self, joint: str) -> int:
        """Index of the joint called `joint`; `SkeletonError` lists the valid names."""
        try:
            return self._indices[joint]
        except KeyError:
            raise SkeletonError(
                f"{self.name} has no joint {joint!r}{nearest(joint, self.joints)}"
            ) from None

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joints)}

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """The joints of each depth, the root's first: (1,), (n1,), ..."""
        depth = [0] * len(self)
        for joint, parent in enumerate(self.parents[1:], start=1):
            depth[joint] = depth[parent] + 1
        depths = np.array(depth)
        return tuple(np.flatnonzero(depths == d) for d in range(depths.max() + 1))

    @cached_property
    def angle_slices(self) -> tuple[slice, ...]:
        """Slice of each joint's angles in a vector of all angles, (A,)."""
        stops = np.cumsum([len(order) for order in self.orders]).tolist()
        return tuple(
            slice(stop - len(order), stop)
            for stop, order in zip(stops, self.orders, strict=True)
        )

    @cached_property
    def depth_first(self) -> tuple[int, ...]:
        """All joints, each followed by the whole branch below it."""
        order: list[int] = []
        waiting = [0]
        while waiting:
            order.append(waiting.pop())
            waiting.extend(reversed(self.children(order[-1])))
        return tuple(order)

    def children(self, joint: int) -> tuple[int, ...]:
        """Indices of the joints whose parent is `joint`."""
        return tuple(j for j, parent in enumerate(self.parents) if parent == joint)

    def path(self, start: int, end: int) -> list[int]:
        """The joints from `start` down to `end`, inclusive; [] if `end` is not below it."""
        joints = [end]
        while joints[-1] != start:
            if joints[-1] < 0:
                return []
            joints.append(self.parents[joints[-1]])
        return joints[::-1]

    def branch(self, joint: int) -> list[int]:
        """`joint` and all its descendants."""
        inside = {joint}
        for child in range(joint + 1, len(self)):
            if self.parents[child] in inside:
                inside.add(child)
        return sorted(inside)

    def scaled(self, factor: float) -> Skeleton:
        """Return the skeleton scaled by `factor`."""
        return self.replace(offsets=self.offsets * factor, tips=self.tips * factor)

    def replace(self, **changes: object) -> Skeleton:
        """A checked copy with other field values."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def same_tree(self, other: Skeleton) -> bool:
        """Whether joints and parents are those of `other` (sizes may differ)."""
        return self.joints == other.joints and self.parents == other.parents
