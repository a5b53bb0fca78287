"""Locomotion runs end to end: model files, scores, resume, stop."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.locomotion_runs import (
    BODIES,
    ROLLOUT,
    TINY,
    check_resumed,
    motion_network,
    run,
    settings,
)
from fixtures.model_files import change_header
from fixtures.run_files import table

from ambulo.common.console import Words, make_display
from ambulo.configs.errors import ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.policies.agents.locomotion import load_locomotion, load_locomotion_agent
from ambulo.policies.agents.motion import load_encoder
from ambulo.policies.files.model_file import save_model
from ambulo.policies.registry import kind_of
from ambulo.train.locomotion.bodies import make_bodies, references_for, vector_env
from ambulo.train.locomotion.callbacks import LocomotionMetrics
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.train_locomotion import main as train


@pytest.fixture(scope="module")
def first(
    reference: Path, tmp_path_factory: pytest.TempPathFactory
) -> LocomotionRunFolder:
    """A whole run, which tests only read."""
    file = settings(tmp_path_factory.mktemp("first") / "tiny.json", reference)
    return run(file, "first")


def test_faults_are_counted_whatever_their_reason(
    reference: Path, tmp_path: Path
) -> None:
    config = LocomotionConfig.model_validate(TINY).override(
        "environment", reference=str(reference), balance_law=False
    )
    batch = make_bodies(config, 3, references_for(config), seed=0)
    env, row = vector_env(batch), {}
    env.reset()
    batch.simulation.qvel[1, 20] = 4000.0
    batch.simulation.qvel[2, 20] = np.nan
    env.step_arrays(np.zeros((3, batch.action_size)))
    display = make_display(1, False, Words("", ""))
    LocomotionMetrics(tmp_path / "metrics.csv", display).more(row, env)
    assert row == {"rollout/faults": 2}


@pytest.mark.integration
def test_a_run_leaves_model_scores_and_curves(first: LocomotionRunFolder) -> None:
    folder = first
    model = load_locomotion(folder.best_model)
    assert kind_of(folder.best_model) == "locomotion"
    assert model.metadata.config.environment.reference == "s.npz"
    assert model.metadata.actions[:4] == ("FemurR_x", "FemurR_y", "FemurR_z", "TibiaR")
    scores = json.loads(folder.scores.read_text())
    assert scores["kind"] == "locomotion"
    assert set(scores["agents"]) == {"policy", "law", "open_loop"}
    assert scores["details"]["training"]["timesteps"] == 4 * ROLLOUT
    assert folder.report.is_file()
    assert (folder.path / "learning.png").read_bytes().startswith(b"\x89PNG")
    rows = table(folder.metrics)
    assert [int(row["timesteps"]) for row in rows] == [
        ROLLOUT * k for k in (1, 2, 3, 4)
    ]
    assert {"rollout/speed", "reward/pose", "train/approx_kl"} <= rows[0].keys()


@pytest.mark.integration
def test_a_stored_model_acts_without_its_run(first: LocomotionRunFolder) -> None:
    agent = load_locomotion_agent(first.final_model)
    obs = np.zeros((3, agent.layout.size), np.float32)
    actions = agent.act(obs)
    assert actions.shape == (3, len(agent.metadata.actions))
    assert np.abs(actions).max() <= 1.0
    torch.manual_seed(0)
    assert not np.array_equal(agent.act(obs, deterministic=False), actions)
    with pytest.raises(ModelFileError, match="observations of shape"):
        agent.act(obs[:, 1:])


@pytest.mark.integration
def test_a_run_begins_anew_from_its_first_checkpoint(
    first: LocomotionRunFolder,
) -> None:
    check_resumed(first, 0)


@pytest.mark.integration
def test_prior_and_modes_train_resume_and_load(reference: Path, tmp_path: Path) -> None:
    file = motion_network(tmp_path / "motion.zip")
    network = load_encoder(file).state_dict()
    prior = {"model": str(file), "frames": 2, "unfreeze_at": 0.5}
    config = settings(
        tmp_path / "p.json",
        reference,
        network={"policy": "prior", "prior": prior},
        training={"save_freq": ROLLOUT},
    )
    whole = run(config, "whole")
    learnt = load_locomotion(whole.final_model).weights
    frozen = load_locomotion(whole.checkpoint(2 * ROLLOUT)).weights
    name = next(name for name in learnt if name.startswith("encoder.trunk."))
    assert torch.equal(frozen[name], network[name.removeprefix("encoder.")])
    assert not torch.equal(learnt[name], frozen[name])
    check_resumed(whole, 3 * ROLLOUT)
    config = settings(
        tmp_path / "m.json",
        reference,
        network={"policy": "two_level"},
        environment={"more_references": [str(reference)]},
    )
    whole = run(config, "modes")
    model = load_locomotion(whole.final_model)
    assert len(model.attachments) == 2
    assert model.metadata.config.environment.more_references == ("s.npz",)
    check_resumed(whole, 2 * ROLLOUT)


@pytest.mark.integration
def test_a_run_that_a_reward_ends_resumes_from_its_last_checkpoint(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The task is a user's, whose term is no number in the second roll-out."""
    terms, steps = LocomotionBatch._terms, []

    def mistaken(batch: LocomotionBatch, power: Any, actions: Any) -> Any:
        steps.append(batch.num_envs)
        found = terms(batch, power, actions)
        if sum(steps) > ROLLOUT + BODIES * TINY["network"]["warm_up_steps"]:
            found["pose"] = np.where(np.arange(batch.num_envs) == 2, np.nan, 0.0)
        return found

    monkeypatch.setattr(LocomotionBatch, "_terms", mistaken)
    output = ["--output", str(tiny.parent / "runs"), "--episodes", "2"]
    more = [*output, "--no-progress", "--eval-freq", "0", "--save-freq", str(ROLLOUT)]
    total = ["--timesteps", str(2 * ROLLOUT)]
    assert train(["--config", str(tiny), "--run-name", "n", *more, *total]) == 2
    folder = LocomotionRunFolder(tiny.parent / "runs" / "n")
    line = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        r"ambulo: error: environment 2, step \d+ of its episode: reward term 'pose' is "
        rf"nan; must be finite \(after {ROLLOUT} training steps; .* --resume "
        rf"{folder.path} continues from the last checkpoint\)",
        line,
    )
    assert folder.newest_checkpoint() == folder.checkpoint(ROLLOUT)
    monkeypatch.undo()
    assert (
        train(["--resume", str(folder.path), "--no-progress", "--episodes", "2"]) == 0
    )
    assert folder.newest_checkpoint() == folder.checkpoint(2 * ROLLOUT)


@pytest.mark.integration
def test_damaged_models_are_refused(first: LocomotionRunFolder, tmp_path: Path) -> None:
    folder = first
    model = load_locomotion(folder.final_model)
    with pytest.raises(ModelFileError, match=r"bare\.zip: reference_0\.npz.* missing"):
        save_model(tmp_path / "bare.zip", type(model)(model.metadata, model.weights))

    def change(header: dict[str, Any]) -> None:
        header["config"]["environment"]["fault_folder"] = str(tmp_path)

    nosy = change_header(folder.final_model, change, tmp_path / "nosy.zip")
    nosy = load_locomotion(nosy).metadata.config.environment
    assert nosy.fault_folder is None  # a file does not choose where we write
