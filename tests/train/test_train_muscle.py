"""Training of muscle-driven bodies by the command: resume, and turns with the network."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.muscle import MuscleUpdatesConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.reference import (
    Reference,
    ReferenceMotion,
    load_reference,
    save_reference,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.evaluate.command import main as evaluate
from ambulo.muscle.coupling import joint_coupling
from ambulo.policies.agents.locomotion import load_locomotion, load_locomotion_agent
from ambulo.policies.kinds.locomotion import MUSCLES
from ambulo.train.locomotion.bodies import make_bodies
from ambulo.train.locomotion.muscle_updates import MuscleUpdates, muscles_of
from ambulo.train.train_locomotion import main as train

BODIES, STEPS = 3, 8
ROLLOUT = BODIES * STEPS


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Standing still as a gait of 1 s, without a law."""
    model = load_character("myolegs").model
    qpos = np.tile(model.qpos0, (8, 1))
    qpos[:, 2] = 0.945
    qpos = joint_coupling(model).closed(qpos)
    still = np.zeros((8, model.nv))
    table = ReferenceTable(1.0, np.zeros(3), qpos, still, still.copy())
    path = tmp_path_factory.mktemp("muscle") / "still.npz"
    gait = ReferenceMotion(table, None, {})
    save_reference(path, Reference("still", "myolegs", 1.0 / 30.0, (gait,)))
    return path


def settings(file: Path, reference: Path, **changes: dict[str, Any]) -> Path:
    data: dict[str, Any] = {
        "environment": {
            "character": "myolegs", "actuation": "muscle", "balance_law": False,
            "num_environments": BODIES, "max_episode_steps": 20,
            "reference": str(reference),
        },
        "network": {"net_arch": [16], "warm_up_steps": 2},
        "ppo": {"n_steps": STEPS, "batch_size": 12, "n_epochs": 2},
        "training": {
            "total_timesteps": 4 * ROLLOUT, "save_freq": 2 * ROLLOUT,
            "eval_freq": 2 * ROLLOUT, "eval_episodes": 2, "eval_seconds": 0.3,
        },
    }  # fmt: skip
    for group, values in changes.items():
        data[group].update(values)
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def run(config: Path, name: str, *more: str) -> Path:
    arguments = ["--config", str(config), "--run-name", name, "--no-progress"]
    output = ["--output", str(config.parent / "runs"), "--episodes", "2"]
    assert train([*arguments, *output, *more]) == 0
    return config.parent / "runs" / name


NETWORK: dict[str, dict[str, Any]] = {
    "environment": {"resolver": "nn"},
    "training": {
        "muscle_updates": {
            "every": 2, "steps": 2, "batch_size": 8, "capacity": 64, "keep": 0.5,
            "warm_up_steps": 2,
        }
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, NETWORK], ids=["lsq", "nn"])
def test_a_resumed_run_has_the_bits_of_a_whole_one(
    reference: Path, tmp_path: Path, changes: dict[str, dict[str, Any]]
) -> None:
    config = settings(tmp_path / "tiny.json", reference, **changes)
    whole = run(config, "whole")
    part = run(config, "part", "--timesteps", str(2 * ROLLOUT))
    more = ["--timesteps", str(4 * ROLLOUT), "--no-progress", "--episodes", "2"]
    assert train(["--resume", str(part), *more]) == 0
    one = load_locomotion(whole / "final_model.zip")
    two = load_locomotion(part / "final_model.zip")
    assert one.weights.keys() == two.weights.keys()
    assert all(
        torch.equal(one.weights[name], two.weights[name]) for name in one.weights
    )
    assert one.attachments == two.attachments
    assert (MUSCLES in one.attachments) == bool(changes)


@pytest.mark.slow
def test_the_network_is_trained_kept_and_used(reference: Path, tmp_path: Path) -> None:
    config = settings(tmp_path / "tiny.json", reference, **NETWORK)
    folder = run(config, "turns")
    first = load_locomotion_agent(folder / "checkpoints/locomotion_0_steps.zip")
    last = load_locomotion_agent(folder / "final_model.zip")
    assert first.muscles is not None
    assert last.muscles is not None
    assert np.abs(first.muscles.weights[0] - last.muscles.weights[0]).max() > 0.0
    text = (folder / "muscle_network.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [int(row["timesteps"]) for row in rows] == [0, 2 * ROLLOUT, 4 * ROLLOUT]
    out = tmp_path / "scores.json"
    arguments = [str(folder / "final_model.zip"), "--episodes", "2", "--seconds", "0.3"]
    more = ["--push-episodes", "0", "--baselines", "none", "--json", str(out)]
    assert evaluate([*arguments, *more, "--output", str(tmp_path / "eval")]) == 0
    scores = json.loads(out.read_text(encoding="utf-8"))["agents"]["policy"]
    assert scores["torque_residual"]["value"] >= 0.0
    assert scores["metabolic_cost_of_transport"]["value"] > 0.0


@pytest.mark.integration
def test_all_references_have_one_network(reference: Path) -> None:
    data = settings(reference.with_name("two.json"), reference)
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
