"""Moving bodies as points and bones, for drawing motions on any skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import MotionError
from ambulo.motion.landmarks import body_points, carrier, rest_points
from ambulo.motion.motion import Motion
from ambulo.motion.skeleton import Skeleton

LEFT, MIDDLE, RIGHT = 1, 0, -1
"""Side of a bone."""


@dataclass(frozen=True, eq=False)
class Actor:
    """A moving body as points and the bones between them."""

    positions: Floats
    """World positions of joints, then tips, [m]. Shape (T, P, 3)."""
    bones: Ints
    """The two points of each bone, the nearer to the root first. Shape (B, 2)."""
    sides: Ints
    """LEFT, MIDDLE or RIGHT of each bone. Shape (B,)."""
    widths: Floats
    """Drawn thickness of each bone, [m]. Shape (B,)."""
    head: tuple[int, ...] = ()
    """Points whose mean is the middle of the head, possibly repeated; empty: no head."""
    head_radius: float = 0.1
    """Drawn radius of the head, [m]."""
    ground: float = 0.0
    """Height of the ground under the feet, [m]."""
    feet: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The bones of the left and of the right foot, for contacts."""
    flanks: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """Points of hips and shoulders, left and right, which determine the heading."""
    contacts: Bools | None = None
    """Contacts of the left and the right foot. Shape (T, 2)."""
    label: str = ""
    """A title."""
    body: int = 0
    """The joint whose path is that of the body."""

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.positions)

    def __getitem__(self, frames: slice) -> Actor:
        """The frames of a slice."""
        contacts = None if self.contacts is None else self.contacts[frames]
        return replace(self, positions=self.positions[frames], contacts=contacts)

    @cached_property
    def drawn(self) -> Floats:
        """World positions of the points that bones join, [m]. Shape (T, D, 3).

        A static root far from the body is not among them.
        """
        return self.positions[:, np.unique(self.bones)]

    @property
    def root(self) -> Floats:
        """World position of the joint that carries the body, [m]. Shape (T, 3)."""
        return self.positions[:, self.body]


def actor_of(
    motion: Motion, *, contacts: Bools | None = None, label: str = ""
) -> Actor:
    """The actor of `motion`, tips included.

    Args:
        motion: T frames.
        contacts: Contacts of left and right foot, shape (T, 2).
        label: A title; by default the motion's name.
    """
    return actor_of_positions(
        motion.skeleton,
        body_points(motion),
        contacts=contacts,
        label=label or motion.name,
    )


def on_one_ground(actors: Sequence[Actor]) -> list[Actor]:
    """Return actors on the ground of the first of them."""
    return [replace(actor, ground=actors[0].ground) for actor in actors]


def actor_of_positions(
    skeleton: Skeleton,
    positions: Floats,
    *,
    contacts: Bools | None = None,
    ground: float | None = None,
    label: str = "",
) -> Actor:
    """The actor with given points.

    Args:
        skeleton: Skeleton of J joints and K tips, for bones and sides.
        positions: World positions, [m]. Shape (T, J, 3), or (T, J + K, 3) with the tips.
        contacts: Contacts of left and right foot, shape (T, 2).
        ground: Height of the ground, [m]; by default the usual height of the lowest points.
        label: A title.

    Raises:
        MotionError: The positions do not match the skeleton.
    """
    joints, tips = len(skeleton), len(skeleton.tip_parents)
    points = np.asarray(positions, dtype=np.float64)
    if points.ndim != 3 or points.shape[1] not in (joints, joints + tips):
        raise MotionError(
            f"{label or skeleton.name}: positions: expected shape (T, {joints}, 3), "
            f"got {points.shape}"
        )
    parents = [-1, *skeleton.parents[1:], *skeleton.tip_parents][: points.shape[1]]
    rest = rest_points(skeleton)[: points.shape[1]]
    height = float(np.ptp(rest[:, 2])) or 1.0
    body = carrier(skeleton, points)
    rest = rest - [0.0, rest[body, 1], 0.0]  # the body's middle is at y = 0
    head, inside = _head(rest, parents, height)
    inside |= set(skeleton.path(0, body)[1:])  # no bone joins the body to a static root
    drawn = [
        (parent, point)
        for point, parent in enumerate(parents)
        if parent >= 0
        and point not in inside
        and np.linalg.norm(rest[point] - rest[parent]) > 1e-3 * height
    ]
    bones = np.array(drawn, dtype=np.int64).reshape(-1, 2)
    lengths = np.linalg.norm(rest[bones[:, 1]] - rest[bones[:, 0]], axis=1)
    sides = _sides(rest, bones[:, 1], height)
    thinnest = np.where(sides == MIDDLE, 0.024, 0.007) * height
    if ground is None:
        lowest = points[:, np.unique(bones), 2].min(axis=1)
        ground = float(np.percentile(lowest, 5))
    return Actor(
        positions=points,
        bones=bones,
        sides=sides,
        widths=np.clip(0.25 * lengths, thinnest, 0.028 * height),
        head=head,
        head_radius=0.058 * height,
        ground=ground,
        feet=(_foot(rest, bones, sides, LEFT), _foot(rest, bones, sides, RIGHT)),
        flanks=_flanks(rest, bones, sides, height),
        contacts=contacts,
        label=label,
        body=body,
    )


def _sides(rest: Floats, points: Ints, height: float) -> Ints:
    """LEFT, MIDDLE or RIGHT of points at rest: the middle is at Y 0, the left at +Y."""
    across = rest[points, 1]
    sides = np.where(np.abs(across) < 0.008 * height, MIDDLE, np.sign(across))
    return sides.astype(np.int64)


def _head(
    rest: Floats, parents: Sequence[int], height: float
) -> tuple[tuple[int, ...], frozenset[int]]:
    """Points of the head's middle, and points inside it whose bones are not drawn.

    The head is at the end of the highest bone in the middle; its children (eyes, jaw) are
    inside.
    """
    middle = _sides(rest, np.arange(len(rest)), height) == MIDDLE
    middle[0] = False
    tops = np.where(middle, rest[:, 2], -np.inf)
    if tops.max() < rest[:, 2].max() - 0.1 * height:
        return (), frozenset()
    top = int(tops.argmax())
    inside: set[int] = set()
    for point, parent in enumerate(parents):
        if parent == top or parent in inside:
            inside.add(point)
    if inside:
        return (top, *sorted(inside)), frozenset(inside)
    return (parents[top], top, top), frozenset()


def _flanks(
    rest: Floats, bones: Ints, sides: Ints, height: float
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Ends of bones that start in the middle of the body: left, right."""
    central = _sides(rest, bones[:, 0], height) == MIDDLE
    left = bones[central & (sides == LEFT), 1]
    right = bones[central & (sides == RIGHT), 1]
    return tuple(left.tolist()), tuple(right.tolist())


def _foot(rest: Floats, bones: Ints, sides: Ints, side: int) -> tuple[int, ...]:
    """The bones of one side that end near the ground at rest, [indices]."""
    low = rest[:, 2].min() + 0.06 * float(np.ptp(rest[:, 2]))
    near = (rest[bones[:, 1], 2] < low) & (sides == side)
    # A shank ends low too where the ankle has no height of its own.
    drop = np.abs(rest[bones[:, 0], 2] - rest[bones[:, 1], 2])
    length = np.linalg.norm(rest[bones[:, 0]] - rest[bones[:, 1]], axis=1)
    return tuple(np.flatnonzero(near & (drop < 0.8 * length)).tolist())


def headings(actor: Actor) -> Floats:
    """The direction that the body faces in each frame, [rad]. Shape (T,).

    Orthogonal to the line from the right to the left hips and shoulders; 0 without them.
    """
    left, right = (list(points) for points in actor.flanks)
    if not left or not right:
        return np.zeros(len(actor))
    across = actor.positions[:, left].mean(axis=1) - actor.positions[:, right].mean(
        axis=1
    )
    angles: Floats = np.arctan2(-across[:, 0], across[:, 1])
    return angles


def mean_heading(actor: Actor) -> float:
    """The mean direction that the body faces, [rad]."""
    angles = headings(actor)
    return float(np.arctan2(np.sin(angles).mean(), np.cos(angles).mean()))
