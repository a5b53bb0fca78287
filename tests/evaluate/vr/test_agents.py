"""Evaluation of agents that share levels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.cli import main
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.shared_levels import APART
from ambulo.evaluate.vr.episodes import LevelSource, episode_chunks
from ambulo.evaluate.vr.evaluation import envs_at_once, evaluate
from ambulo.evaluate.vr.subjects import Controller, planner_subject

AGENTS = 4
CONFIG = NavigationConfig().override(
    "environment", agents=AGENTS, levels=("open", "rooms"), max_episode_steps=300
)


def test_every_level_has_all_of_its_agents_apart() -> None:
    source = LevelSource(CONFIG, seed=1)
    [chunk] = episode_chunks(source, 10)
    assert (chunk.count, len(chunk.starts), len(chunk.bank)) == (10, 12, 3)
    slots = np.array([start.slot for start in chunk.starts]).reshape(-1, AGENTS)
    assert slots.tolist() == [[k] * AGENTS for k in range(3)]
    at = np.array([start.pose[:2] for start in chunk.starts]).reshape(-1, AGENTS, 2)
    gaps = np.linalg.norm(at[:, :, None] - at[:, None], axis=-1) + 9e9 * np.eye(AGENTS)
    assert gaps.min() >= APART
    alone = LevelSource(CONFIG.override("environment", agents=1), seed=1)
    for k in range(3):  # the first agent plays what one alone plays
        start = chunk.starts[k * AGENTS].pose
        np.testing.assert_array_equal(start, alone.level(k).start)


def test_more_episodes_leave_the_first_as_they_are() -> None:
    [few], [many] = (
        list(episode_chunks(LevelSource(CONFIG, seed=2), n)) for n in (8, 20)
    )
    for one, two in zip(few.starts, many.starts, strict=False):
        np.testing.assert_array_equal(one.pose, two.pose)
        assert one.goal == two.goal


@pytest.mark.parametrize(
    ("num_envs", "episodes", "count"), [(64, 10, 8), (9, 40, 8), (1, 40, 4), (4, 4, 4)]
)
def test_envs_fill_levels(num_envs: int, episodes: int, count: int) -> None:
    assert envs_at_once(num_envs, episodes, AGENTS) == count


@pytest.mark.integration
def test_planners_meet_in_levels_and_all_episodes_are_scored() -> None:
    subjects = {
        name: planner_subject(name, CONFIG) for name in ("oracle", "random", "straight")
    }
    counts: dict[str, int] = dict.fromkeys(subjects, 0)

    def progress(name: str, ended: int) -> None:
        counts[name] += ended

    source = LevelSource(CONFIG, seed=3)
    played = evaluate(subjects, source, 38, num_envs=16, progress=progress)
    for name, records in played.items():
        assert len(records.episodes) == 38
        assert counts[name] == 40  # two more fill the last level
        levels = [record.level.name for record in records.episodes]
        assert all(len(set(levels[k : k + 4])) == 1 for k in range(0, 36, 4))
        assert all(record.peopled for record in records.episodes)
    assert played["oracle"].column("success").mean() > 0.9
    assert played["straight"].column("people_collisions").sum() > 0


def test_who_has_finished_is_out_of_the_way() -> None:
    """All stand but one, in whose way nobody is left."""
    config = CONFIG.override(
        "environment", levels=("open",), max_episode_steps=20, goal_distance=(8.0, 12.0)
    )
    subject = planner_subject("straight", config)
    seen: list[np.ndarray] = []

    def make(envs: int) -> Controller:
        controller = subject.make(envs)
        act = controller.act

        def watched(batch):  # type: ignore[no-untyped-def]
            seen.append(batch.world.present().copy())
            return act(batch)

        controller.act = watched  # type: ignore[method-assign]
        return controller

    quick = type(subject)(subject.config.override("environment", goal_radius=7.0), make)
    evaluate({"": quick}, LevelSource(config, seed=1), AGENTS)
    assert seen[0].all()
    assert 0 < seen[-1].sum() < AGENTS


@pytest.mark.integration
def test_the_shipped_agent_walks_among_others(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    arguments = [
        "eval", "vr_navigation", "--agents", "4", "--episodes", "60", "--level-set",
        "open,rooms,clutter", "--baselines", "straight", "--no-report", "--json",
        str(file), "--deterministic",
    ]  # fmt: skip
    assert main(arguments) == 0
    scores = json.loads(file.read_text())
    agents = scores["agents"]
    policy = {name: m["value"] for name, m in agents["policy"].items()}
    assert policy["success_rate"] > 0.9
    assert policy["spl"] > 0.7
    hits = {n: m["people_collisions_per_episode"]["value"] for n, m in agents.items()}
    assert hits["policy"] < 0.6
