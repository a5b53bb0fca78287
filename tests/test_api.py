"""The public interface: every model by name, environments, motions, and its examples."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ambulo
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.ik.pose import start_pose
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

AGENTS = [
    name
    for name, card in ambulo.models().items()
    if card.kind in ("vr_navigation", "locomotion", "ambulo-cascade")
]


def few_levels(agent: Any) -> dict[str, Any]:
    """Settings that keep an environment with levels small."""
    return {"levels_per_family": 1} if "Navigation" in agent.env_id else {}


@pytest.mark.integration
@pytest.mark.parametrize("module", ["ambulo", "ambulo.api"])
def test_examples_run(module: str) -> None:
    result = doctest.testmod(import_module(module))
    assert result.attempted > 5
    assert result.failed == 0


def test_dir_shows_the_interface() -> None:
    assert dir(ambulo) == sorted(ambulo.__all__)
    assert all(getattr(ambulo, name).__doc__ for name in ambulo.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        _ = ambulo.lod  # type: ignore[attr-defined]


@pytest.mark.integration
@pytest.mark.parametrize("name", AGENTS)
def test_agents_act_in_their_environments(name: str) -> None:
    agent = ambulo.load(name)
    env = ambulo.make_vec(agent, num_envs=2, **few_levels(agent))
    obs, _ = env.reset(seed=0)
    for _ in range(2):
        actions = agent.act(obs)
        assert env.action_space.contains(actions)
        obs, reward, *_ = env.step(actions)
    assert np.isfinite(reward).all()
    env.close()


@pytest.mark.parametrize("name", ["vr_navigation", "imitate_walk"])
def test_agents_act_in_a_single_environment(name: str) -> None:
    agent = ambulo.load(name)
    env = ambulo.make(agent, **few_levels(agent))
    obs, _ = env.reset(seed=0)
    action = agent.act(obs)
    assert env.action_space.contains(action)
    np.testing.assert_array_equal(action, agent.act(obs[None])[0])
    env.close()


def test_a_cascade_needs_bodies() -> None:
    agent = ambulo.load("gait_cascade")
    with pytest.raises(ModelFileError, match="make_vec"):
        agent.act(np.zeros((1, 10), np.float32))


def test_a_motion_network_predicts() -> None:
    network = ambulo.load("motion_nn")
    states = np.zeros((2, network.config.history, 112), np.float32)
    states[..., 3] = 1.0  # the root's rotation
    future = network.predict(states, 5)
    assert future.shape == (2, 5, 112)
    assert np.isfinite(future).all()


def test_pose_networks_solve_at_once() -> None:
    solver = ambulo.load("ik_net", NeuralIKSolver)
    assert solver.network is not None
    targets = Targets.of_pose(solver.rig, start_pose(solver.rig))
    assert solver.solve(targets).reached.all()


def test_an_estimator_finds_what_a_network_was_given() -> None:
    estimator = ambulo.load("gait_estimator")
    network = ambulo.load("gait_net")
    values = network.vector(stride=1.15)
    given = network.space.named(values)
    known = {name: given.get(name, 1.0) for name in estimator.given}
    estimate = estimator.estimate(network.frames(values), known)
    stride = estimate.values[network.space.index("stride")]
    assert stride == pytest.approx(1.15, abs=0.02)


def test_muscle_networks_and_references_load() -> None:
    network = ambulo.load("muscle_nn_myolegs")
    joints, muscles = network.pattern.shape
    active = np.zeros((1, joints, muscles))
    assert network.activations(active, np.zeros((1, joints))).shape == (1, muscles)
    assert ambulo.load("gait_law").character == "human23"


def test_wrong_names_are_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="did you mean 'gait_net'"):
        ambulo.load("gait_nat")
    with pytest.raises(
        ModelFileError, match="is a GaitNetwork, expected NeuralIKSolver"
    ):
        ambulo.load("gait_net", NeuralIKSolver)
    with pytest.raises(ConfigError, match="did you mean 'Imitate-v0'"):
        ambulo.make("Imitat-v0")
    with pytest.raises(ModelFileError, match="no model"):
        ambulo.load(tmp_path)


@pytest.mark.parametrize("env_id", ["Stand-v0", "ambulo/Stand-v0"])
def test_identifiers_with_and_without_our_name(env_id: str) -> None:
    env = ambulo.make(env_id)
    assert env.spec is not None
    assert env.spec.id == "ambulo/Stand-v0"
    env.close()
