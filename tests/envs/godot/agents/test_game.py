"""A scene's own agents in the real engine: spaces, rewards, ends, seeds, faults."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from fixtures.processes import wait_for
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test
from stable_baselines3.common.env_checker import check_env as check_for_sb3

from ambulo.configs.errors import (
    ActionError,
    BridgeError,
    ConfigError,
    ObservationError,
    RewardError,
)
from ambulo.envs.godot.agents.game import Game
from ambulo.envs.godot.agents.game_batch import GameBatch
from ambulo.envs.godot.agents.parallel import GodotParallel

pytestmark = pytest.mark.integration
Start = Callable[..., Game]
ENV = "ambulo.envs:ambulo/Godot-v0"


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def begun(game: Game, kind: str | None = None, seed: int = 5) -> GameBatch:
    """A batch of a kind, reset."""
    batch = GameBatch(game, kind)
    batch.seed([seed + row for row in range(batch.num_envs)])
    batch.reset(np.arange(batch.num_envs))
    return batch


def test_spaces_and_steps_are_those_of_the_scene(start: Start) -> None:
    game = start("teams")
    red, blue = game.spec.kinds
    assert (red.name, red.count, blue.name, blue.count) == ("red", 2, "blue", 1)
    assert red.observation_space == spaces.Box(-np.inf, np.inf, (2,), np.float32)
    assert red.action_space == spaces.MultiDiscrete([3, 2])
    assert (game.spec.action_repeat, game.spec.speed_up) == (3, 1)
    batch = begun(game, "red")
    _, reward, *_ = batch.step(np.array([[2, 0], [1, 1]]))
    np.testing.assert_array_equal(reward, [1.0, 0.5])
    np.testing.assert_array_equal(batch.obs[:, 0], [1.0, 1.0])
    info = batch.step(np.array([[0, 0], [2, 0]]))[-1]
    np.testing.assert_array_equal(info["reward/turn"], [0.0, 1.0])
    assert info["is_success"].dtype == np.bool_
    with pytest.raises(ActionError, match=r"turn.*0 to 2"):
        batch.step(np.array([[3, 0], [0, 0]]))


def test_the_last_observation_is_of_the_episode_that_ends(start: Start) -> None:
    batch = begun(start("teams"), "red")
    starts = batch.obs.copy()
    for _ in range(4):
        obs, _, terminated, truncated, info = batch.step(np.zeros((2, 2)))
    np.testing.assert_array_equal(terminated, [True, False])
    np.testing.assert_array_equal(truncated, [False, False])
    np.testing.assert_array_equal(info["is_success"], [True, False])
    np.testing.assert_array_equal(obs[:, 0], [4.0, 4.0])
    assert obs[0, 1] == starts[0, 1]
    batch.reset(np.array([0]))
    assert batch.obs[0, 0] == 0.0
    assert batch.obs[0, 1] != starts[0, 1]
    obs, *_ = batch.step(np.zeros((2, 2)))
    np.testing.assert_array_equal(obs[:, 0], [1.0, 5.0])


def test_a_step_limit_truncates(start: Start) -> None:
    batch = begun(start("teams"), "blue")
    ends = [batch.step(np.zeros((1, 2)))[2:4] for _ in range(6)]
    assert [bool(truncated[0]) for _, truncated in ends] == [False] * 5 + [True]
    assert not any(terminated[0] for terminated, _ in ends)


def test_equal_seeds_give_equal_episodes(start: Start) -> None:
    def play(batch: GameBatch, steps: int = 50) -> bytes:
        batch.seed([9])
        batch.reset(np.arange(1))
        rng = np.random.default_rng(0)
        seen = [batch.obs.tobytes()]
        for _ in range(steps):
            action = [[*rng.uniform(-1, 1, 2), rng.integers(2)]]
            obs, reward, terminated, truncated, _ = batch.step(np.array(action))
            seen += [obs.tobytes(), reward.tobytes()]
            batch.reset(np.flatnonzero(terminated | truncated))
            seen.append(batch.obs.tobytes())
        return b"".join(seen)

    batch = GameBatch(start("coins"))
    first = play(batch)
    assert play(batch) == first
    assert play(GameBatch(start("coins"))) == first


def test_autoreset_modes_give_the_same_episodes(agents_game: Path) -> None:
    def firsts(mode: str) -> list[bytes]:
        env = gymnasium.make_vec(
            ENV, num_envs=2, project=str(agents_game), autoreset_mode=mode
        )
        env.reset(seed=1)
        found, ended = [], np.zeros(2, np.bool_)
        for _ in range(45):
            actions = {"move": np.zeros((2, 2)), "jump": np.ones(2, int)}
            obs, _, terminated, truncated, _ = env.step(actions)
            done = terminated | truncated
            new = done if mode == "SameStep" else ended
            found += [obs["coin"][row].tobytes() for row in np.flatnonzero(new)]
            ended = done
        env.close()
        return found

    same, following = firsts("SameStep"), firsts("NextStep")
    assert len(same) == len(following) == 4
    assert same == following


def test_the_checkers_of_gymnasium_sb3_and_pettingzoo(agents_game: Path) -> None:
    env = gymnasium.make(ENV, project=str(agents_game)).unwrapped
    check_env(env, skip_render_check=True)
    check_for_sb3(env)
    env.close()
    parallel = GodotParallel(str(agents_game), "res://teams.tscn")
    parallel_api_test(parallel, num_cycles=20)
    assert parallel.possible_agents == ["red_0", "red_1", "blue_0"]
    parallel.close()


def test_several_engines_are_one_batch(start: Start) -> None:
    game = start("teams", engines=2)
    batch = begun(game, "red")
    assert batch.num_envs == 4
    obs, *_ = batch.step(np.zeros((4, 2)))
    np.testing.assert_array_equal(obs[:, 0], np.ones(4))
    assert len(set(obs[:, 1])) == 4


def test_a_godot_rl_game_runs_as_it_is(start: Start) -> None:
    game = start("controllers")
    assert game.spec.godot_rl
    assert (game.spec.action_repeat, game.spec.speed_up) == (2, 4)
    batch = begun(game)
    goals = batch.obs[:, 2].copy()
    np.testing.assert_array_equal(batch.obs[:, 0], [0.0, 0.0])
    batch.step(np.full((2, 1), 1.0))
    obs, reward, terminated, truncated, _ = batch.step(np.full((2, 1), 1.0))
    np.testing.assert_array_equal(terminated, [True, True])
    np.testing.assert_array_equal(truncated, [False, False])
    np.testing.assert_array_equal(reward, [1.0, 1.0])
    # The one that waits for the next tick shows its goal; the other began anew in that tick.
    np.testing.assert_array_equal(obs[:, 0], [2.0, 3.0])
    np.testing.assert_array_equal(obs[:, 2], goals)
    batch.reset(np.arange(2))
    assert (batch.obs[:, 2] != goals).all()
    assert (batch.obs[:, 0] <= 2.0).all()


def test_a_scene_of_an_unreadable_file_is_left_out(start: Start) -> None:
    """A game whose scenery is of Blender plays where Blender is not installed."""
    game = start("unreadable")
    assert game.spec.kinds[0].agents == ("Unreadable/Area/Coins/Player/Agent",)
    begun(game).step(np.zeros((1, game.spec.kinds[0].action_size)))


def test_a_limit_of_a_godot_rl_game_truncates(start: Start) -> None:
    batch = begun(start("controllers"))
    truncated, steps = np.zeros(2, np.bool_), 0
    while not truncated.any():
        obs, _, terminated, truncated, _ = batch.step(np.zeros((2, 1)))
        steps += 1
        assert not terminated.any()
    assert 5 <= steps <= 6
    assert obs[truncated][0, 1] == 11.0  # ticks before the one that ended it


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("empty", "scene res://empty.tscn has no agent: add a node AmbuloAgent3D"),
        ("clash", "Clash/B: is of the kind 'agent' like Clash/A, but has obs[3]"),
        ("fault_no_actions", "Fault/Counter: get_action_space(): is empty"),
        ("nothing", "no such file"),
    ],
)
def test_scenes_that_cannot_be_played(start: Start, scene: str, words: str) -> None:
    with pytest.raises(BridgeError) as caught:
        start(scene)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("scene", "kind", "words"),
    [
        (
            "nan",
            ObservationError,
            "Fault/Counter, engine 0), step 3: observation 'obs' is nan",
        ),
        (
            "nan_reward",
            RewardError,
            "Fault/Counter, engine 0), step 3: the reward is nan",
        ),
        (
            "no_reward",
            BridgeError,
            "get_reward(): expected a number, got <null> (step 3)",
        ),
        ("longer", BridgeError, "'obs': expected 2 numbers, got 3 (step 3)"),
        ("text", BridgeError, "'obs': expected 2 numbers, got \"three\" (step 3)"),
        ("freed", BridgeError, "Fault/Counter was freed during the step (step 3)"),
        ("script", BridgeError, "res://counter.gd:38: Cannot call method 'get_name'"),
    ],
)
def test_agents_that_break_a_rule(
    start: Start, scene: str, kind: type[Exception], words: str
) -> None:
    game = start(f"fault_{scene}")
    batch = begun(game)
    pids = game.pids
    for _ in range(2):
        batch.step(np.zeros((1, 2)))
    with pytest.raises(kind) as caught:
        batch.step(np.zeros((1, 2)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    game.close()
    wait_for(lambda: not any(map(alive, pids)), "end of the engine")


@pytest.mark.parametrize(("scene", "kind"), [("hang", "timeout"), ("quit", "died")])
def test_an_engine_that_fails_costs_the_episode(
    start: Start, scene: str, kind: str
) -> None:
    game = start(f"fault_{scene}", timeout=5.0)
    batch = begun(game)
    for _ in range(2):
        batch.step(np.zeros((1, 2)))
    first = game.pids
    obs, reward, terminated, truncated, info = batch.step(np.zeros((1, 2)))
    assert (bool(terminated[0]), bool(truncated[0])) == (False, True)
    assert info["bridge_fault"][0]
    assert (reward[0], obs[0, 0]) == (0.0, 2.0)
    assert game.faults == {kind: 1}
    batch.reset(np.arange(1))
    assert batch.obs[0, 0] == 0.0
    assert game.pids != first
    wait_for(lambda: not alive(first[0]), "end of the engine")
    batch.step(np.zeros((1, 2)))


def test_a_game_that_fails_in_every_episode_is_given_up(start: Start) -> None:
    game = start("fault_quit", max_failures=2)
    batch = begun(game)

    def play(steps: int) -> None:
        for _ in range(steps):
            _, _, _, truncated, _ = batch.step(np.zeros((1, 2)))
            batch.reset(np.flatnonzero(truncated))

    with pytest.raises(BridgeError, match="has failed 2 times in a row") as caught:
        play(8)
    assert "\n" not in str(caught.value)
    assert game.faults == {"died": 2}


def test_a_killed_engine_costs_its_own_agents_alone(start: Start) -> None:
    game = start("teams", engines=2)
    batch = begun(game, "red")
    batch.step(np.zeros((4, 2)))
    os.kill(game.pids[1], signal.SIGKILL)
    obs, _, _, truncated, info = batch.step(np.zeros((4, 2)))
    np.testing.assert_array_equal(truncated, [False, False, True, True])
    np.testing.assert_array_equal(info["bridge_fault"], truncated)
    np.testing.assert_array_equal(obs[:, 0], [2.0, 2.0, 1.0, 1.0])
    batch.reset(np.flatnonzero(truncated))
    np.testing.assert_array_equal(batch.obs[:, 0], [2.0, 2.0, 0.0, 0.0])
    obs, *_ = batch.step(np.zeros((4, 2)))
    np.testing.assert_array_equal(obs[:, 0], [3.0, 3.0, 1.0, 1.0])


def test_numbers_of_envs_and_kinds_are_checked(agents_game: Path) -> None:
    with pytest.raises(ConfigError, match="must be a multiple"):
        gymnasium.make_vec(
            ENV, 3, project=str(agents_game), scene="res://teams.tscn", kind="red"
        )
    with pytest.raises(ConfigError, match="kinds red, blue"):
        gymnasium.make(ENV, project=str(agents_game), scene="res://teams.tscn")
    with pytest.raises(ConfigError, match="use gymnasium"):
        gymnasium.make(
            ENV, project=str(agents_game), scene="res://teams.tscn", kind="red"
        )
    with pytest.raises(ConfigError, match="project=FOLDER"):
        gymnasium.make(ENV)


def test_json_is_the_same_by_name(start: Start) -> None:
    game = start("teams")
    link = game._fleet.links[0]
    connection = link._connection
    assert connection is not None

    def post(path: str, body: object) -> dict:
        data = json.dumps(body).encode()
        return connection.request("POST", path, data).checked().json()

    first = post("/agents/reset", {"seed": 3})["agents"][0]
    assert first["agent"] == "Teams/Red0"
    assert first["observation"]["obs"][0] == 0.0
    rows = {"red": [[2, 0], [0, 0]], "blue": [[0, 0]]}
    answer = post("/agents/step", {"actions": rows})
    assert [row["reward"] for row in answer["agents"]] == [1.0, 0.0, 0.0]
    refused = connection.request("POST", "/agents/step", b'{"actions": {"red": []}}')
    assert refused.status == 400
