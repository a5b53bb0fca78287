"""The learner of games on plain Gymnasium environments: it learns, resumes and clones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from fixtures.gym_agents import GymAgents

from ambulo.common.console import make_display
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.godot import GodotConfig
from ambulo.evaluate.game.demonstrations import FORMAT, read_demonstrations
from ambulo.evaluate.game.engines import check_kinds
from ambulo.evaluate.game.play import PolicyPlayer, RandomPlayer, play
from ambulo.policies.agents.game import load_game, load_game_agent
from ambulo.policies.files.model_file import save_model
from ambulo.policies.kinds.game import RETURNS
from ambulo.train.godot.self_play import SelfPlayBatch
from ambulo.train.godot.training import GodotTraining
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_folders import GodotRunFolder


def cart() -> Any:
    return gymnasium.make("CartPole-v1")


def pendulum() -> Any:
    return gymnasium.make("Pendulum-v1", max_episode_steps=50)


def opener(makers: dict[str, tuple[int, Any]]) -> Callable[..., GymAgents]:
    def opened(config: Any, *, seed: int, log_folder: Any = None) -> GymAgents:
        agents = GymAgents(makers)
        agents.seed([seed + row for row in range(agents.num_envs)])
        return agents

    return opened


BOTH = {"cart": (3, cart), "pendulum": (2, pendulum)}
TINY = GodotConfig(
    ppo={"n_steps": 32, "batch_size": 80, "n_epochs": 2},
    network={"net_arch": [16], "warm_up_steps": 3},
    training={
        "total_timesteps": 640, "save_freq": 320, "eval_freq": 320, "eval_episodes": 2,
    },
)  # fmt: skip


def trained(
    folder: Path,
    config: GodotConfig,
    makers: dict[str, tuple[int, Any]] = BOTH,
    checkpoint: Path | None = None,
) -> RLRun[GodotTraining]:
    run_folder = GodotRunFolder(folder)
    for place in (run_folder.checkpoints, run_folder.best_model.parent):
        place.mkdir(parents=True, exist_ok=True)
    task = GodotTraining(config, run_folder, opened=opener(makers))
    given = None if checkpoint is None else load_game(checkpoint)
    run = RLRun(task, run_folder, given)
    try:
        with StopRequest() as stop:
            run.train(make_display(config.training.total_timesteps, False), stop)
    finally:
        run.close()
    return run


@pytest.mark.integration
@pytest.mark.parametrize("units", [0, 8])
def test_two_kinds_train_together_and_resume(tmp_path, units):
    config = TINY.override("network", recurrent=units, net_arch=(16, 16))
    run = trained(tmp_path / "a", config)
    checkpoints = sorted((tmp_path / "a" / "checkpoints").glob("*.zip"))
    assert len(checkpoints) == 3
    agent = load_game_agent(tmp_path / "a" / "final_model.zip")
    assert [kind.name for kind in agent.kinds] == ["cart", "pendulum"]
    pushed = agent.act(np.zeros((5, 4), np.float32), kind="cart")
    assert pushed["action"].shape == (5,)
    assert pushed["action"].dtype == np.int64
    turned = agent.act(np.zeros(3, np.float32), kind="pendulum", deterministic=False)
    assert turned["action"].shape == (1,)
    rows = json.loads((tmp_path / "a" / "evaluations.json").read_text())
    assert {"return_mean", "return_mean/cart", "reward/all/pendulum"} <= set(rows[-1])
    header = (tmp_path / "a" / "metrics.csv").read_text().splitlines()[0]
    assert "reward/all" in header
    again = trained(tmp_path / "b", config, checkpoint=checkpoints[1])
    assert again.num_timesteps == run.num_timesteps == 640


@pytest.mark.integration
def test_equal_seeds_give_equal_weights(tmp_path):
    trained(tmp_path / "a", TINY)
    trained(tmp_path / "b", TINY)
    first, second = (
        load_game(tmp_path / name / "final_model.zip").weights for name in "ab"
    )
    assert all((first[name] == second[name]).all() for name in first)


def loud_cart() -> Any:
    return gymnasium.wrappers.TransformReward(cart(), lambda reward: 1e3 * reward)


@pytest.mark.integration
@pytest.mark.parametrize("units", [0, 8])
def test_critics_learn_returns_of_one_size_whatever_the_units(tmp_path, units):
    makers = {"cart": (3, loud_cart), "pendulum": (2, pendulum)}
    config = TINY.override("network", recurrent=units, net_arch=(16, 16))
    learner = trained(tmp_path / "run", config, makers).task.learner
    sizes = learner.policy.return_sizes()
    assert 2e3 < sizes[0] < 5e4
    assert 2.0 < sizes[1] < 200.0
    scale = np.repeat((1.0 / sizes).numpy(), [3, 2])
    np.testing.assert_allclose(learner.reward_scale, scale, rtol=0.2)
    rms = np.sqrt(np.mean(np.square(learner.rollout_buffer.returns), axis=0))
    assert ((rms > 0.1) & (rms < 4.0)).all()


@pytest.mark.integration
def test_files_without_statistics_of_returns_load(tmp_path):
    trained(tmp_path / "run", TINY)
    file = tmp_path / "run" / "final_model.zip"
    model = load_game(file)
    weights = {n: w for n, w in model.weights.items() if not n.startswith(RETURNS)}
    assert len(weights) == len(model.weights) - 6
    save_model(tmp_path / "old.zip", replace(model, weights=weights))
    old = load_game(tmp_path / "old.zip")
    assert old.weights.keys() == model.weights.keys()
    policy = load_game_agent(tmp_path / "old.zip").policy
    assert policy.return_sizes().tolist() == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("maker", "wanted", "ppo", "steps"),
    [
        (cart, 200.0, {}, 30_000),
        # 64 random episodes have -300 +- 10, those of the policy -161 +- 11.
        (pendulum, -235.0, {"gamma": 0.9, "learning_rate": 1e-3, "n_steps": 256,
                            "reward_scale": 0.1}, 60_000),
    ],
    ids=["discrete", "continuous"],
)  # fmt: skip
def test_it_learns(tmp_path, maker, wanted, ppo, steps):
    config = GodotConfig(
        ppo=ppo,
        training={"total_timesteps": steps, "eval_freq": 0, "save_freq": steps},
    )
    trained(tmp_path, config, {"it": (8, maker)})
    agents = GymAgents({"it": (8, maker)})
    agent = load_game_agent(tmp_path / "final_model.zip")
    nobody = RandomPlayer(0, agent.policy.width)
    everyone = np.ones(8, np.bool_)
    naive = play(agents, nobody, nobody, everyone, 64)["it"]
    table = play(agents, PolicyPlayer(agent), nobody, everyone, 64)["it"]
    assert np.mean(table.returns) > wanted > np.mean(naive.returns)


def record(folder: Path, episodes: int = 6) -> Path:
    """Recordings of a rule that balances the pole."""
    folder.mkdir()
    env = cart()
    for number in range(episodes):
        obs, _ = env.reset(seed=number)
        seen, acted, rewards, done = [], [], [], False
        while not done and len(seen) < 200:
            action = int(obs[2] + 0.5 * obs[3] + 0.05 * obs[0] + 0.1 * obs[1] > 0)
            seen.append(obs.tolist())
            acted.append(action)
            obs, reward, terminated, truncated, _ = env.step(action)
            rewards.append(float(reward))
            done = terminated or truncated
        episode = {
            "format": FORMAT, "version": 1, "kind": "cart", "success": True,
            "observation": {"obs": seen}, "action": {"action": acted}, "reward": rewards,
        }  # fmt: skip
        (folder / f"{number}.json").write_text(json.dumps(episode))
    return folder


@pytest.mark.integration
@pytest.mark.parametrize("units", [0, 8])
def test_cloning_plays_as_the_recordings(tmp_path, units):
    folder = record(tmp_path / "demos")
    config = TINY.override(
        "training",
        total_timesteps=96,
        eval_freq=0,
        demonstrations={"folder": str(folder), "epochs": 30},
    ).override("network", recurrent=units, net_arch=(32, 32))
    trained(tmp_path / "run", config, {"cart": (3, cart)})
    first = GodotRunFolder(tmp_path / "run").checkpoint(0)
    best = load_game_agent(first)
    agents = GymAgents({"cart": (3, cart)})
    nobody = RandomPlayer(0, 1)
    table = play(agents, PolicyPlayer(best), nobody, np.ones(3, np.bool_), 6)["cart"]
    assert np.mean(table.returns) > 150.0
    lines = (tmp_path / "run" / "cloning.csv").read_text().splitlines()
    assert float(lines[-1].split(",")[1]) > float(lines[1].split(",")[1])


def test_recordings_that_do_not_fit_are_named(tmp_path):
    kinds = GymAgents({"cart": (1, cart)}).kinds
    with pytest.raises(ConfigError, match="no recordings"):
        read_demonstrations(str(tmp_path), kinds)
    file = tmp_path / "bad.json"
    for data, what in (
        ({"format": "x"}, "format"),
        ({"format": FORMAT, "kind": "bird", "reward": []}, "kind 'bird'"),
        ({"format": FORMAT, "kind": "cart", "reward": [1], "observation": {"obs": [[1]]},
          "action": {"action": [0]}}, "reshape"),
        ({"format": FORMAT, "kind": "cart", "reward": [1],
          "observation": {"obs": [[1, 2, 3, 4]]}, "action": {"action": [2]}}, "beyond 0"),
        ([[[[1, 2, 3, 4]], [[0], [1]]]], "reshape"),
    ):  # fmt: skip
        file.write_text(json.dumps(data))
        with pytest.raises(ConfigError, match=f"bad.json.*{what}"):
            read_demonstrations(str(tmp_path), kinds)
    file.write_text(json.dumps([[[[1, 2, 3, 4], [1, 2, 3, 4]], [[1]]]]))
    demos = read_demonstrations(str(tmp_path), kinds)["cart"]
    assert demos.obs[0].tolist() == [[1, 2, 3, 4]]
    assert demos.table.returns == []


def test_a_game_with_other_agents_is_refused():
    ours = GymAgents({"cart": (1, cart)}).kinds
    theirs = GymAgents({"cart": (1, pendulum)}).kinds
    with pytest.raises(ModelFileError, match=r"obs\[4\] -> action\[2\].*obs\[3\]"):
        check_kinds(ours, theirs, "m.zip")
    with pytest.raises(ModelFileError, match="plays 'cart', the game has bird"):
        check_kinds(ours, GymAgents({"bird": (1, cart)}).kinds, "m.zip")


def teams(makers: dict[str, tuple[int, Any]]) -> Callable[..., GymAgents]:
    def opened(config: Any, *, seed: int, log_folder: Any = None) -> GymAgents:
        agents = opener(makers)(config, seed=seed)
        agents.team = np.arange(agents.num_envs) % 2
        agents.engine = np.arange(agents.num_envs) // 2
        return agents

    return opened


@pytest.mark.integration
def test_past_selves_play_the_other_team(tmp_path):
    config = TINY.override(
        "training", self_play={"snapshot_freq": 96, "pool": 3, "latest": 0.5}
    )
    folder = GodotRunFolder(tmp_path)
    for place in (folder.checkpoints, folder.best_model.parent):
        place.mkdir(parents=True)
    task = GodotTraining(config, folder, opened=teams({"cart": (4, cart)}))
    batch = task.batch
    assert isinstance(batch, SelfPlayBatch)
    assert batch.own.tolist() == [0, 3]  # each engine has its own team for the learner
    run = RLRun(task, folder, None)
    with StopRequest() as stop:
        run.train(make_display(640, False), stop)
    assert len(batch.pool) == 3
    newest, oldest = batch.pool[-1], batch.pool[0]
    name = "policies.0.action_net.weight"
    assert not (newest[name] == oldest[name]).all()
    state = task.capture({})
    task.batch.pool.clear()
    task.batch.load_pool(state.arrays)
    assert (task.batch.pool[-1][name] == newest[name]).all()
    older = {
        n: a for n, a in state.arrays.items() if not re.match(r"pool\.\d+\.returns", n)
    }
    assert len(older) < len(state.arrays)
    task.batch.load_pool(older)
    task.batch.reset(np.arange(task.batch.num_envs))
    task.batch.step(np.zeros((task.batch.num_envs, task.policy.width)))
    run.close()
