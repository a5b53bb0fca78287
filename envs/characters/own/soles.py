"""The soles of feet of any shape: a few contact spheres on the face that points down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from ambulo.configs.arrays import Floats, Ints

TILT = np.deg2rad(45.0)
"""Largest angle of a sole's normal from straight down at rest."""
FLAT = 0.012
"""Points within this depth, over the length of the legs, are on the face."""
RADIUS = 0.015
"""Radius of the contact spheres over the length of the legs."""
BALL_AREA = 1e-3
"""Area of a face, over the square of the length of the legs, below which a foot is a ball."""
BOX = np.array([0.30, 0.12])
"""Length and width of the soles of feet without any shape, over the length of the legs."""


@dataclass(frozen=True, eq=False)
class FootPoints:
    """Points of a foot's shapes at rest, X ahead and Z up, [m]."""

    points: Floats
    """Shape (n, 3)."""
    radii: Floats
    """Radius about each. Shape (n,)."""
    links: Ints
    """Link that each belongs to. Shape (n,)."""


@dataclass(frozen=True, eq=False)
class FootSole:
    """Contact spheres of one foot."""

    centers: Floats
    """Shape (n, 3), [m]."""
    radius: float
    """[m]."""
    links: Ints
    """Link of each sphere. Shape (n,)."""
    is_ball: bool = False
    """Whether the foot is a ball: it cannot stand still."""


def foot_sole(foot: FootPoints, leg: float) -> FootSole:
    """Return the contact spheres of a foot of legs of length `leg`, [m].

    One at each corner of the largest face that looks down, within its outline; those of a
    foot without a face are its own.
    """
    best: tuple[float, Ints, Floats] | None = None
    for normal in _directions():
        depth = foot.points @ normal + foot.radii
        near = np.flatnonzero(depth > depth.max() - FLAT * leg)
        area = _area(_on_plane(foot.points[near], normal))
        score = (area + 1e-3 * BALL_AREA * leg**2) * float(-normal[2]) ** 1.5
        if best is None or score > 1.02 * best[0]:
            best = score, near, normal
    assert best is not None
    _, near, normal = best
    flat = _on_plane(foot.points[near], normal)
    if _area(flat) < BALL_AREA * leg**2:
        return _ball_foot(foot, near, leg)
    corners = near[_corners(flat)]
    radius = RADIUS * leg
    floor = float((foot.points @ normal + foot.radii).max())
    middle = foot.points[corners].mean(axis=0)
    centers = foot.points[corners].copy()
    inwards = middle - centers
    inwards -= np.outer(inwards @ normal, normal)
    length = np.linalg.norm(inwards, axis=1)
    inset = np.minimum(radius - foot.radii[corners], 0.5 * length)
    centers += inwards * (inset / np.maximum(length, 1e-9))[:, None]
    centers += np.outer(floor - radius - centers @ normal, normal)
    return FootSole(centers, radius, foot.links[corners])


def box_sole(ankle: Floats, lowest: float, link: int, leg: float) -> FootSole:
    """Return the sole of a foot without shapes under `ankle` (3,), [m].

    `lowest` is the height of the lowest joint of the foot.
    """
    floor = lowest if lowest < ankle[2] - 0.03 * leg else ankle[2] - 0.09 * leg
    radius = RADIUS * leg
    half = 0.5 * BOX * leg - radius
    middle = np.array([ankle[0] + 0.066 * leg, ankle[1], floor + radius])
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    centers = middle + np.hstack([signs * half, np.zeros((4, 1))])
    return FootSole(centers, radius, np.full(4, link))


def joined_soles(soles: Sequence[FootSole]) -> FootSole:
    """Return the spheres of all feet of one side, which have one radius."""
    return FootSole(
        np.concatenate([sole.centers for sole in soles]),
        soles[0].radius,
        np.concatenate([sole.links for sole in soles]),
        len(soles) == 1 and soles[0].is_ball,
    )


def _directions() -> Floats:
    """Unit vectors within `TILT` of straight down, (n, 3)."""
    rows = [np.array([0.0, 0.0, -1.0])]
    for tilt in np.arange(np.deg2rad(5.0), TILT + 1e-9, np.deg2rad(5.0)):
        for turn in np.deg2rad(np.arange(0.0, 360.0, 20.0)):
            x, y = np.sin(tilt) * np.array([np.cos(turn), np.sin(turn)])
            rows.append(np.array([x, y, -np.cos(tilt)]))
    return np.array(rows)


def _on_plane(points: Floats, normal: Floats) -> Floats:
    """Coordinates of points (n, 3) along the plane of `normal`, the first ahead. (n, 2)."""
    side = np.cross(normal, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    flat: Floats = points @ np.stack([np.cross(side, normal), side], axis=1)
    return flat


def _area(flat: Floats) -> float:
    if len(flat) < 3:
        return 0.0
    try:
        return float(ConvexHull(flat).volume)
    except QhullError:
        return 0.0


def _corners(flat: Floats) -> Ints:
    """The points (n, 2) nearest to the corners of the smallest rectangle around them."""
    hull = ConvexHull(flat).vertices
    outline = flat[hull]
    best: tuple[float, Floats, Floats] | None = None
    for edge in np.roll(outline, -1, axis=0) - outline:
        along = edge / (np.linalg.norm(edge) + 1e-12)
        seen = outline @ np.array([[along[0], -along[1]], [along[1], along[0]]])
        size = np.ptp(seen, axis=0)
        area = float(size.prod())
        if best is None or area < best[0] - 1e-12:
            best = area, (seen - seen.min(axis=0)) / np.maximum(size, 1e-12), size
    assert best is not None
    place = best[1]
    found = [
        int(np.argmin(np.linalg.norm(place - corner, axis=1)))
        for corner in np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    ]
    return np.asarray(hull[list(dict.fromkeys(found))])


def _ball_foot(foot: FootPoints, near: Ints, leg: float) -> FootSole:
    """The spheres of a foot that touches the ground with balls or an edge."""
    radius = float(foot.radii[near].min())
    keep = near[:1] if len(near) == 1 else near
    if radius <= 0.0:
        radius = RADIUS * leg
    centers = foot.points[keep].copy()
    centers[:, 2] += radius - foot.radii[keep]
    return FootSole(centers, radius, foot.links[keep], is_ball=len(keep) < 3)
