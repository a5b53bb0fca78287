"""Outdoor places: courses with fences and planks over ditches, parks, gardens.

Heights: fences 1.0 to 1.2 m, hedges 0.8 to 1.8 m, low walls 0.4 to 0.9 m, as gardeners build
them. A plank or footbridge is 0.8 to 1.3 m wide, so that the body can walk on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ambulo.envs.vr.families.draft import Draft, Gap, spread
from ambulo.envs.vr.families.places import pieces
from ambulo.envs.vr.families.places.site import FurnitureGroup, Room, Site
from ambulo.envs.vr.families.places.sizes import RADII

PLANKS = (0.8, 1.3)
"""Range of plank widths, [m]."""
GATES = (0.85, 1.6)
"""Range of gaps in fences and hedges, [m]."""
_FENCE = 0.06


class Lane:
    """A course: obstacles across the path from its first to its last metre."""

    def __init__(self, draft: Draft, axis: int) -> None:
        """A course across `axis` (0: elements lie along x, the path along y)."""
        x0, y0, x1, y1 = draft.region
        self.draft, self.rng, self.axis = draft, draft.rng, axis
        self.low, self.high = (x0, x1) if axis == 0 else (y0, y1)
        self.first, self.last = (y0, y1) if axis == 0 else (x0, x1)

    def point(self, across: float, along: float) -> tuple[float, float]:
        """World (x, y) of a point on the course, [m]."""
        return (across, along) if self.axis == 0 else (along, across)

    def gaps(self, widths: Gap, more: float = 0.25) -> list[Gap]:
        """One opening from side to side, or two well apart."""
        width = self.rng.uniform(*widths)
        gaps = [self.draft.gap(self.low + 0.4, self.high - 0.4, width)]
        if self.rng.random() < more:
            other = self.draft.gap(self.low + 0.4, self.high - 0.4, width)
            if abs(other[0] - gaps[0][0]) > width + 1.0:
                gaps.append(other)
        return gaps

    def barrier(
        self, at: float, gaps: list[Gap], thickness: float, height: float
    ) -> None:
        """A fence, hedge or wall across the lane at `at`, with gaps."""
        lean = self.rng.uniform(-0.25, 0.25) if self.rng.random() < 0.25 else 0.0
        middle = (self.low + self.high) / 2
        position = self.low
        for g0, g1 in [*sorted(gaps), (self.high, self.high)]:
            if g0 - position > 0.1:
                ends = [
                    self.point(p, at + lean * (p - middle) / 4) for p in (position, g0)
                ]
                self.draft.segment(ends[0], ends[1], thickness, height)
            position = g1

    def ditch(self, at: float, width: float, planks: list[Gap]) -> None:
        """A ditch across the lane with planks over it."""
        self.draft.line(
            self.axis, at + width / 2, self.low, self.high, planks, width, trench=True
        )


def outdoor(rng: np.random.Generator) -> Draft:
    """A course, a park or a garden."""
    kind = rng.random()
    if kind < 0.5:
        return _course(rng)
    return _park(rng) if kind < 0.8 else _garden(rng)


def _course(rng: np.random.Generator) -> Draft:
    """Fences, ditches, hedges, tree rows and pits, one after the other."""
    length, width = rng.uniform(15, 33), rng.uniform(5.5, 14)
    axis = int(rng.integers(2))
    draft = Draft(rng, *((width, length) if axis == 0 else (length, width)))
    _enclose(draft)
    lane = Lane(draft, axis)
    at = lane.first + rng.uniform(2.0, 3.2)
    names = list(_ELEMENTS)
    while at < lane.last - 2.2:
        element = _ELEMENTS[names[int(rng.integers(len(names)))]]
        at += element(lane, at) + rng.uniform(1.3, 3.2)
    across = [rng.uniform(lane.low + 0.8, lane.high - 0.8) for _ in range(2)]
    ends = [
        lane.point(across[0], lane.first + 0.8),
        lane.point(across[1], min(lane.last - 0.8, lane.first + 28.0)),
    ]
    if rng.random() < 0.5:
        ends.reverse()
    draft.start, draft.goal = ends
    return draft


def _enclose(draft: Draft) -> None:
    """Build a fence, a hedge or a wall around the floor, or none (open edges)."""
    rng = draft.rng
    x0, y0, x1, y1 = draft.region
    if rng.random() < 0.2:
        return
    t, h = ((_FENCE, 1.2), (0.7, 1.8), (0.25, 0.9))[
        int(rng.choice(3, p=[0.6, 0.2, 0.2]))
    ]
    half = t / 2
    for a, b in (
        ((x0, y0 + half), (x1, y0 + half)), ((x0, y1 - half), (x1, y1 - half)),
        ((x0 + half, y0), (x0 + half, y1)), ((x1 - half, y0), (x1 - half, y1)),
    ):  # fmt: skip
        draft.segment(a, b, t, h)


def _fence(lane: Lane, at: float) -> float:
    lane.barrier(at, lane.gaps(GATES), _FENCE, lane.rng.uniform(1.0, 1.2))
    return _FENCE


def _hedge(lane: Lane, at: float) -> float:
    thick = lane.rng.uniform(0.5, 0.9)
    lane.barrier(at + thick / 2, lane.gaps(GATES), thick, lane.rng.uniform(0.8, 1.8))
    return thick


def _low_wall(lane: Lane, at: float) -> float:
    lane.barrier(at, lane.gaps((1.0, 2.0)), 0.3, lane.rng.uniform(0.4, 0.9))
    return 0.3


def _ditch(lane: Lane, at: float) -> float:
    width = lane.rng.uniform(0.6, 2.2)
    if at + width > lane.last - 1.2:
        return 0.0
    lane.ditch(at, width, lane.gaps(PLANKS))
    return width


def _pits(lane: Lane, at: float) -> float:
    """A row of square pits with paths between them."""
    rng = lane.rng
    deep = rng.uniform(0.8, 1.8)
    if at + deep > lane.last - 1.2:
        return 0.0
    position = lane.low + rng.uniform(0.0, 1.2)
    while position < lane.high - 0.5:
        wide = rng.uniform(0.6, 1.8)
        end = min(position + wide, lane.high)
        low, high = lane.point(position, at), lane.point(end, at + deep)
        lane.draft.hole(*low, *high)
        position = end + rng.uniform(0.85, 1.6)
    return deep


def _trees(lane: Lane, at: float) -> float:
    """A belt of trees and bushes."""
    rng = lane.rng
    deep = rng.uniform(1.5, 4.0)
    low, high = lane.point(lane.low + 0.4, at), lane.point(lane.high - 0.4, at + deep)
    bushes = rng.random() < 0.5
    radii = RADII["bush"][:2] if bushes else RADII["tree"][:2]
    region = (*low, *high)
    for x, y, r in spread(rng, region, radii, rng.uniform(0.75, 1.4), 14):
        lane.draft.cylinder(x, y, r, RADII["bush" if bushes else "tree"][2])
    return deep


def _logs(lane: Lane, at: float) -> float:
    """Scattered logs, benches and troughs."""
    rng = lane.rng
    for _ in range(int(rng.integers(1, 4))):
        across = rng.uniform(lane.low + 1.0, lane.high - 1.0)
        x, y = lane.point(across, at + rng.uniform(0.0, 1.5))
        half = rng.uniform(0.7, 1.6)
        lane.draft.box(
            x, y, half, rng.uniform(0.15, 0.3), rng.uniform(0, math.pi), 0.45
        )
    return 1.5


def _slalom(lane: Lane, at: float) -> float:
    """Two fences with gaps at opposite sides."""
    rng = lane.rng
    gate, between = rng.uniform(*GATES), rng.uniform(1.2, 2.0)
    if at + between > lane.last - 1.5:
        return 0.0
    ends = [
        (lane.low + 0.3, lane.low + 0.3 + gate),
        (lane.high - 0.3 - gate, lane.high - 0.3),
    ]
    if rng.random() < 0.5:
        ends.reverse()
    for k, gap in enumerate(ends):
        lane.barrier(at + k * between, [gap], _FENCE, 1.1)
    return between


_ELEMENTS: dict[str, Callable[[Lane, float], float]] = {
    "ditch": _ditch,
    "fence": _fence,
    "hedge": _hedge,
    "logs": _logs,
    "low_wall": _low_wall,
    "pits": _pits,
    "slalom": _slalom,
    "trees": _trees,
}
"""Elements of a course: each builds itself at a distance and returns its depth, [m]."""


def _park(rng: np.random.Generator) -> Draft:
    """Trees, hedges, benches, flower beds, a pond."""
    draft = Draft(rng, sizes=(13.0, 30.0))
    _enclose(draft)
    site = Site(draft)
    room = Room(draft.inner(0.8), "park")
    for _ in range(int(rng.integers(0, 3))):
        _pond(site, room)
    for _ in range(int(rng.integers(2, 9))):
        length = rng.uniform(1.5, 6.0)
        hedge = rng.random() < 0.6
        thick, high = (
            (rng.uniform(0.5, 0.8), 1.2) if hedge else (0.3, rng.uniform(0.4, 0.8))
        )
        part = pieces.block(0.0, 0.0, length, thick, high)
        site.amid(room, FurnitureGroup((part,)), 0.8, tries=5, turned=0.25)
    for _ in range(int(rng.integers(2, 7))):
        w, d = rng.uniform(1.0, 3.0, 2)
        bed = FurnitureGroup((pieces.block(0.0, 0.0, w, d, 0.3),))
        site.amid(room, bed, 0.8, tries=4, turned=0.15)
    for _ in range(int(rng.integers(2, 9))):
        site.amid(room, pieces.single(rng, "bench"), 0.5, tries=4, turned=0.4)
    names = ["tree", "tree", "bush", "lamp_post", "bin", "round_display"]
    for _ in range(int(room.area * rng.uniform(0.06, 0.2))):
        name = names[int(rng.integers(len(names)))]
        site.amid(room, pieces.round_piece(rng, name), rng.uniform(0.6, 0.9), tries=3)
    return draft


def _pond(site: Site, room: Room) -> None:
    """A pond of one or two rectangles, at times with a footbridge."""
    rng = site.rng
    w, d = rng.uniform(2.0, 6.0), rng.uniform(1.5, 4.0)
    x0, y0, x1, y1 = room.region
    if x1 - x0 < w + 3 or y1 - y0 < d + 3:
        return
    x, y = rng.uniform(x0 + 1.2, x1 - w - 1.2), rng.uniform(y0 + 1.2, y1 - d - 1.2)
    grown = (x - 0.8, y - 0.8, x + w + 0.8, y + d + 0.8)
    if site.solid.meets(grown):
        return
    if w > 3.0 and rng.random() < 0.5:
        bridge = rng.uniform(*PLANKS)
        at = x + rng.uniform(0.6, w - bridge - 0.6)
        site.draft.hole(x, y, at, y + d)
        site.draft.hole(at + bridge, y, x + w, y + d)
        site.clear.add((at - 0.2, y - 1.2, at + bridge + 0.2, y + d + 1.2))
    else:
        cut = rng.uniform(0.0, 0.3) * w
        site.draft.hole(x, y, x + w - cut, y + d / 2)
        site.draft.hole(x + cut, y + d / 2, x + w, y + d)
    site.solid.add((x, y, x + w, y + d))


def _garden(rng: np.random.Generator) -> Draft:
    """Raised beds in rows, hedges with gates between plots, a shed, barrels."""
    draft = Draft(rng, sizes=(12.0, 24.0))
    _enclose(draft)
    x0, y0, x1, y1 = draft.region
    lane = Lane(draft, int(rng.integers(2)))
    site = Site(draft)
    room = Room(draft.inner(0.9), "garden")
    plots = int(rng.integers(1, 4))
    for k in range(1, plots):
        at = lane.first + k * (lane.last - lane.first) / plots
        gaps = lane.gaps(GATES, 0.5)
        thick, high = ((_FENCE, 1.1), (0.6, 1.4))[int(rng.integers(2))]
        lane.barrier(at, gaps, thick, high)
        low, top = lane.point(lane.low, at - 0.6), lane.point(lane.high, at + 0.6)
        site.clear.add((*low, *top))
    shed = FurnitureGroup(
        (pieces.block(0.0, 0.9, 2.4, 1.8, 2.2),), ((-1.2, 1.8, 1.2, 2.8),)
    )
    site.at_wall(room, shed, corner=0.7)
    path = rng.uniform(0.75, 1.2)
    w, d = rng.uniform(1.0, 1.5), rng.uniform(1.8, 4.0)
    if rng.random() < 0.5:
        w, d = d, w
    missing = rng.uniform(0.05, 0.4)
    for y in np.arange(y0 + 1.0 + d / 2, y1 - 1.0 - d / 2, d + path):
        for x in np.arange(x0 + 1.0 + w / 2, x1 - 1.0 - w / 2, w + path):
            if rng.random() > missing:
                bed = FurnitureGroup((pieces.block(0.0, 0.0, w, d, 0.4),))
                site.put(bed, float(x), float(y), 0.0, room.region, 0.6)
    for _ in range(int(rng.integers(2, 12))):
        name = str(rng.choice(["bush", "tree", "bin", "round_display"]))
        site.amid(room, pieces.round_piece(rng, name), 0.6, tries=5)
    site.at_wall(room, pieces.single(rng, "bench"))
    return draft
