"""Report of a VR evaluation: its numbers and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ambulo.common.run_folder import RunFolder
from ambulo.evaluate.shared.kind import EvalOutcome, EvalRequest, episode_bars
from ambulo.evaluate.shared.result import (
    AgentMetrics,
    Picture,
    episode_rows,
    is_policy,
    main_agent,
)
from ambulo.evaluate.vr.bodies import COLUMNS as BODY_COLUMNS
from ambulo.evaluate.vr.bodies import NOTES as BODY_NOTES
from ambulo.evaluate.vr.bodies import body_breakdowns, body_metrics, body_rows
from ambulo.evaluate.vr.dials import draw_dials
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import DEFAULT_NUM_ENVS, evaluate
from ambulo.evaluate.vr.figures import (
    draw_families,
    draw_learning_curve,
    draw_trajectories,
    failures,
    first_of_each,
)
from ambulo.evaluate.vr.scores import (
    COLUMNS,
    HEADLINE,
    NOTES,
    EpisodeRecords,
    breakdowns,
    record_rows,
    summarise,
)
from ambulo.evaluate.vr.subjects import NavigationSubject

BODY_TABLE = tuple(
    column
    for column in COLUMNS
    if column.name not in ("barn", "falls", "timeouts", "return_mean")
)
"""Columns of all agents that the table of bodies shows."""
BODY_HEADLINE = (
    "success_rate", "spl", "fall_rate", "contact_free_rate", "mean_time_s", "comfort_score",
)  # fmt: skip


def navigation_outcome(
    request: EvalRequest,
    subjects: Mapping[str, NavigationSubject],
    source: LevelSource,
    facts: Mapping[str, str],
    film: Callable[[Mapping[str, EpisodeRecords], Path], None],
) -> EvalOutcome:
    """Play the same episodes with all `subjects`, with a progress bar each, and score them.

    Args:
        request: The evaluation.
        subjects: Agents by name.
        source: Levels of the episodes.
        facts: `levels`, `world`, `body`, `task`, and `agents` and `comfort` where there are
            several; bodies other than the capsule have metrics of their own.
        film: Writes a film of the episodes.
    """
    args, episodes = request.args, request.episodes
    with episode_bars(subjects, episodes) as progress:
        records = evaluate(
            subjects, source, episodes, task=args.task, plans=args.video is not None,
            num_envs=args.num_envs or DEFAULT_NUM_ENVS, progress=progress,
        )  # fmt: skip
    agents = {name: dict(summarise(r, request.seed)) for name, r in records.items()}
    rows = {name: list(record_rows(r)) for name, r in records.items()}
    legs = facts["body"] != "capsule"
    if legs:
        for name, played in records.items():
            agents[name] |= body_metrics(played)
            pairs = zip(rows[name], body_rows(played), strict=True)
            rows[name] = [row | more for row, more in pairs]
    task = "" if facts["task"] == "navigate" else f" of {facts['task']}"
    evaluated = f"{episodes} episodes{task} on {facts['levels']}, "
    evaluated += f"body {facts['body']}" if legs else f"world {facts['world']}"
    if "agents" in facts:
        evaluated += f", {facts['agents']} agents in each level"
    if "comfort" in facts:
        evaluated += f", comfort dial {facts['comfort']}"
    evaluation = request.result(
        agents,
        (*BODY_TABLE, *BODY_COLUMNS) if legs else COLUMNS,
        evaluated,
        headline=BODY_HEADLINE if legs else HEADLINE,
        breakdowns=breakdowns(records) + (body_breakdowns(records) if legs else []),
        rows=episode_rows(rows),
        notes=(*NOTES, *BODY_NOTES) if legs else NOTES,
    )
    radius = next(iter(subjects.values())).config.environment.goal_radius
    run = None if request.file is None else RunFolder.around(request.file)
    return EvalOutcome(
        evaluation,
        lambda: pictures(records, agents, radius, run),
        facts,
        lambda path, _: film(records, path),
    )


def pictures(
    records: Mapping[str, EpisodeRecords],
    results: Mapping[str, AgentMetrics],
    goal_radius: float,
    run: RunFolder | None,
) -> list[Picture]:
    """Draw paths, failures, families and, of a run, the learning curve."""
    about = main_agent(records)
    drawn = []
    curve = draw_learning_curve(run, results) if run is not None else None
    if curve is not None:
        drawn.append(Picture("learning_curve.png", "Learning curve", curve))
    if sum(map(is_policy, results)) > 1:
        caption = "The comfort dial: time against comfort, and scores"
        drawn.append(Picture("comfort_dial.png", caption, draw_dials(results)))
    shown = {name: records[name] for name in _on_maps(records)}
    first = draw_trajectories(shown, first_of_each(records[about]), goal_radius)
    caption = "Paths: the first episode of each family"
    drawn.append(Picture("trajectories.png", caption, first))
    failed = failures(records[about])
    if failed:
        maps = draw_trajectories(shown, failed, goal_radius)
        caption = f"First episodes that {about} did not solve"
        drawn.append(Picture("failures.png", caption, maps))
    if len(records[about].by_family()) > 1:
        bars = draw_families(records)
        drawn.append(Picture("families.png", "Success and SPL by family", bars))
    return drawn


def _on_maps(records: Mapping[str, EpisodeRecords]) -> list[str]:
    """Return whose paths are drawn: the policy's beside the oracle's, or the planners'."""
    names = list(records)
    if any(map(is_policy, names)):
        return [name for name in names if is_policy(name) or name == "oracle"]
    return [name for name in names if name not in ("random", "straight")] or names
