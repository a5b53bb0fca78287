"""Report of a VR evaluation: its numbers, pictures and film."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ambulo.common.run_folder import RunFolder
from ambulo.configs.vr import NavigationConfig, Task
from ambulo.evaluate.shared.kind import EvalOutcome, episode_bars
from ambulo.evaluate.shared.result import (
    ModelEvaluation,
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
from ambulo.evaluate.vr.films import (
    FilmSettings,
    filmed_episode,
    write_episode_video,
)
from ambulo.evaluate.vr.metrics import (
    COLUMNS,
    HEADLINE,
    NOTES,
    breakdowns,
    record_rows,
)
from ambulo.evaluate.vr.scores import EpisodeRecords, EvaluationResult, summarise
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
    subjects: Mapping[str, NavigationSubject],
    source: LevelSource,
    episodes: int,
    facts: Mapping[str, str],
    film: Callable[[Mapping[str, EpisodeRecords], Path], None],
    *,
    run: RunFolder | None,
    task: Task | None = None,
    num_envs: int = DEFAULT_NUM_ENVS,
    plans: bool = False,
    shown: bool = True,
) -> EvalOutcome:
    """Play the same episodes with all `subjects`, with a progress bar each, and score them.

    Args:
        subjects: Agents by name.
        source: Levels of the episodes.
        episodes: Number of episodes.
        facts: See `navigation_evaluation`.
        film: Writes a film of the episodes.
        run: Folder of the training, whose learning curve is drawn.
        task: Of all episodes; None: drawn from those of the settings.
        num_envs: Environments at once, at most.
        plans: Keep what navigators plan and remember, for films.
        shown: Show the progress.
    """
    with episode_bars(subjects, episodes, shown=shown) as progress:
        records = evaluate(
            subjects, source, episodes, task=task, num_envs=num_envs, plans=plans,
            progress=progress,
        )  # fmt: skip
    results = {name: summarise(r, source.seed) for name, r in records.items()}
    environment = next(iter(subjects.values())).config.environment
    return EvalOutcome(
        navigation_evaluation(records, results, {**facts, "seed": str(source.seed)}),
        pictures=lambda: pictures(records, results, environment.goal_radius, run),
        facts=facts,
        film=lambda path, _: film(records, path),
    )


def navigation_evaluation(
    records: Mapping[str, EpisodeRecords],
    results: Mapping[str, EvaluationResult],
    facts: Mapping[str, str],
) -> ModelEvaluation:
    """Return scores and episodes of VR agents in the schema of all evaluations.

    Args:
        records: Episodes by agent.
        results: Scores by agent.
        facts: `model`, `command`, `seed`, `levels`, `world`, `body`, `task`, `agents`, as far
            as they are known; bodies other than the capsule have metrics of their own.
    """
    count = len(next(iter(records.values())).episodes)
    body = facts.get("body", "capsule")
    place = ("world", facts.get("world", "mujoco"))
    where = " ".join(place if body == "capsule" else ("body", body))
    if "agents" in facts:
        where += f", {facts['agents']} agents in each level"
    if "comfort" in facts:
        where += f", comfort dial {facts['comfort']}"
    task = "" if facts.get("task", "navigate") == "navigate" else f" of {facts['task']}"
    agents = {name: scores.metrics for name, scores in results.items()}
    rows = {name: record_rows(r) for name, r in records.items()}
    if body != "capsule":
        agents = {
            name: {**row, **body_metrics(records[name])} for name, row in agents.items()
        }
        rows = {
            name: (
                one | more
                for one, more in zip(found, body_rows(records[name]), strict=True)
            )
            for name, found in rows.items()
        }
    return ModelEvaluation(
        model=facts.get("model", "none"),
        kind="vr_navigation",
        episodes=count,
        seed=int(facts.get("seed", "0")),
        command=facts.get("command", ""),
        evaluated=f"{count} episodes{task} on {facts.get('levels', 'levels')}, {where}",
        agents=agents,
        columns=COLUMNS if body == "capsule" else (*BODY_TABLE, *BODY_COLUMNS),
        headline=HEADLINE if body == "capsule" else BODY_HEADLINE,
        breakdowns=[
            *breakdowns(results),
            *(() if body == "capsule" else body_breakdowns(records)),
        ],
        rows=episode_rows(rows),
        notes=(
            *NOTES,
            *(() if body == "capsule" else BODY_NOTES),
        ),
    )


def pictures(
    records: Mapping[str, EpisodeRecords],
    results: Mapping[str, EvaluationResult],
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
    if len(results[about].per_family) > 1:
        bars = draw_families(results)
        drawn.append(Picture("families.png", "Success and SPL by family", bars))
    return drawn


def write_film(
    records: Mapping[str, EpisodeRecords],
    config: NavigationConfig,
    settings: FilmSettings,
    path: Path,
) -> None:
    """Film the episode of the main agent that `settings` choose."""
    episode = filmed_episode(records[main_agent(records)], settings.episode)
    write_episode_video(episode, config, settings, path)


def _on_maps(records: Mapping[str, EpisodeRecords]) -> list[str]:
    """Return whose paths are drawn: the policy's beside the oracle's, or the planners'."""
    names = list(records)
    if any(map(is_policy, names)):
        return [name for name in names if is_policy(name) or name == "oracle"]
    return [name for name in names if name not in ("random", "straight")] or names
