"""A level in MuJoCo, with the geometric queries of `mujoco_world`.

`mj_ray` finds floors, `mj_geomDistance` the contacts of the capsule of a body or of a vertical
line. Nothing is simulated: `mj_step` is not called.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import LevelError
from ambulo.envs.vr.contract import (
    BODY_HEIGHT,
    BODY_RADIUS,
    CAPSULE_LOW,
    CLIMB_HEIGHT,
    MAX_SEAM,
    STEEPEST_FLOOR,
    WorldSpec,
)
from ambulo.envs.vr.geometry.push_kernels import TOUCH_DEPTH
from ambulo.envs.vr.geometry.solid_kernels import BOX, CYLINDER, PERSON
from ambulo.envs.vr.geometry.solid_ray_kernels import (
    DROP,
    FLOOR_PARTS,
    MOVER,
    NOTHING,
    WALL,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids, is_floor

MOST_GEOMS = 20_000
"""Largest number of shapes of one level; each triangle of a mesh or terrain is one."""
LINE_RADIUS = 2e-4
"""Radius of the vertical line, [m]."""

_DIAGONAL = BODY_RADIUS * math.sqrt(0.5)
"""A rim this far above or below the capsule's axis touches it at 45 degrees, [m]."""
_BESIDE = np.array([1e-6, 1.6e-6, 0.0])
"""Lateral offset of rays, which would slip through where two triangles meet, [m]."""
_NEXT = 1e-5
"""Distance below a face that is no floor at which a ray continues, [m]."""
_LIFT = 2e-5
"""Raise of bottoms, so that such a ray hits the floor below a shape, [m]."""
_STRIDE, _WITHIN, _EXACT = 0.25, 2e-4, 1e-3
"""Longest segment of a ray with a single check, distance of the check from its ends, and
tolerance of obstacles between them, [m]."""
_BEFORE, _BEHIND = 0.02, 0.03
"""The last floor along a ray is read this far before its end, and an obstacle this far behind
an edge also ends it, [m]."""
_TINY, _SMALL = 1e-9, 1e-6
_FLAT, _FLOOR, _OTHER = range(3)
"""Groups of geoms: boxes and cylinders; floors of triangles; people, triangles, the body."""
_FLOORS = np.array([1, 1, 0, 0, 0, 0], np.uint8)
"""Groups of geoms that can be floors."""


class Way(NamedTuple):
    """Result of a ray along the floor."""

    reach: float
    """Free distance, [m]."""
    kind: int
    """Kind of its end, see `solid_ray_kernels`."""
    floors: Floats
    """Floor along it above the feet, shape (FLOOR_PARTS,), [m]."""


class Scene:
    """A level with heights, for bodies of one height.

    Its geoms are boxes and cylinders, of which the last ones move (the rows of `MovingThings`),
    then triangles, the capsule, the line, and the triangles that are floors as one mesh. Envs
    of one level share it: movers are placed before every query.
    """

    def __init__(self, level: Level, tall: float) -> None:
        """The scene of `level` for bodies `tall` [m].

        Raises:
            LevelError: There are too many shapes.
        """
        solids = Solids.of(level)
        rows, triangles = _rows(level, solids), solids.triangles
        faces = triangles[:, :9].reshape(-1, 3, 3)[:, [0, 1, 2, 2]]
        self.tall, self.flat, shapes = tall, len(rows), len(rows) + len(faces)
        if shapes > MOST_GEOMS:
            raise LevelError(
                f"level {level.name!r}: {shapes} shapes and triangles, and world = mujoco "
                f"takes {MOST_GEOMS}: use world = compiled"
            )
        floors = faces[is_floor(triangles)]
        self.model = _spec(rows, faces[:, :3], floors[:, :3], tall).compile()
        self.data = mujoco.MjData(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.capsule, self.line = shapes, shapes + 1
        self.moving = len(solids.prisms) + len(solids.cylinders)
        """Number of the first geom that moves."""
        self.person = np.append(rows[:, 8], np.zeros(len(faces))) == PERSON
        self.normals = triangles[:, 9:12]
        flat = np.zeros((len(rows), 3))
        self.corners = np.concatenate([np.zeros((len(rows), 4, 2)), faces[:, :, :2]])
        """Corners of the shapes in plan, in turn, shape (G, 4, 2), [m]."""
        self.radius = np.zeros(shapes)
        """Radius of cylinders, else 0, shape (G,), [m]."""
        self.low = np.concatenate([flat, faces.min(axis=1)])
        self.high = np.concatenate([flat, faces.max(axis=1)])
        """Upper x, y, z of the shapes, shape (G, 3), [m]."""
        self._place(0, rows)

    def move(self, rows: Floats) -> None:
        """Place the movers at `rows` (M, 9) of `MovingThings`."""
        if len(rows):
            self._place(self.moving, rows)

    def _place(self, first: int, rows: Floats) -> None:
        """Place geoms from index `first` on at `rows` (n, 9)."""
        x, y, a, b, cos, sin, bottom, top, kind = rows.T
        here, zero = slice(first, first + len(rows)), np.zeros(len(rows))
        turn = [cos, -sin, zero, sin, cos, zero, zero, zero, zero + 1.0]
        self.data.geom_xpos[here] = np.column_stack([x, y, (bottom + top + _LIFT) / 2])
        self.data.geom_xmat[here] = np.column_stack(turn)
        u, v = np.outer([1, -1, -1, 1], a), np.outer([1, 1, -1, -1], b)
        px, py = x + cos * u - sin * v, y + sin * u + cos * v
        self.corners[here] = np.stack([px.T, py.T], axis=-1)
        self.radius[here] = np.where(kind == BOX, 0.0, a)
        self.low[here] = np.column_stack([px.min(axis=0), py.min(axis=0), bottom])
        self.high[here] = np.column_stack([px.max(axis=0), py.max(axis=0), top])

    def near(self, x: float, y: float, reach: float) -> Ints:
        """Geoms that may be within `reach` of (x, y)."""
        point = np.array([x, y])
        apart = (self.low[:, :2] > point + reach) | (self.high[:, :2] < point - reach)
        return np.flatnonzero(~apart.any(axis=1))

    def floor(self, x: float, y: float, highest: float) -> tuple[float, int]:
        """Height of the highest floor at (x, y) up to `highest`, and its mover.

        A floor is a face tilted by at most 45 degrees. No floor: -inf; no mover: -1.
        """
        point = np.array([x, y, highest + _TINY]) + _BESIDE
        down, normal = np.array([0.0, 0.0, -1.0]), np.zeros(3)
        geom = np.zeros(1, np.int32)
        while True:
            way = mujoco.mj_ray(
                self.model, self.data, point, down, _FLOORS, 1, -1, geom, normal
            )
            if way < 0.0:
                return -math.inf, -1
            if normal[2] >= STEEPEST_FLOOR:
                on = int(geom[0])
                mover = on - self.moving if self.moving <= on < self.flat else -1
                return min(float(point[2]) - way, highest), mover
            point[2] -= way + _NEXT

    def is_clear(self, x: float, y: float, floor: float, geoms: Ints) -> bool:
        """Whether none of `geoms` obstructs a body at (x, y) on a floor."""
        return self.first_at(x, y, floor, geoms) < 0

    def first_at(self, x: float, y: float, floor: float, geoms: Ints) -> int:
        """First of `geoms` that obstructs a body at (x, y) on a floor; -1: none.

        The body is from `CLIMB_HEIGHT` over the floor to its own height.
        """
        bottom, top = floor + CLIMB_HEIGHT + _SMALL, floor + self.tall - _SMALL
        between = (self.low[geoms, 2] < top) & (self.high[geoms, 2] > bottom)
        self.data.geom_xpos[self.line] = x, y, (bottom + top) / 2
        for geom in geoms[between].tolist():
            gap = mujoco.mj_geomDistance(
                self.model, self.data, geom, self.line, 0.0, None
            )
            if gap < 0:
                return int(geom)
        return -1

    def is_visible(self, eye: Floats, point: Floats) -> bool:
        """Whether no static shape is between two points (3,)."""
        left = math.dist(eye, point)
        way = (point - eye) / max(left, _TINY)
        at, geom = eye.copy(), np.zeros(1, np.int32)
        while True:
            far = mujoco.mj_ray(self.model, self.data, at, way, None, 1, -1, geom, None)
            if far < 0.0 or far >= left:
                return True
            moves = self.moving <= geom[0] < self.flat
            if not moves and geom[0] not in (self.capsule, self.line):
                return False
            at, left = at + way * (far + _NEXT), left - far - _NEXT

    def overlaps(self, x: float, y: float, z: float) -> tuple[Floats, Ints]:
        """Overlaps of the capsule of a body that stands at (x, y, z), and their geoms.

        Unit vector out of the shape (horizontal), and distance along it [m], shape (n, 3); the
        distance is inf if a triangle cuts the axis.
        """
        middle = (CAPSULE_LOW + self.tall - _DIAGONAL) / 2
        self.data.geom_xpos[self.capsule] = x, y, z + middle
        found, geoms, ends = [], [], np.empty(6)
        for geom in self.near(x, y, BODY_RADIUS).tolist():
            overlap = -mujoco.mj_geomDistance(
                self.model, self.data, geom, self.capsule, 0.0, ends
            )
            if overlap <= TOUCH_DEPTH:
                continue
            out = (ends[:3] - ends[3:]) / overlap
            aside = math.hypot(out[0], out[1])
            if geom < self.flat:
                way = way_out_of_flat(abs(out[2]), aside, BODY_RADIUS - overlap)
            else:
                slope = abs(out @ self.normals[geom - self.flat])
                way = way_out_of_triangle(out[2], aside, overlap, slope)
            if way > TOUCH_DEPTH:
                found.append([*(out[:2] / max(aside, _TINY)), way])
                geoms.append(geom)
        return np.array(found).reshape(-1, 3), np.array(geoms, np.int64)

    def spans(
        self, geoms: Ints, x: float, y: float, cos: float, sin: float
    ) -> tuple[Floats, Floats]:
        """Distances at which a ray from (x, y) along (cos, sin) enters and leaves `geoms` (k,).

        In plan, each (k,), [m]; inf and -inf for misses.
        """
        dx, dy = np.moveaxis(self.corners[geoms] - (x, y), -1, 0)
        along, across = cos * dx + sin * dy, cos * dy - sin * dx
        ahead, beside = along[:, [1, 2, 3, 0]], across[:, [1, 2, 3, 0]]
        cut = (across > 0) != (beside > 0)
        at = along + across / np.where(cut, across - beside, 1.0) * (ahead - along)
        enter = np.where(cut, at, math.inf).min(axis=1)
        leave = np.where(cut, at, -math.inf).max(axis=1)
        radius, middle = self.radius[geoms], along.mean(axis=1)
        square = radius**2 - across.mean(axis=1) ** 2
        half = np.where(square > 0, np.sqrt(np.abs(square)), -math.inf)
        disc = radius > 0
        return np.where(disc, middle - half, enter), np.where(
            disc, middle + half, leave
        )

    def free_way(  # noqa: PLR0915 - one loop along the ray
        self, geoms: Ints, feet: Floats, heading: float, spec: WorldSpec
    ) -> Way:
        """Free distance of a ray from the feet (3,) along the floor between `geoms`, [m].

        It ends where a body would be obstructed, and with `rays_see_edges` where the floor
        drops by over `CLIMB_HEIGHT` for over `MAX_SEAM`. The surroundings change where the ray
        enters or leaves a shape in plan, so it is checked just behind each of these points and,
        where triangles may slope, before the next one, at most every `_STRIDE`.
        """
        x, y, floor = feet.tolist()
        cos, sin = math.cos(heading), math.sin(heading)
        enter, leave = self.spans(geoms, x, y, cos, sin)
        met = (enter < spec.ray_length) & (leave > -LINE_RADIUS)
        geoms, enter, leave = geoms[met], enter[met], leave[met]
        slopes = geoms >= self.flat
        slack = np.where(
            slopes, LINE_RADIUS, 0.0
        )  # an upright triangle is a line in plan
        strides = np.arange(0.0, spec.ray_length, _STRIDE)
        strides = strides if slopes.any() else strides[:1]
        places = np.unique(np.concatenate([enter, leave, strides]))
        places = places[(places >= 0.0) & (places < spec.ray_length)]

        def standing(at: float, floor: float) -> int:
            """Obstacle at `at` over a floor, -1: none."""
            here = geoms[(enter <= at + slack) & (leave >= at - slack)]
            return self.first_at(x + cos * at, y + sin * at, floor, here)

        def look(at: float, floor: float) -> tuple[float, bool, bool]:
            """Next floor from a floor, whether it drops, whether it is free."""
            px, py = x + cos * at, y + sin * at
            height, _ = self.floor(px, py, floor + CLIMB_HEIGHT)
            drops = height < floor - CLIMB_HEIGHT
            height = floor if drops else height
            return height, drops, standing(at, height) < 0

        trail: list[tuple[float, float]] = []

        def end(reach: float, at: float, floor: float) -> Way:
            """Result of a ray that ends at `reach`, with the obstacle at `at` on a floor."""
            found = standing(at, floor)
            kind = MOVER if self.moving <= found < self.flat else WALL
            if found < 0:
                kind = DROP if edge <= reach else NOTHING
            parts = np.arange(1, FLOOR_PARTS + 1) / FLOOR_PARTS * reach
            parts[-1] = max(reach - _BEFORE, 0.0)
            heights = np.zeros(FLOOR_PARTS)
            if trail:
                heights = np.interp(parts, *np.transpose(trail)) - feet[2]
            return Way(reach, kind, heights)

        edge = rim = back = math.inf
        edge_floor = floor
        for begin, last in pairwise([*places.tolist(), spec.ray_length]):
            floor, drops, clear = look(begin + _WITHIN, floor)
            if not drops and edge < math.inf:
                rim, back, edge = edge, begin, math.inf
            elif drops and spec.rays_see_edges:
                if edge > begin:
                    edge, edge_floor = begin, floor
                if last - edge > MAX_SEAM:
                    return end(edge, edge + _BEHIND, edge_floor)
            if not clear:
                reach = rim if back <= begin <= back + _WITHIN else min(edge, begin)
                return end(reach, begin + _WITHIN, floor)
            trail += [(begin, floor), (last - _TINY, floor)]
            if (slopes & (enter < last) & (leave > begin)).any():
                ahead, _, clear = look(last - _WITHIN, floor)
                if not clear:
                    free, blocked = begin, last
                    while blocked - free > _EXACT:
                        middle = (free + blocked) / 2
                        clear = look(middle, floor)[2]
                        free, blocked = (middle, blocked) if clear else (free, middle)
                    return end(min(edge, free), blocked, floor)
                floor = ahead
                trail[-1] = (last - _TINY, floor)
        reach = min(edge, spec.ray_length)
        return Way(reach, *end(reach, spec.ray_length - _WITHIN, floor)[1:])


def way_out_of_flat(up: float, aside: float, away: float) -> float:
    """Horizontal distance out of a box or cylinder, [m]; 0: it does not push.

    The capsule's axis is `away` from it in a direction with these vertical and horizontal
    parts. A rim at gap = up * away above or below the axis keeps it at a distance of
    sqrt(radius^2 - gap^2). It does not push if it would then touch at over 45 degrees, nor
    right above or below the axis. inf: the axis is inside, and the vertical way out is shorter.
    """
    if away < 0.0 and up > aside:
        return math.inf
    gap = up * max(away, 0.0)
    if gap >= _DIAGONAL - _SMALL or (gap > _SMALL and aside * away < _SMALL):
        return 0.0
    return math.sqrt(BODY_RADIUS**2 - gap**2) - aside * away


def way_out_of_triangle(up: float, aside: float, overlap: float, slope: float) -> float:
    """Horizontal distance out of a triangle, overlap / aside, [m]; inf: it cuts the axis.

    The direction out has these vertical and horizontal parts, and `slope` along the normal. At
    over 45 degrees from horizontal it does not push (0), except faces of ceilings, which push
    from 6 degrees on.
    """
    if overlap > BODY_RADIUS - 1e-4:
        return math.inf
    least = math.tan(math.radians(6.0)) if up < 0.0 and slope > 0.999 else 1.0
    return overlap / aside if aside > least * abs(up) else 0.0


def _rows(level: Level, solids: Solids) -> Floats:
    """Static boxes and cylinders, and movers at the origin, shape (n, 9)."""
    boxes = [(*row, BOX) for row in solids.prisms]
    cylinders = [
        (x, y, r, r, 1, 0, z0, z1, CYLINDER) for x, y, r, z0, z1 in solids.cylinders
    ]
    halves = [mover.half_size for mover in level.movers]
    movers = [(0, 0, a, b, 1, 0, -c, c, BOX) for a, b, c in halves]
    rows, people = [*boxes, *cylinders, *movers], level.people
    if people is not None:
        row = (0, 0, people.radius, people.radius, 1, 0, 0, BODY_HEIGHT, PERSON)
        rows += [row] * (len(people.walkers) + people.count)
    return np.array(rows, np.float64).reshape(-1, 9)


def _spec(
    rows: Floats, triangles: Floats, floors: Floats, tall: float
) -> mujoco.MjSpec:
    """Geoms of `rows` (n, 9) at the origin, of triangles (T, 3, 3), and of bodies."""
    spec, kinds = mujoco.MjSpec(), mujoco.mjtGeom
    for _, _, a, b, _, _, bottom, top, kind in rows:
        half = max(top - bottom - _LIFT, _LIFT) / 2
        spec.worldbody.add_geom(
            type=kinds.mjGEOM_BOX if kind == BOX else kinds.mjGEOM_CYLINDER,
            size=[a, b, half] if kind == BOX else [a, half, 0.0],
            group=_OTHER if kind == PERSON else _FLAT,
        )
    for k, corners in enumerate(triangles):
        _add_mesh(spec, f"triangle_{k}", corners, _OTHER)
    axis, free = tall - _DIAGONAL - CAPSULE_LOW, tall - CLIMB_HEIGHT - 2 * _SMALL
    capsule, line = [BODY_RADIUS, axis / 2, 0.0], [LINE_RADIUS, free / 2, 0.0]
    spec.worldbody.add_geom(type=kinds.mjGEOM_CAPSULE, size=capsule, group=_OTHER)
    # Capsules through a flat box are not detected as touching it.
    spec.worldbody.add_geom(type=kinds.mjGEOM_CYLINDER, size=line, group=_OTHER)
    if len(floors):
        _add_mesh(spec, "floors", floors.reshape(-1, 3), _FLOOR)
    return spec


def _add_mesh(spec: mujoco.MjSpec, name: str, corners: Floats, group: int) -> None:
    """Add triangles with the `corners` (3 n, 3), in turn."""
    middle = corners.mean(axis=0)  # far points lose 32-bit digits
    points = np.vstack([corners, corners[:1]]) - middle  # MuJoCo requires four
    spec.add_mesh(
        name=name,
        uservert=points.astype(np.float32).ravel(),
        userface=np.arange(len(corners), dtype=np.int32),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, pos=middle, group=group,
        contype=0, conaffinity=0,
    )  # fmt: skip
