"""The parts of a report that say what its words mean, and what a scene has lost."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.evaluate.playtest.floor import Floor
from ambulo.evaluate.playtest.problems import STUCK_SHARE, access_rows
from ambulo.evaluate.playtest.result import Playtest
from ambulo.evaluate.playtest.scenes import SceneSource
from ambulo.evaluate.playtest.stuck import SPOT_SHARE
from ambulo.viz.html_report import facts_table, table_html

_MOST_ROWS = 40
_LISTS = (
    ("not_carried", "not carried"), ("approximated", "approximated"), ("notes", "note")
)  # fmt: skip


def scene_html(scene: SceneSource) -> list[str]:
    """What of a scene the level could not carry."""
    data = scene.to_data()
    rows = [
        [row["path"], row["class"], what, row["reason"]]
        for key, what in _LISTS
        for row in data[key]
    ]
    if not rows:
        return []
    parts = [
        "<h2>What is not as in the scene</h2>",
        table_html(["node", "class", "", "why"], rows[:_MOST_ROWS]),
    ]
    if len(rows) > _MOST_ROWS:
        more = len(rows) - _MOST_ROWS
        parts.append(f"<p class='note'>{more} more, in playtest.json.</p>")
    return parts


def access_html(floor: Floor) -> list[str]:
    """Which bodies cannot reach what."""
    notes = [body.note for access in floor.access for body in access.bodies]
    return [
        "<h2>What each body cannot reach</h2>",
        facts_table(dict(access_rows(floor))),
        *(f"<p class='note'>{note}.</p>" for note in notes if note),
    ]


def notes_html(tests: Sequence[Playtest]) -> str:
    """What the words of the report mean."""
    test = tests[0]
    radius = test.walker.subject.config.environment.goal_radius
    notes = [
        f"<b>Reached</b>: the agent came within {radius:g} m of its goal in time.",
        "<b>Sealed area</b>: floor on which a player fits, but to which no way leads that "
        "leaves 3 cm on either side of the body. Its area is floor that the body covers.",
        "<b>Coverage</b>: fraction of the reachable floor within 0.5 m of somebody's path.",
        "<b>Stuck spot</b>: agents stayed within 0.5 m for more than 3 s before their goal. "
        f"A spot is listed from {100 * SPOT_SHARE:.0f} % of the agents on, and counts against "
        f"the level from {100 * STUCK_SHARE:.0f} % on.",
        "<b>Time lost</b>: all of the time of these stays.",
        "<b>Collision</b>: the body touches an obstacle or a person, after 0.5 s without "
        "one.",
        "<b>Discomfort</b>: 1 - the published comfort score, that is 0.3 while turning "
        "faster than 0.7 rad/s and 0.2 while faster than 80 % of top speed. It stands for "
        "quantities that the literature links to discomfort; nobody was asked.",
        _who(test)
        + " Agents are not people: a stuck spot is a place to look at, not a "
        "proof.",
    ]
    if any(test.level.movers for test in tests):
        notes.append(
            "<b>Things that move</b>: floor counts as reachable if a body gets there at some "
            "time, as behind a door that opens. A thing that moves once is looked at where "
            "it ends. Stays beside doors and lifts that all agents get away from are waits, "
            "which do not count against the level."
        )
    if any(test.level.heights for test in tests):
        notes.append(
            "<b>Heights</b>: widths of openings are those of the widest body that gets in, of "
            "bodies 5 cm apart (10 to 20 cm in large levels). Tops of tables and other "
            "small things are no floor."
        )
    return "<ul>" + "".join(f"<li>{note}</li>" for note in notes) + "</ul>"


def _who(test: Playtest) -> str:
    """What the agents know, in a sentence."""
    if test.walker.name == "oracle":
        return "The agents know the whole level and take the shortest way."
    spec = test.spec
    heights = "" if test.walker.reads_heights else ", and see no heights"
    return (
        f"The agents see what {spec.num_rays} rays of {spec.ray_length:g} m tell them, and "
        f"where their goal is. They have no plan of the level{heights}."
    )
