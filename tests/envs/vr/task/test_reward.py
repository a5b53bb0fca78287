"""Rewards: the terms, and that nothing out-earns reaching the goal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_rewards import NavigationRewardsConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import FAMILIES
from ambulo.envs.vr.families.level_sets import split_level
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.planners.planners import make_planner
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.reward import Transition, load_custom_terms, reward_terms
from ambulo.envs.vr.world.compiled_world import CompiledWorld

STEPS = 300


def transition(**changes: object) -> Transition:
    """One env to whom nothing happened, but for `changes`."""
    zeros = dict.fromkeys(
        (
            "progress", "new_best", "goals", "walked", "turned", "action_change",
            "posture", "novelty",
        ),
        np.zeros(1),
    )  # fmt: skip
    counts = dict.fromkeys(
        ("collisions", "contact_ticks", "people_collisions", "people_ticks", "moves"),
        np.zeros(1, int),
    )
    flags = dict.fromkeys(("fell", "timeout"), np.zeros(1, bool))
    names = ("comfort", "comfort_index", "smoothness")
    still = dict.fromkeys(names, np.ones(1))
    return Transition(**(zeros | counts | flags | still | changes))


def total(change: dict[str, object], **weights: object) -> float:
    """Reward of one decision."""
    terms = reward_terms(transition(**change), NavigationRewardsConfig(**weights))
    return float(np.sum(list(terms.values())))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 0.0),
        ({"goals": np.ones(1)}, 100.0),
        ({"progress": np.array([0.2])}, 0.2),
        ({"new_best": np.array([0.2])}, 0.2 * (2.0 + 0.1)),
        ({"new_best": np.array([0.2]), "comfort": np.array([0.5])}, 0.2 * (1.0 + 0.1)),
        ({"collisions": np.array([2]), "contact_ticks": np.array([9])}, -20.0),
        ({"fell": np.array([True])}, -50.0),
        ({"timeout": np.array([True])}, -20.0),
        ({"moves": np.array([1])}, -1.0),
    ],
)
def test_published_weights(change: dict[str, object], expected: float) -> None:
    """Each published term pays its published weight."""
    assert total(change) == pytest.approx(expected)


def test_a_longer_way_costs_more() -> None:
    """Metres walked cost the same wherever they lead; a detour of 2 m costs 2 m."""
    straight = {"walked": np.array([3.0]), "progress": np.array([3.0])}
    detour = {"walked": np.array([5.0]), "progress": np.array([3.0])}
    assert total(straight, path_cost=0.5) == pytest.approx(3.0 - 1.5)
    assert total(detour, path_cost=0.5) == pytest.approx(3.0 - 2.5)


@pytest.mark.parametrize("mode", ["event", "decision", "tick"])
def test_collisions_with_people_are_paid_apart(mode: str) -> None:
    both = {
        "collisions": np.array([3]), "contact_ticks": np.array([7]),
        "people_collisions": np.array([1]), "people_ticks": np.array([2]),
    }  # fmt: skip
    weights = NavigationRewardsConfig(
        collision_mode=mode,
        collision_penalty=-1,
        person_collision=-10,  # type: ignore[arg-type]
    )
    terms = reward_terms(transition(**both), weights)
    things, people = {"event": (2, 1), "decision": (0, 1), "tick": (5, 2)}[mode]
    assert terms["collision"] == -things
    assert terms["person"] == -10 * people
    same = reward_terms(
        transition(**both),
        NavigationRewardsConfig(collision_mode=mode),  # type: ignore[arg-type]
    )
    assert same["person"] == -10 * people


@pytest.fixture(scope="module")
def levels() -> list[Level]:
    """Two designed levels of each family."""
    return [split_level(family, "train", i) for family in FAMILIES for i in range(2)]


def make_batch(
    levels: list[Level], task: str = "navigate", times: int = 1
) -> NavigationBatch:
    """All levels, `times` over, step limit `STEPS`."""
    config = NavigationConfig().override(
        "environment", max_episode_steps=STEPS, tasks=(task,)
    )
    bank = LevelBank(levels, np.random.default_rng(0), goal_distance=(5.0, 30.0))
    count = times * len(levels)
    world = CompiledWorld(count, WorldSpec.from_config(config))
    batch = NavigationBatch(config, bank, world, num_envs=count)
    starts = [Start(i, 0, lv.start) for i, lv in enumerate(levels)]
    batch.reset(np.arange(count), starts * times)
    return batch


def beside_a_wall(rays: np.ndarray, scrape: bool) -> np.ndarray:
    """Walk ahead with the right hand 0.4 m from the wall, or pressed against it."""
    blocked = rays[:, [0, 1, 15]].min(axis=1) < 0.6
    turn = np.where(blocked, -1.0, np.clip(2.0 * (rays[:, 12] - 0.4), -0.3, 1.0))
    ahead = np.where(blocked, 0.0, 1.0)
    return np.column_stack([np.full_like(turn, 1.0 if scrape else 0.0), ahead, turn])


def lazy(policy: str, step: int, rays: np.ndarray, rng: np.random.Generator) -> Any:
    """Actions of a policy that does not look for the goal, shape (n, 3)."""
    if policy in ("hug", "scrape"):
        return beside_a_wall(rays, scrape=policy == "scrape")
    if policy == "jitter":
        return rng.uniform(-1, 1, (len(rays), 3))
    pace = 1.0 if (step // 20) % 2 else -1.0
    actions = {
        "idle": (0.0, 0.0, 0.0), "spin": (0.0, 0.0, 1.0), "ahead": (0.0, 1.0, 0.0),
        "pace": (0.0, pace, 0.0), "circle": (0.0, 1.0, 1.0),
    }  # fmt: skip
    return np.tile(actions[policy], (len(rays), 1))


def play(batch: NavigationBatch, *policies: str) -> np.ndarray:
    """Returns of the one episode of each env, shape (policies, N / policies).

    The envs are shared out among the policies in order. -inf where a lazy policy happens
    to succeed.
    """
    n, rng = batch.num_envs, np.random.default_rng(0)
    oracle = make_planner("oracle", n) if policies == ("oracle",) else None
    if oracle is not None:
        oracle.reset(np.arange(n), np.arange(n))
    returns, done = np.zeros(n), np.zeros(n, bool)
    solved = np.zeros(n, bool)
    for step in range(STEPS):
        if oracle is not None:
            actions = oracle.act(batch)
        else:
            parts = np.split(batch.obs[:, 13:29], len(policies))
            actions = np.concatenate(
                [lazy(p, step, r, rng) for p, r in zip(policies, parts, strict=True)]
            )
        _, reward, terminated, truncated, info = batch.step(actions)
        terms = [v for k, v in info.items() if k.startswith("reward/")]
        np.testing.assert_allclose(np.sum(terms, axis=0), reward, atol=1e-9)
        returns += np.where(done, 0.0, reward)
        solved |= info["is_success"] & ~done
        done |= terminated | truncated
    if oracle is None:
        returns = np.where(solved, -np.inf, returns)
    return returns.reshape(len(policies), -1)


@pytest.mark.integration
def test_lazy_policies_earn_less_than_the_goal(levels: list[Level]) -> None:
    """Whoever does not reach the goal earns less than half of the goal's reward."""
    policies = ("idle", "spin", "ahead", "pace", "circle", "jitter", "hug", "scrape")
    batch = make_batch(levels, times=len(policies))
    returns = dict(zip(policies, play(batch, *policies), strict=True))
    goal = batch.config.rewards.goal_reached
    for policy, earned in returns.items():
        assert earned.max() < 0.5 * goal, policy
    for policy in ("idle", "spin"):
        penalty = batch.config.rewards.timeout_penalty
        np.testing.assert_allclose(returns[policy], penalty)


@pytest.mark.integration
def test_reaching_the_goal_earns_more_than_the_goal(levels: list[Level]) -> None:
    """On the same episodes: the goal's reward, the way, and the bonuses for it."""
    batch = make_batch(levels)
    start = batch.episode.start_distance.copy()
    (returns,) = play(batch, "oracle")
    slow = start > 0.7 * 2.0 * STEPS * 0.1  # the step limit is too short for the way
    assert slow.sum() < 4
    assert (returns[~slow] > batch.config.rewards.goal_reached).all()


@pytest.mark.integration
@pytest.mark.parametrize("task", ["follow", "reach", "patrol"])
def test_lazy_policies_earn_no_task(levels: list[Level], task: str) -> None:
    """A goal that walks past, a second goal or a hand near the target pay no idler."""
    policies = ("idle", "spin", "pace", "hug", "jitter")
    batch = make_batch(levels[::2], task, times=len(policies))
    shares = batch.config.environment.patrol_goals if task == "patrol" else 1
    returns = dict(zip(policies, play(batch, *policies), strict=True))
    # Who happens to pass some goals of a patrol is paid for these.
    for policy, earned in returns.items():
        assert earned.max() < 100.0 * (1.0 - 1.0 / shares) + 40.0, policy
    for policy in ("idle", "spin"):
        assert (
            returns[policy].max() < 0.0
        )  # turning moves the hands by some centimetres


def test_pacing_at_a_goal_of_a_patrol_is_paid_once(levels: list[Level]) -> None:
    """In and out of the first goal's disc: one share, and no more bonus than the way."""
    batch = make_batch(levels, "patrol")
    n, clear = batch.num_envs, slice(0, 2)  # the levels without obstacles
    first, second = batch.bank.goals[clear, 0, :2], batch.bank.goals[clear, 1, :2]
    apart = np.hypot(*(second - first).T)
    assert (apart > 3.0).all()
    way = batch.episode.distance[clear].copy() + apart
    paid, bonus = np.zeros(2), np.zeros(2)
    for step in range(60):
        batch.world.state.position[clear, :2] = first
        batch.world.state.position[clear, 0] += 1.5 if step % 2 else 0.5
        _, _, _, _, info = batch.step(np.zeros((n, 3)))
        paid += info["reward/goal"][clear]
        bonus += info["reward/comfort"][clear]
    np.testing.assert_allclose(paid, 100.0 / 3.0)
    assert (bonus <= 2.0 * (way + 1.0)).all()


def test_bonuses_are_bounded_by_the_way(levels: list[Level]) -> None:
    """Pacing back and forth never earns more bonus than walking there once."""
    batch = make_batch(levels)
    start = batch.episode.start_distance.copy()
    bonus, alive = np.zeros(batch.num_envs), np.ones(batch.num_envs, bool)
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        actions = rng.uniform(-1, 1, (batch.num_envs, 3))
        _, _, terminated, _, info = batch.step(actions)
        bonus += alive * (info["reward/comfort"] + info["reward/smooth"])
        alive &= ~terminated
    assert (bonus <= 2.1 * start + 1e-9).all()


def test_literal_bonuses_reward_standing_still() -> None:
    """The published reading, kept for study, does pay idlers more than the goal."""
    config = NavigationConfig().override("rewards", bonus_mode="step").rewards
    assert sum(v[0] for v in reward_terms(transition(), config).values()) == 2.1


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("no_colon", "package.module:ClassName"),
        ("no_such_module_xyz:A", "cannot be made"),
        ("math:nothing", "cannot be made"),
        ("fractions:Fraction", "needs a `name`"),
    ],
)
def test_bad_custom_terms_are_named(path: str, rule: str) -> None:
    """Each way to get the dotted path wrong has its own words."""
    with pytest.raises(ConfigError, match=rule):
        load_custom_terms([path])
