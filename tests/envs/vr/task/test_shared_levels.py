"""Agents that share levels: starts apart, one level after another, states."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

import ambulo.envs  # noqa: F401 - registers
from ambulo.configs.errors import ConfigError, LevelError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.planners.planners import make_planner
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.shared_levels import APART, EPISODES, start_apart

AGENTS, ENVS = 3, 6
ID = "ambulo/VRNavigation-v0"


def _config(**environment: object) -> NavigationConfig:
    given = {
        "agents": AGENTS, "levels": ("open", "rooms"), "levels_per_family": 4,
        "max_episode_steps": 30, "tasks": ("navigate", "patrol"), **environment,
    }  # fmt: skip
    return NavigationConfig().override("environment", **given)


def _batch(**environment: object) -> NavigationBatch:
    return make_batch(_config(**environment), ENVS, seed=3)


def _gaps(batch: NavigationBatch) -> np.ndarray:
    """Distance to the nearest mate, shape (ENVS,), [m]."""
    at = batch.world.state.position.reshape(-1, AGENTS, 3)
    away = np.linalg.norm(at[:, :, None] - at[:, None], axis=-1)
    return np.asarray((away + 1e9 * np.eye(AGENTS)).min(axis=2).ravel())


def test_agents_of_a_level_begin_apart_each_with_its_goal() -> None:
    batch = _batch()
    for _ in range(10):
        batch.reset(np.arange(ENVS))
        slots = batch.task.slot.reshape(-1, AGENTS)
        assert (slots == slots[:, :1]).all()
        assert (_gaps(batch) >= APART - 1e-9).all()
        assert np.isfinite(batch.episode.start_distance).all()
    goals = {tuple(g) for g in batch.task.goal[:, :2]}
    assert len(goals) > 1


@pytest.mark.integration
def test_who_begins_again_stays_in_the_level_until_it_is_over() -> None:
    batch = _batch(levels=("open",), tasks=("navigate",), max_episode_steps=100)
    batch.reset(np.arange(ENVS))
    walker = make_planner("straight", ENVS)
    walker.reset(np.arange(ENVS), np.arange(ENVS))
    first = slice(0, AGENTS)
    ended = cut_off = 0
    lives: list[tuple[int, int]] = []
    for _ in range(1500):
        slots = batch.task.slot.copy()
        _, _, terminated, truncated, info = batch.step(walker.act(batch))
        cut, done = info["cut_off"], terminated | truncated
        assert not (cut & terminated).any()
        assert (truncated | ~cut).all()
        again = np.flatnonzero(done)
        if not len(again):
            continue
        ended += int((done & ~cut)[first].sum())
        cut_off += int(cut[first].sum())
        batch.reset(again)
        assert (_gaps(batch)[again] >= APART - 1e-9).all()
        if not done[first].all():
            assert (batch.task.slot[first] == slots[first]).all()
        else:
            lives.append((ended, cut_off))
            ended = cut_off = 0
    assert len(lives) >= 4
    assert all(1 <= own <= EPISODES * AGENTS for own, _ in lives)
    assert max(own for own, _ in lives) > (EPISODES - 1) * AGENTS
    assert all(cut < AGENTS for _, cut in lives)


def test_seeds_decide_everything() -> None:
    runs = []
    for _ in range(2):
        batch = _batch()
        batch.seed(range(ENVS))
        rng = np.random.default_rng(0)
        rows = [batch.reset(np.arange(ENVS)).copy()]
        for _ in range(80):
            obs, reward, a, b, _ = batch.step(rng.uniform(-1, 1, (ENVS, 3)))
            rows += [obs.copy(), reward.copy()]
            if (a | b).any():
                rows.append(batch.reset(np.flatnonzero(a | b)).copy())
        runs.append(rows)
    for one, two in zip(*runs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_states_continue_exactly() -> None:
    batch, other = _batch(), _batch()
    rng = np.random.default_rng(0)

    def play(of: NavigationBatch, actions: np.ndarray) -> list[np.ndarray]:
        rows = []
        for a in actions:
            obs, _, ended, cut, info = of.step(a)
            rows += [obs.copy(), info["cut_off"].copy()]
            if (ended | cut).any():
                of.reset(np.flatnonzero(ended | cut))
        return rows

    for one in (batch, other):
        one.reset(np.arange(ENVS))
    play(batch, rng.uniform(-1, 1, (200, ENVS, 3)))
    other.load_state_dict(batch.state_dict())
    for mine, theirs in zip(batch.rngs, other.rngs, strict=True):
        theirs.bit_generator.state = mine.bit_generator.state
    actions = rng.uniform(-1, 1, (100, ENVS, 3))
    for a, b in zip(play(batch, actions), play(other, actions), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_vector_env_begins_levels_anew_for_all(mode: str) -> None:
    envs = gymnasium.make_vec(
        ID, ENVS, autoreset_mode=mode, agents=AGENTS, level="open",
        levels_per_family=6, step_limit=15,
    )  # fmt: skip
    envs.reset(seed=1)
    slots = envs.unwrapped.batch.task.slot
    met, seen = 0, set()
    for _ in range(300):
        *_, infos = envs.step(envs.action_space.sample())
        met += int(infos["people_collisions"].sum())
        groups = slots.reshape(-1, AGENTS)
        assert (groups == groups[:, :1]).all()
        seen.add(int(groups[0, 0]))
    assert len(seen) > 1
    envs.close()


def test_first_episodes_of_a_level_begin_together() -> None:
    envs = gymnasium.make_vec(
        ID, ENVS, agents=AGENTS, level="open", levels_per_family=1,
        autoreset_mode="Disabled",
    )  # fmt: skip
    mask = np.array([True, True, False] + [True] * 3)
    with pytest.raises(ConfigError, match="environments 0 to 2 share a level"):
        envs.reset(options={"reset_mask": mask})
    envs.reset(options={"reset_mask": np.ones(ENVS, np.bool_)})
    envs.reset(options={"reset_mask": mask})
    envs.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"agents": 2, "world": "mujoco"}, "agents = 2: they meet in world = compiled only"),
        ({"agents": 2, "body": "twin"}, "agents = 2: only capsules meet, this is twin"),
        ({"agents": 0}, "agents = 0"),
        ({"agents": 4}, "this environment is one agent"),
    ],
)  # fmt: skip
def test_where_agents_cannot_meet_is_said(
    settings: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        gymnasium.make(ID, level="open", levels_per_family=1, **settings)
    assert "\n" not in str(caught.value)


def test_envs_must_fill_levels() -> None:
    with pytest.raises(
        ConfigError, match=r"envs = 6: must be a multiple of the 4 agents"
    ):
        gymnasium.make_vec(ID, 6, agents=4, level="open", levels_per_family=1)


def test_full_levels_are_refused() -> None:
    level = Level(
        "closet", np.array([0.0, 0.0, 2.0, 2.0]), start=np.array([0.4, 0.4, 0.0]),
        goal=np.array([1.6, 1.6]),
    )  # fmt: skip
    bank = LevelBank([level], np.random.default_rng(0))
    rng = np.random.default_rng(0)
    taken = np.array([[x, y, 0.0] for x in (0.4, 1.6) for y in (0.4, 1.6)])
    with pytest.raises(
        LevelError, match=r"'closet': no room for another agent 1 m from"
    ):
        start_apart(bank, 0, rng, taken)
    start = start_apart(bank, 0, rng, taken[:1])
    assert np.hypot(*(start.pose[:2] - taken[0, :2])) >= APART


def test_a_levels_own_starts_come_first() -> None:
    own = np.array([[1.0, 1, 0, 0.5], [1.2, 1, 0, 0.5], [8.0, 8, 0, 0.5]])
    level = Level("stops", np.array([0.0, 0.0, 10.0, 10.0]), starts=own)
    bank = LevelBank([level], np.random.default_rng(0))
    rng = np.random.default_rng(0)
    start = start_apart(bank, 0, rng, own[:1, :3])
    assert start.pose.tolist() == [8.0, 8.0, 0.5]
    start = start_apart(bank, 0, rng, own[[0, 2], :3])  # none of them is free
    away = start.pose[:2] - own[[0, 2], :2]
    assert (np.hypot(*away.T) >= APART).all()
