"""A task of the user's own, from its file or package to tables and model files."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from fixtures.own_tasks import fresh, hop_file, install
from fixtures.untrained import save_untrained

import ambulo
from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.tasks import TaskSpec
from ambulo.envs.locomotion.build import make_batch
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject, recorded
from ambulo.evaluate.locomotion.scores import score
from ambulo.evaluate.shared.models import model_kind

__all__ = ["fresh", "hop_file", "install"]


def test_it_is_made_like_every_environment(hop_file: Path) -> None:
    ambulo.register(hop_file)
    env = ambulo.make("Hop-v0", height=0.7, hop=2.0)
    batch = env.unwrapped.batch
    obs, _ = env.reset(seed=0)
    assert obs[batch.layout.slices()["wanted"]] == pytest.approx(0.7)
    for step in range(1, 6):
        _, reward, terminated, truncated, info = env.step(np.zeros(batch.action_size))
        assert info["reward/hop"] == pytest.approx(2.0 * batch.state.height[0])
        assert reward == pytest.approx(info["reward/hop"] + info["reward/alive"])
        assert (terminated, truncated, info["is_success"]) == (
            False,
            step == 5,
            step == 5,
        )
    for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env.unwrapped))):
        assert again.unwrapped.config.own.height == 0.7
        again.close()
    env.close()
    with pytest.raises(ConfigError, match=r"own\.height = 3"):
        ambulo.make("Hop-v0", height=3.0)
    with pytest.raises(ConfigError, match="unexpected keyword argument 'height'"):
        ambulo.make("Stand-v0", height=0.7)


def test_tables_have_its_success(hop_file: Path) -> None:
    ambulo.register(hop_file)
    config = LocomotionConfig().override("environment", task="hop", balance_law=True)
    played = recorded(LocomotionSubject(config, (None,)), 4, seconds=1.0)
    found = {name: metric.value for name, metric in score(played).metrics.items()}
    rates = [found[f"{of}_rate"] for of in ("success", "timeout", "survival")]
    assert rates == [0.5, 0.5, 1.0]
    assert found["survival_s"] == pytest.approx(5 / 30)
    assert played.played.sum(axis=0).tolist() == [5] * 4
    np.testing.assert_allclose(
        found["return_mean"], played.reward[:5].sum(axis=0).mean()
    )


def test_its_models_say_where_it_is_from(
    install: Callable[[bool], None], tmp_path: Path
) -> None:
    install(True)
    config = LocomotionConfig().override("environment", task="hop")
    config = config.override("network", net_arch=(8,)).override("own", height=0.9)
    batch = make_batch(config, 1)
    file = save_untrained(tmp_path / "hop.zip", config, batch, batch.reference)
    agent = ambulo.load(file)
    assert (agent.env_id, agent.config.own.height) == ("ambulo/Hop-v0", 0.9)
    env = ambulo.make(agent)
    assert agent.act(env.reset(seed=0)[0]).shape == (batch.action_size,)
    env.close()
    install(False)
    assert "ambulo/Hop-v0" not in gymnasium.registry
    assert model_kind(file) == "locomotion"
    with pytest.raises(
        ModelFileError, match="package hop-tasks, which is not installed"
    ):
        ambulo.load(file)


def test_a_batch_must_be_one_of_bodies(fresh: None) -> None:
    ambulo.register("hop", TaskSpec(dict))
    with pytest.raises(
        ConfigError, match="its batch is no subclass of LocomotionBatch"
    ):
        ambulo.make("Hop-v0")
