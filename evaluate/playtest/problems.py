"""Problems of a level with advice for its designer, the worst first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.envs.vr.levels.layers import CLEARANCE
from ambulo.envs.vr.survey.floor import Area, Floor
from ambulo.envs.vr.survey.movers import waited_for
from ambulo.evaluate.playtest.journeys import ROOMY, way_on
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.playtest.stuck import StuckSpot
from ambulo.evaluate.shared.intervals import wilson_interval

STUCK_SHARE = 0.1
"""A stuck spot counts against a level from this share of its agents on."""

_MOST_NAMED = 6
"""Parts, and places, of a body that are named; the others are counted."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One thing to look at."""

    kind: str
    """`sealed`, `place`, `success`, `stuck`, `coverage`, `fall`, `tight`, `ride`, `gap`, `top`
    or `outside`."""
    fails: bool
    """The level fails because of it."""
    text: str
    """The fault, with numbers."""
    advice: str
    """The next step."""
    position: Floats | None = None
    """Where, shape (3,), [m]."""
    mark: str = ""
    """Letter or number on the plan."""
    node: str = ""
    """Path of the nearest node that obstructs, in a scene."""
    floor_node: str = ""
    """Path of the node that is the floor there."""

    def to_data(self, floor: Floor) -> dict[str, Any]:
        """The problem, on `floor`, as plain JSON data."""
        place = self.position
        return {
            "kind": self.kind,
            "fails": self.fails,
            "mark": self.mark,
            "text": self.text,
            "advice": self.advice,
            "position": None if place is None else rounded(place),
            "floor": None if place is None else floor.name_at(place),
            "node": self.node or None,
            "floor_node": self.floor_node or None,
        }


def rounded(position: Floats) -> list[float]:
    """A place for files, [m]."""
    return [round(float(v), 3) for v in position]


def place_text(position: Floats, floor: Floor) -> str:
    """A place for people, with its height where `floor` has several."""
    x, y, z = (round(float(v), 1) + 0.0 for v in position)
    height = f", z {z:.1f} m" if z or floor.rise >= 0.05 else ""
    return f"x {x:.1f} m, y {y:.1f} m{height}"


def access_rows(floor: Floor) -> list[tuple[str, str]]:
    """Which bodies cannot reach which parts and places of `floor`, for people.

    Parts that are no area of the first body are described in the first row that has them.
    """
    described = {area.name for area in floor.areas}
    rows = []
    for access in floor.access:
        words = []
        for part in access.parts[:_MOST_NAMED]:
            what = f"{part.area:.1f} m² around {place_text(part.position, floor)}"
            words.append(
                part.name if part.name in described else f"{part.name} ({what})"
            )
            described.add(part.name)
        words += access.places[:_MOST_NAMED]
        more = len(access.parts) + len(access.places) - len(words)
        words += [f"{more} more"] if more else []
        bodies = ", ".join(body.title for body in access.bodies)
        rows.append((bodies, ", ".join(words) or "nothing"))
    return rows


def find_problems(test: Playtest) -> list[Problem]:
    """Return the problems of a level, those that fail it first."""
    counted, limits = serious_spots(test), test.flags
    sealed = len(test.floor.sealed()) + test.floor.unlisted > limits.max_sealed
    found = [
        *(_area_problem(area, test.floor, sealed) for area in test.floor.areas),
        *_unlisted_problem(test, sealed),
        *(_place_problem(key, test) for key in test.unreachable),
        *_success_problem(test),
        *_coverage_problem(test),
        *_fall_problem(test),
        *(
            _spot_problem(
                spot, test, spot in counted and len(counted) > limits.max_stuck
            )
            for spot in test.spots
        ),
    ]
    order = (
        "place",
        "sealed",
        "success",
        "stuck",
        "coverage",
        "fall",
        "tight",
        "ride",
        "top",
        "outside",
        "gap",
    )
    found = [_with_node(problem, test) for problem in found]
    return sorted(found, key=lambda p: (not p.fails, order.index(p.kind)))


def _with_node(problem: Problem, test: Playtest) -> Problem:
    """`problem` with the nodes of the scene there, at the opening of an area."""
    if test.scene is None or problem.position is None:
        return problem
    area = next((a for a in test.floor.areas if a.name == problem.mark), None)
    place = problem.position
    if area is not None and area.opening_position is not None:
        place = area.opening_position
    beside, under = test.scene.nodes_at(place)
    other = beside if beside != under else ""
    words = [w for w in (other and f"beside {other}", under and f"on {under}") if w]
    text = f"{problem.text} It is {' and '.join(words)}." if words else problem.text
    return replace(problem, node=beside, floor_node=under, text=text)


def serious_spots(test: Playtest) -> list[StuckSpot]:
    """The stuck spots that count against the level: not those of agents that wait."""
    least = STUCK_SHARE * len(test.records)
    return [
        spot
        for spot in test.spots
        if spot.agents >= least
        and (spot.failures or not waited_for(test.level, spot.position))
    ]


def _area_problem(area: Area, floor: Floor, fails: bool) -> Problem:
    """An unreachable part of the floor; one that is sealed may fail the level."""
    what = f"{area.area:.1f} m² of floor around {place_text(area.position, floor)}"
    why = f": {area.cause}" if area.cause else ""
    texts = {
        "sealed": f"Sealed area {area.name}: {what} cannot be reached{why}.",
        "tight": f"Tight passage to area {area.name}: {what} can be entered only by "
        "a body that walks exactly in the middle.",
        "gap": f"Gap {area.name}: {what}, at most {area.width:.1f} m wide, cannot be "
        "reached.",
        "ride": f"Area {area.name}: {what} is reached on {area.carrier} alone.",
        "top": f"Top {area.name}: {what} is the top of something, the bottom of a pit, or a "
        f"floor without a way to it{why}.",
        "outside": f"Outside area {area.name}: {what} lies beyond the walls.",
    }
    advice = {
        "sealed": _opening_advice(area, floor),
        "tight": _opening_advice(area, floor),
        "gap": "Nothing to do if no player has to get there. Nothing may be placed in it "
        "that a player needs.",
        "ride": "Agents do not ride moving platforms, so none was sent there. Ride it "
        "yourself.",
        "top": "Nothing to do if it is a roof, or another thing that no player has to get to. "
        "If it is a floor, it lacks stairs or a ramp.",
        "outside": "Nothing to do. A smaller floor rectangle (bounds) would leave it out.",
    }
    return Problem(
        area.kind, fails and area.kind == "sealed", texts[area.kind], advice[area.kind],
        area.position, area.name,
    )  # fmt: skip


def _unlisted_problem(test: Playtest, fails: bool) -> list[Problem]:
    """More unreachable parts than are listed."""
    count = test.floor.unlisted
    if count == 0:
        return []
    return [
        Problem(
            "sealed", fails,
            f"{count} more parts of the floor cannot be reached; each is smaller than "
            "those that are listed.",
            "Open the large ones first, or ignore small ones with --min-area.",
        )
    ]  # fmt: skip


def _opening_advice(area: Area, floor: Floor) -> str:
    """Where to make room for a body."""
    if area.cause:
        return "Mend this, or build another way there: stairs, a ramp or a lift."
    if area.opening is None or area.opening_position is None:
        return (
            "There is no opening. Cut a door of at least 0.8 m into one of its walls, or, "
            "if it lies higher or lower than what is around it, lead stairs or a ramp there."
        )
    return (
        f"The widest way in is about {area.opening:.2f} m, at "
        f"{place_text(area.opening_position, floor)}. A body needs {2 * CLEARANCE:.2f} m, a "
        f"comfortable door has {ROOMY:g} m or more: widen it, or move what stands there."
    )


def _place_problem(key: str, test: Playtest) -> Problem:
    """A start or goal that the level names."""
    floor, place = test.floor, test.level.places()
    at = place[key] if key in place else place[f"{key}.position"]
    storey, row, column = (int(k[0]) for k in floor.cells_at(np.atleast_2d(at)))
    owner = floor.storeys[storey].owner[row, column]
    why = [area.cause for area in floor.areas if area.label == owner and area.cause]
    return Problem(
        "place", True,
        f"'{key}' of the level file cannot be reached from where players are"
        f"{': '.join(['', *why])}.",
        f"Move '{key}', or open the way to it: see the sealed areas.",
    )  # fmt: skip


def _success_problem(test: Playtest) -> list[Problem]:
    """Too few journeys that reach their goal."""
    if test.success_rate >= test.flags.min_success:
        return []
    hits, count = round(test.values["success_rate"].sum()), len(test.records)
    low, high = wilson_interval(int(hits), count)
    return [
        Problem(
            "success", True,
            f"Only {hits} of {count} journeys ({100 * test.success_rate:.0f} %, 95 % "
            f"interval {100 * low:.0f} to {100 * high:.0f} %) reached their goal; "
            f"{100 * test.flags.min_success:.0f} % are required.",
            "Look at the stuck spots below. Play-test again with --agent oracle, which "
            "knows the level: places that stop it too are faults of the level, others "
            "are hard to read at first sight.",
        )
    ]  # fmt: skip


def _coverage_problem(test: Playtest) -> list[Problem]:
    """Too little floor that agents came near to."""
    if test.coverage >= test.flags.min_coverage:
        return []
    return [
        Problem(
            "coverage", True,
            f"Agents came near to {100 * test.coverage:.0f} % of the reachable floor; "
            f"{100 * test.flags.min_coverage:.0f} % are required.",
            "Look at the coverage map. Use more agents, or --journeys random if the "
            "level has a start and a goal of its own.",
        )
    ]  # fmt: skip


def _fall_problem(test: Playtest) -> list[Problem]:
    """Agents that fell."""
    heat_map = next((m for m in test.maps if m.name == "falls"), None)
    if heat_map is None:
        return []
    falls = sum(record.fell for record in test.records)
    x, y, z, _ = max(heat_map.cells(), key=lambda cell: cell[3])
    place = np.array([x, y, z])
    share = 100 * falls / len(test.records)
    return [
        Problem(
            "fall", False,
            f"{falls} agents ({share:.0f} %) fell, most of them at "
            f"{place_text(place, test.floor)}.",
            "Look at the heat map of falls. A railing at the edge, or a wider way along it, "
            "holds players back.",
            place,
        )
    ]  # fmt: skip


def _spot_problem(spot: StuckSpot, test: Playtest, fails: bool) -> Problem:
    """A place where agents were stuck."""
    share = 100 * spot.agents / len(test.records)
    never = f"; {spot.failures} never got away" if spot.failures else ""
    mover = waited_for(test.level, spot.position)
    waits = f" They wait for {mover}." if mover and not spot.failures else ""
    return Problem(
        "stuck", fails,
        f"Stuck spot {spot.name}: {spot.agents} agents ({share:.0f} %) lost "
        f"{spot.seconds:.0f} s around "
        f"{place_text(spot.position, test.floor)}{never}.{waits}",
        "Nothing to do if they may wait there." if waits else _spot_advice(spot, test),
        spot.position, spot.name,
    )  # fmt: skip


def _spot_advice(spot: StuckSpot, test: Playtest) -> str:
    """Likely cause of a stuck spot: a fault on the ways from it to the goals of its agents."""
    journeys = [test.journeys[episode] for episode in spot.episodes]
    way = way_on(
        test.ground, spot.position, journeys, reads_heights=test.walker.reads_heights
    )
    passes = f"A body {ROOMY:g} m wide gets on from there"
    oracle = "Play-test again with --agent oracle."
    return {
        "no way": "No way leads on from there to their goals. Lead one out, or keep people "
        "from getting there.",
        "gap": f"The shortest way on leads through less than about {ROOMY:g} m, at "
        f"{place_text(way.place, test.floor)}. Widen it, or make another way easier to see.",
        "floor": f"{passes}, to a goal at z {way.place[2]:.1f} m, on a floor that these agents "
        f"do not see: that is no fault of the level. {oracle}",
        "detour": f"{passes}, but {way.length:.1f} m round to a goal {way.straight:.1f} m "
        "away. Make the way round easier to see.",
        "none": f"{passes}, {way.length:.1f} m to a goal {way.straight:.1f} m away: nothing "
        f"has to be widened. {oracle}",
    }[way.obstacle]
