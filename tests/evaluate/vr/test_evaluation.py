from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from fixtures.untrained import untrained_navigator

from ambulo.configs.errors import ConfigError, LevelError, ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.level_io import load_levels, save_level
from ambulo.envs.vr.task.observation import TASKS
from ambulo.envs.vr.task.tasks import TaskState
from ambulo.evaluate.shared.result import AgentMetrics
from ambulo.evaluate.vr.episodes import (
    CHUNK,
    LevelSource,
    described_levels,
    episode_chunks,
)
from ambulo.evaluate.vr.episodes import episodes_for as episodes_of
from ambulo.evaluate.vr.evaluation import evaluate, run_episodes
from ambulo.evaluate.vr.scores import breakdowns, summarise
from ambulo.evaluate.vr.subjects import agent_subject, planner_subject
from ambulo.policies.agents.navigation import Agent

CONFIG = NavigationConfig().override("environment", max_episode_steps=200)


def random_agent(config=CONFIG):
    return Agent(untrained_navigator(config))


def scored(subject, *, config=CONFIG, episodes=45, seed=0, **levels) -> AgentMetrics:
    """Scores of a subject on the levels of `config`, or of a set or a file."""
    source = LevelSource(config, seed=seed, **levels)
    return summarise(evaluate({"": subject}, source, episodes)[""], seed)


def planned(name, *, config=CONFIG, **options) -> AgentMetrics:
    """Scores of a planner."""
    return scored(planner_subject(name, config), config=config, **options)


def episodes_for(config, *, episodes=45, **choice):
    """Levels and starts of an evaluation."""
    return episodes_of(LevelSource(config, **choice), episodes)


def level_folder(folder, *, goal=True, start=True):
    """Three level files; without goal or start where that is asked for."""
    for i, family in enumerate(("open", "pillars", "rooms")):
        level = split_level(family, "validation", i)
        file = folder / f"{i}.json"
        save_level(level, file)
        data = json.loads(file.read_text())
        if not goal:
            data["goal"] = None
        if not start:
            data["start"] = None
        data["goal_distance"] = [4.0, 9.0]
        file.write_text(json.dumps(data))
    return str(folder)


@pytest.mark.integration
@pytest.mark.parametrize("name", ["random", "straight", "dwa", "oracle"])
def test_the_number_of_envs_changes_nothing(name):
    bank, starts = episodes_for(CONFIG, level_set="validation", episodes=5, seed=2)
    subject = planner_subject(name, CONFIG)
    found = []
    for envs in (2, 64):
        controller = subject.make(min(envs, len(starts)))
        records = run_episodes(
            controller, subject.config, bank, starts, num_envs=envs, seed=2
        )
        found.append((summarise(records), breakdowns({"": records})))
    assert found[0] == found[1]


def test_who_waits_for_the_others_stands_still():
    bank, starts = episodes_for(CONFIG, level_set="open", episodes=4, seed=2)
    subject = planner_subject("straight", CONFIG)
    waited = []

    class Watched:
        """A planner that notes how fast those are that have nothing left to play."""

        def __init__(self):
            self.planner, self.steps = subject.make(4), np.zeros(4, np.int64)
            self.done = np.zeros(4, np.bool_)

        def reset(self, envs, seeds):
            self.planner.reset(envs, seeds)

        def act(self, batch):
            self.done |= batch.episode.steps < self.steps
            self.steps = batch.episode.steps.copy()
            speed = np.linalg.norm(batch.world.state.velocity, axis=1)
            waited.extend(speed[self.done].tolist())
            return self.planner.act(batch)

    records = run_episodes(Watched(), subject.config, bank, starts, num_envs=4, seed=2)
    assert len(records.episodes) == 4
    assert len(waited) > 0
    assert max(waited) == 0.0


@pytest.mark.integration
def test_an_agent_scores_the_same_twice():
    agent = random_agent()

    def found(*, deterministic=True):
        subject = agent_subject(agent, CONFIG, deterministic=deterministic, seed=1)
        return scored(subject, episodes=6, seed=1)

    first = found()
    assert first == found()
    sampled = [found(deterministic=False) for _ in range(2)]
    assert sampled[0] == sampled[1]
    assert sampled[0] != first


def test_result_counts_add_up_and_are_json():
    source = LevelSource(CONFIG, level_set="open,maze")
    subjects = {"straight": planner_subject("straight", CONFIG)}
    records = evaluate(subjects, source, 10)
    result = summarise(records["straight"])
    names = ("falls", "timeouts")
    success = result["success_rate"]
    assert round(success.number * 10) + sum(result[n].number for n in names) == 10
    families, levels, _ = breakdowns(records)
    assert list(families.scores) == ["open", "maze"]
    assert families.scores["open"]["straight"]["success_rate"].value == 1.0
    assert len(levels.scores) == 10
    assert success.low <= success.value <= success.high
    assert result["spl"].value <= success.value
    found = {name: asdict(one) for name, one in result.items()}
    json.dumps(found, allow_nan=False)


def test_traces_agree_with_the_scores():
    bank, starts = episodes_for(CONFIG, level_set="pillars", episodes=4)
    subject = planner_subject("oracle", CONFIG)
    records = run_episodes(subject.make(2), CONFIG, bank, starts, num_envs=2)
    for episode, start in zip(records.episodes, starts, strict=True):
        trace = episode.trace
        assert episode.level is bank.levels[start.slot]
        np.testing.assert_allclose(trace.position[0, :2], start.pose[:2])
        assert len(trace.yaw) == round(episode.time / trace.dt) + 1
        assert np.hypot(*np.diff(trace.position[:, :2], axis=0).T).sum() <= (
            episode.path + 1e-9
        )
        assert episode.success
        end = np.hypot(*(trace.position[-1, :2] - episode.level.goal))
        assert end < CONFIG.environment.goal_radius


@pytest.mark.integration
@pytest.mark.parametrize("goals", [1, 3])
def test_a_patrol_is_measured_against_the_way_by_all_of_its_goals(goals):
    config = CONFIG.override(
        "environment", tasks=("patrol",), patrol_goals=goals, max_episode_steps=900
    )
    result = planned("oracle", config=config, level_set="heldout", episodes=9)
    assert result["success_rate"].value == 1.0
    assert result["spl"].value > 0.95
    assert result["soft_spl"].value > 0.95


@pytest.mark.integration
@pytest.mark.parametrize("task", ["navigate", "follow", "reach", "patrol"])
def test_an_agent_of_several_tasks_plays_the_one_asked_for(task, monkeypatch):
    config = CONFIG.override("environment", tasks=("navigate", "patrol"))
    agent, kinds = random_agent(config), []
    begin = TaskState.begin
    monkeypatch.setattr(
        TaskState,
        "begin",
        lambda self, envs, kind, *rest: (
            kinds.extend(kind.tolist()),
            begin(self, envs, kind, *rest),
        ),
    )
    subject = agent_subject(agent, config)
    source = LevelSource(config, level_set="open")
    assert len(evaluate({"": subject}, source, 6, task=task)[""].episodes) == 6
    assert {TASKS[kind] for kind in kinds} == {task}


def test_who_stands_makes_no_progress_on_a_patrol():
    config = CONFIG.override("environment", tasks=("patrol",), max_episode_steps=5)
    result = planned("stand", config=config, level_set="open,rooms", episodes=2)
    assert result["soft_spl"].value == pytest.approx(0.0, abs=1e-6)


def test_level_sets_go_round_robin_over_held_out_seeds():
    bank, starts = episodes_for(CONFIG, level_set="heldout", episodes=11)
    names = [bank.levels[s.slot].name for s in starts]
    expected = [f"{f}-2000000" for f in FAMILIES]
    assert names == [*expected, "open-2000001", "pillars-2000001"]
    other, _ = episodes_for(CONFIG, level_set="heldout", episodes=1, seed=3)
    assert other.levels[0].name == "open-2030000"


def test_the_configured_goal_range_is_kept_without_a_level_set():
    config = CONFIG.override("environment", levels=("open",), goal_distance=(5.0, 8.0))
    bank, _ = episodes_for(config, episodes=12)
    reach = [np.hypot(*(lv.goal - lv.start[:2])) for lv in bank.levels]
    assert min(reach) >= 4.9
    assert max(reach) <= 8.1


def test_a_folder_is_played_round_robin_and_each_level_held_once(tmp_path):
    folder = level_folder(tmp_path)
    bank, starts = episodes_for(CONFIG, level_file=folder, episodes=7)
    assert [s.slot for s in starts] == [0, 1, 2, 0, 1, 2, 0]
    assert len(bank) == 3


def test_own_levels_and_families_take_turns(tmp_path):
    config = CONFIG.override(
        "environment",
        levels=("open", "pits"),
        level_file=level_folder(tmp_path),
        level_file_fraction=0.5,
    )
    bank, starts = episodes_for(config, episodes=10, split="validation")
    names = [bank.levels[start.slot].name for start in starts]
    files = ["open-1000000", "pillars-1000001", "rooms-1000002"]
    assert names[1::2] == [*files, *files[:2]]
    assert [name.split("-")[0] for name in names[::2]] == ["open", "pits"] * 2 + [
        "open"
    ]
    np.testing.assert_array_equal(starts[1].pose, bank.levels[starts[1].slot].start)
    assert not np.allclose(starts[7].pose, starts[1].pose)  # the second time
    assert "(50% of the episodes), and held-out levels of open" in described_levels(
        config
    )
    alone, _ = episodes_for(config, level_file=str(tmp_path), episodes=4)
    assert len(alone) == 3


def test_a_level_that_is_played_again_begins_a_little_beside(tmp_path):
    folder = level_folder(tmp_path)

    def poses(episodes, config=CONFIG, seed=0):
        _, starts = episodes_for(
            config, level_file=folder, episodes=episodes, seed=seed
        )
        return np.array([start.pose for start in starts])

    nine = poses(9)
    levels = load_levels(folder)
    np.testing.assert_array_equal(nine[:3], [level.start for level in levels])
    np.testing.assert_array_equal(nine[:5], poses(5))
    assert len(np.unique(nine, axis=0)) == 9
    off = nine.reshape(3, 3, 3) - nine[:3]
    assert (np.hypot(off[..., 0], off[..., 1]) <= 0.3).all()
    assert (np.abs(off[..., 2]) <= np.radians(20.0)).all()
    assert not np.allclose(nine[3:], poses(9, seed=1)[3:])
    still = CONFIG.override("environment", start_jitter=(0.0, 0.0))
    np.testing.assert_array_equal(poses(6, still)[3:], nine[:3])


@pytest.mark.integration
def test_handmade_levels_are_played_round_robin():
    names = [level.name for level in handmade_levels()]
    bank, starts = episodes_for(CONFIG, level_set="handmade", episodes=24)
    assert [bank.levels[start.slot].name for start in starts] == names * 2
    poses = np.array([start.pose for start in starts])
    assert not np.equal(poses[:12], poses[12:]).all(axis=1).any()
    config = CONFIG.override("environment", max_episode_steps=600)
    result = planned("oracle", config=config, level_set="handmade", episodes=12)
    assert result["success_rate"].value == 1.0
    assert described_levels(CONFIG, "handmade").startswith("handmade (twelve")


@pytest.mark.integration
def test_open_goals_and_starts_are_drawn_from_the_seed(tmp_path):
    folder = level_folder(tmp_path, goal=False, start=False)

    def drawn(seed, episodes):
        bank, starts = episodes_for(
            CONFIG, level_file=folder, episodes=episodes, seed=seed
        )
        return np.array([[*s.pose, *bank.goals[s.slot, 0, :2]] for s in starts])

    six = drawn(0, 6)
    np.testing.assert_array_equal(six, drawn(0, 6))
    np.testing.assert_array_equal(six[:4], drawn(0, 4))
    assert not np.allclose(six, drawn(1, 6))
    assert not np.allclose(six[0], six[3])
    reach = np.hypot(*(six[:, :2] - six[:, 3:]).T)
    assert (reach >= 3.9).all()
    assert (reach <= 9.1).all()
    source = LevelSource(CONFIG, level_file=folder)
    records = evaluate({"oracle": planner_subject("oracle", CONFIG)}, source, 6)
    assert summarise(records["oracle"])["success_rate"].value == 1.0
    assert len(breakdowns(records)[1].scores) == 3


@pytest.mark.integration
def test_chunks_give_the_same_episodes(monkeypatch):
    source = LevelSource(CONFIG, level_set="open,pits")
    whole = [c for c in episode_chunks(source, 7)]
    assert len(whole) == 1
    assert CHUNK >= 7
    one = {"a": planner_subject("straight", CONFIG)}
    full = evaluate(one, source, 7)["a"]
    monkeypatch.setattr("ambulo.evaluate.vr.episodes.CHUNK", 3)
    parts = evaluate(one, source, 7)["a"]
    assert summarise(full) == summarise(parts)


@pytest.mark.integration
def test_worlds_agree():
    fast, slow = (
        planned("oracle", config=config, level_set="pillars", episodes=3)
        for config in (
            CONFIG.override("environment", world=world)
            for world in ("compiled", "mujoco")
        )
    )
    assert fast["success_rate"].value == slow["success_rate"].value == 1.0
    assert fast["mean_path_m"].value == pytest.approx(
        slow["mean_path_m"].value, rel=1e-3
    )


def test_baselines_of_a_discrete_agent_stay_continuous():
    config = CONFIG.override("actions", mode="discrete")
    config = config.override("observations", memory="map")
    result = planned("straight", config=config, level_set="open", episodes=2)
    assert result["spl"].value > 0.9


def test_an_agent_of_another_layout_is_refused():
    with pytest.raises(ModelFileError, match="observation part"):
        agent_subject(
            random_agent(), CONFIG.override("observations", num_ray_sensors=8)
        )


def test_bad_choices_are_named():
    with pytest.raises(ConfigError, match="did you mean 'maze'"):
        episodes_for(CONFIG, level_set="mazes")


def test_missing_level_file_is_named():
    with pytest.raises(LevelError, match=r"nowhere\.json"):
        episodes_for(CONFIG, level_file="nowhere.json")
