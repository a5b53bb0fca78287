"""Content of level files: pydantic models of the JSON, in metres, seconds and radians, Z up.

The models check single values; `level_check` has the rules about whole levels.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictStr,
    Tag,
    model_validator,
)

from ambulo.configs.arrays import Floats
from ambulo.configs.base import Config
from ambulo.envs.vr.levels.level import MAX_OBSTACLES, Level
from ambulo.envs.vr.levels.level_numbers import (
    MAX_KEYFRAMES,
    MAX_MOVERS,
    MAX_PEOPLE,
    MAX_PLACES,
    HalfSize,
    Keyframe,
    Keyframes,
    Length,
    Loop,
    Name,
    Number,
    Pair,
    Phase,
    Point,
    Positive,
    Rectangle,
    Rows,
    Triple,
    WalkerKeyframe,
    Whole,
    Yaw,
    checked_grid,
    counted,
)
from ambulo.envs.vr.levels.moving import (
    Kind,
    Mover,
    People,
    Walker,
    hinged_door,
    route_keyframes,
)
from ambulo.envs.vr.levels.surfaces import (
    MAX_TRIANGLES,
    RAMP_COLUMNS,
    STAIR_COLUMNS,
    HeightField,
    Mesh,
)


def _table(rows: Any, columns: int) -> Floats:
    return np.array(rows, np.float64).reshape(-1, columns)


def _with(key: str, entry: type[Config], other: type[Config]) -> Discriminator:
    """Return a discriminator of entries with `key` and those with a path.

    Without `key` and path, the keys that only an `entry` has decide: it lacks `key`.
    """
    own = entry.model_fields.keys() - other.model_fields.keys()

    def tag(value: object) -> str:
        given = value.keys() if isinstance(value, dict) else set()
        is_entry = key in given or ("path" not in given and not own.isdisjoint(given))
        return f"({key})" if is_entry else "(path)"

    return Discriminator(tag)


class BoxEntry(Config):
    """A box."""

    center: Triple
    half_size: HalfSize
    yaw: Yaw = 0.0


class CylinderEntry(Config):
    """An upright cylinder on `center`, the middle of its base."""

    center: Point
    radius: Length
    height: Length


class StartEntry(Config):
    """A start."""

    position: Point
    yaw: Yaw = 0.0


class RampEntry(Config):
    """A ramp between the middles of its edges."""

    low: Triple = Field(alias="from")
    high: Triple = Field(alias="to")
    width: Length
    thickness: Length | None = None
    """Thickness of a plank, [m]; null: solid."""

    @model_validator(mode="after")
    def _check_ends(self) -> RampEntry:
        if self.low[:2] == self.high[:2]:
            raise ValueError("from and to are one above the other")
        return self

    def row(self) -> list[float]:
        """Return the row of `Level.ramps`."""
        low, high = sorted((self.low, self.high), key=lambda end: end[2])
        return [*low, *high, self.width, self.thickness or 0.0]


class StairsEntry(RampEntry):
    """A flight of stairs between the middles of its edges."""

    steps: Annotated[Whole, Field(ge=1, le=1000)]

    @model_validator(mode="after")
    def _check_rise(self) -> StairsEntry:
        if self.low[2] == self.high[2]:
            raise ValueError("must rise")
        return self


class HeightFieldEntry(Config):
    """A terrain: heights above `origin`, its first point, at points `cell` apart."""

    origin: Triple
    cell: Length
    heights: Annotated[
        Rows[Annotated[Rows[Number], Field(min_length=2)]],
        Field(min_length=2),
        BeforeValidator(checked_grid),
    ]
    """Rows along x, the first at the lowest y, [m]."""


class MeshEntry(Config):
    """Triangles, counter-clockwise seen from outside."""

    vertices: Annotated[Rows[Triple], Field(max_length=3 * MAX_TRIANGLES)]
    triangles: Annotated[
        Rows[Annotated[list[Whole], counted(3, 3, "Vertices by number, from 0")]],
        Field(max_length=MAX_TRIANGLES),
    ]

    @model_validator(mode="after")
    def _check_triangles(self) -> MeshEntry:
        count = len(self.vertices)
        for k, corners in enumerate(self.triangles):
            if round(max(corners)) >= count:
                raise ValueError(
                    f".triangles[{k}]: expected numbers of vertices, 0 to {count - 1}"
                )
        return self

    def mesh(self) -> Mesh:
        """Return the arrays."""
        corners = _table(self.triangles, 3).round().astype(np.int64)
        return Mesh(_table(self.vertices, 3), corners)


class PathEntry(Config):
    """An object on a path."""

    loop: Loop = "back_and_forth"
    """At the end of the path: restart (true), stop (false) or go back."""
    phase: Phase = 0.0
    """Time on the path at the start of an episode, [s]."""


class MoverEntry(PathEntry):
    """A box on a path of its centre."""

    kind: Kind
    half_size: HalfSize
    path: Keyframes[Keyframe]

    def mover(self) -> Mover:
        """Return the arrays."""
        half, path = np.array(self.half_size), np.array(self.path)
        return Mover(self.kind, half, path, self.loop, self.phase)


class HingedDoorEntry(Config):
    """A door that swings back and forth about `hinge`, the lower end of its axis.

    It opens from `yaw`, its direction when closed, by `open`, both counter-clockwise.
    """

    kind: Kind
    hinge: Point
    width: Length
    thickness: Length = 0.06
    height: Length = 2.1
    yaw: Yaw = 0.0
    open: Annotated[Number, Field(ge=-2 * math.pi, le=2 * math.pi)]
    """Opening angle, not 0, [rad]."""
    period: Positive = 8.0
    """Period of opening and closing, [s]."""
    phase: Phase = 0.0
    """Time in the period at the start of an episode, [s]."""

    @model_validator(mode="after")
    def _check_open(self) -> HingedDoorEntry:
        if self.open == 0:
            raise ValueError(".open: must not be 0")
        return self

    def mover(self) -> Mover:
        """Return the arrays."""
        size, hinge = (self.width, self.thickness, self.height), np.array(self.hinge)
        half, path = hinged_door(hinge, size, self.yaw, self.open, self.period)
        return Mover(self.kind, half, path, "loop", self.phase)


class WalkerEntry(PathEntry):
    """A person on a path of the feet."""

    path: Keyframes[WalkerKeyframe]

    def walker(self) -> Walker:
        """Return the arrays."""
        return Walker(np.array(self.path), self.loop, self.phase)


class RouteEntry(PathEntry):
    """A person who walks along a route at constant speed; a loop returns to its start."""

    route: Annotated[Rows[Point], Field(min_length=2, max_length=MAX_KEYFRAMES)]
    speed: Positive
    """Walking speed, [m/s]."""

    @model_validator(mode="after")
    def _check_route(self) -> RouteEntry:
        for k, (before, after) in enumerate(pairwise(self.route)):
            if before == after:
                raise ValueError(f".route[{k + 1}]: the same place as the one before")
        return self

    def walker(self) -> Walker:
        """Return the arrays."""
        gap = self.loop == "loop" and self.route[0] != self.route[-1]
        points = (*self.route, self.route[0]) if gap else self.route
        path = route_keyframes(np.array(points), self.speed)
        return Walker(path, self.loop, self.phase)


_Mover = Annotated[
    Annotated[HingedDoorEntry, Tag("(hinge)")] | Annotated[MoverEntry, Tag("(path)")],
    _with("hinge", HingedDoorEntry, MoverEntry),
]
_Walker = Annotated[
    Annotated[RouteEntry, Tag("(route)")] | Annotated[WalkerEntry, Tag("(path)")],
    _with("route", RouteEntry, WalkerEntry),
]


class PeopleEntry(Config):
    """A crowd that plans its own paths, and walkers."""

    count: Annotated[Whole, Field(le=MAX_PEOPLE)] = 0.0
    """Size of the crowd."""
    speed: Pair = (0.8, 1.6)
    """Range of the speeds of the crowd, [m/s]."""
    radius: Number = 0.25
    """Radius of all people, [m]."""
    see_agent: StrictBool = True
    """Whether the crowd gives way to the agent."""
    goals: Annotated[Rows[Point], Field(max_length=MAX_PEOPLE)] = ()
    """Goals of the crowd: two places or more, or empty for all of the floor."""
    walkers: Annotated[Rows[_Walker], Field(max_length=MAX_PEOPLE)] = ()

    @model_validator(mode="after")
    def _check_amounts(self) -> PeopleEntry:
        if self.count + len(self.walkers) > MAX_PEOPLE:
            raise ValueError(f".count: more than {MAX_PEOPLE} people")
        if len(self.goals) == 1:
            raise ValueError(f".goals: expected 2 to {MAX_PEOPLE} places, or none")
        return self

    def people(self) -> People:
        """Return the arrays."""
        return People(
            count=round(self.count),
            speed=self.speed,
            radius=self.radius,
            see_agent=self.see_agent,
            goals=_table(self.goals, 3),
            walkers=tuple(walker.walker() for walker in self.walkers),
        )


class LevelFile(Config):
    """A level of VR navigation, in metres, seconds and radians, Z up, the ground at z = 0."""

    model_config = ConfigDict(title="Ambulo level")

    editor_schema: StrictStr = Field("", alias="$schema")
    """Address of this schema, for editors; ignored."""
    name: Name
    """Unique in a folder."""
    family: Name = "custom"
    """Group in tables."""
    bounds: Rectangle
    """Floor x0, y0, x1, y1, [m]; outside it, bodies fall."""
    holes: Annotated[Rows[Rectangle], Field(max_length=MAX_OBSTACLES)] = ()
    """Holes x0, y0, x1, y1 in the floor, in which bodies fall, [m]."""
    boxes: Annotated[Rows[BoxEntry], Field(max_length=MAX_OBSTACLES)] = ()
    """Obstacles; of infinite height without `heights`."""
    cylinders: Annotated[Rows[CylinderEntry], Field(max_length=MAX_OBSTACLES)] = ()
    """Obstacles; of infinite height without `heights`."""
    start: StartEntry | None = None
    """Start; null: drawn from `starts`, else from the floor."""
    goal: Point | None = None
    """x, y and, unless 0, z of the floor, [m]; null: drawn from `goals`, else the floor."""
    goal_distance: Pair | None = None
    """Range of the straight distance of drawn starts and goals, [m]; null: 5 to 30."""
    heights: StrictBool = False
    """Whether shapes have their true heights; `ground`: false, `ramps` to `meshes`, `movers`,
    `people` and places with z need it."""
    ground: StrictBool = True
    """Whether there is a floor at z = 0; else only shapes carry the body."""
    ramps: Rows[RampEntry] = ()
    stairs: Rows[StairsEntry] = ()
    heightfields: Rows[HeightFieldEntry] = ()
    meshes: Rows[MeshEntry] = ()
    """Meshes, obstacles and floors alike."""
    starts: Annotated[Rows[StartEntry], Field(max_length=MAX_PLACES)] = ()
    """Starts to draw from."""
    goals: Annotated[Rows[Point], Field(max_length=MAX_PLACES)] = ()
    """Goals to draw from."""
    waypoints: Annotated[Rows[Point], Field(max_length=MAX_PLACES)] = ()
    """Goals of the task `patrol`, in order."""
    movers: Annotated[Rows[_Mover], Field(max_length=MAX_MOVERS)] = ()
    """Boxes that move by themselves."""
    people: PeopleEntry | None = None

    def level(self) -> Level:
        """Return the level; rules about the whole level are not checked."""
        start, goal, people = self.start, self.goal, self.people
        round_rows = [
            [*c.center[:2], c.radius, c.height, c.center[2]] for c in self.cylinders
        ]
        return Level(
            name=self.name,
            family=self.family,
            bounds=np.array(self.bounds),
            holes=_table(self.holes, 4),
            boxes=_table([[*b.center, *b.half_size, b.yaw] for b in self.boxes], 7),
            cylinders=_table(round_rows, 5),
            start=None if start is None else np.array([*start.position[:2], start.yaw]),
            start_height=0.0 if start is None else start.position[2],
            goal=None if goal is None else np.array(goal[:2]),
            goal_height=0.0 if goal is None else goal[2],
            goal_distance=self.goal_distance,
            heights=self.heights,
            ground=self.ground,
            ramps=_table([ramp.row() for ramp in self.ramps], RAMP_COLUMNS),
            stairs=_table(
                [[*s.row(), round(s.steps)] for s in self.stairs], STAIR_COLUMNS
            ),
            heightfields=tuple(
                HeightField(np.array(f.origin), f.cell, np.array(f.heights))
                for f in self.heightfields
            ),
            meshes=tuple(mesh.mesh() for mesh in self.meshes),
            starts=_table([[*s.position, s.yaw] for s in self.starts], 4),
            goals=_table(self.goals, 3),
            waypoints=_table(self.waypoints, 3),
            movers=tuple(mover.mover() for mover in self.movers),
            people=None if people is None else people.people(),
        )
