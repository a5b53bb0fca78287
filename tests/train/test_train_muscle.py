"""Training of muscle-driven bodies by the command: turns with the network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.locomotion_runs import (
    BODIES,
    MUSCLE_NETWORK,
    MUSCLES,
    ROLLOUT,
    run,
    settings,
    standing_reference,
)
from fixtures.run_files import table

from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.muscle import MuscleUpdatesConfig
from ambulo.envs.reference.reference import (
    load_reference,
)
from ambulo.evaluate.command import main as evaluate
from ambulo.policies.agents.locomotion import load_locomotion_agent
from ambulo.train.locomotion.bodies import make_bodies
from ambulo.train.locomotion.muscle_updates import MuscleUpdates, muscles_of


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found: Path = standing_reference(tmp_path_factory.mktemp("r") / "s.npz", "myolegs")
    return found


@pytest.mark.slow
def test_the_network_is_trained_kept_and_used(reference: Path, tmp_path: Path) -> None:
    folder = run(settings(tmp_path / "tiny.json", reference, **MUSCLE_NETWORK), "turns")
    first = load_locomotion_agent(folder.checkpoint(0))
    last = load_locomotion_agent(folder.final_model)
    assert first.muscles is not None
    assert last.muscles is not None
    assert np.abs(first.muscles.weights[0] - last.muscles.weights[0]).max() > 0.0
    rows = table(folder.path / "muscle_network.csv")
    assert [int(row["timesteps"]) for row in rows] == [0, 2 * ROLLOUT, 4 * ROLLOUT]
    out = tmp_path / "scores.json"
    arguments = [str(folder.final_model), "--episodes", "2", "--seconds", "0.3"]
    more = ["--push-episodes", "0", "--baselines", "none", "--json", str(out)]
    assert evaluate([*arguments, *more, "--output", str(tmp_path / "eval")]) == 0
    scores = json.loads(out.read_text(encoding="utf-8"))["agents"]["policy"]
    assert scores["torque_residual"]["value"] >= 0.0
    assert scores["metabolic_cost_of_transport"]["value"] > 0.0


@pytest.mark.integration
def test_all_references_have_one_network(reference: Path) -> None:
    data = settings(reference.with_name("two.json"), reference, environment=MUSCLES)
    config = load_json(LocomotionConfig, data).override("environment", resolver="nn")
    still = load_reference(reference)
    batch = make_bodies(config, 2 * BODIES, (still, still), seed=0)
    updates = MuscleUpdatesConfig(warm_up_steps=2, steps=2, batch_size=8, capacity=64)
    turns = MuscleUpdates(batch, updates, 0, reference.with_name("losses.csv"))
    first, second = muscles_of(batch)
    assert first.network is second.network is not None
    before = first.network.weights[0].copy()
    batch.reset(np.arange(2 * BODIES))
    turns.warm_up()
    assert first.network is second.network
    assert np.abs(first.network.weights[0] - before).max() > 0.0
    rows = int(turns.state_dict()["seen"][0])
    batch.step(np.zeros((2 * BODIES, batch.action_size)))
    for muscles in (first, second):
        assert muscles.listener is not None
    assert rows > 0


def test_updates_need_a_network() -> None:
    with pytest.raises(ConfigError, match="muscle_updates needs"):
        LocomotionConfig().override("training", muscle_updates={})
