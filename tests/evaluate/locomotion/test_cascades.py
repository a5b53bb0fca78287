"""Cascades at work: trained above a base, composed, evaluated, rolled out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo.cli import main as ambulo
from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets import LOCOMOTION_PRESETS
from ambulo.envs.reference.configured import configured_character, reference_of
from ambulo.envs.reference.gait_reference import healthy_gait
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.joint_state import joint_states
from ambulo.envs.tasks.gait.sampling import parameter_box
from ambulo.evaluate import command as evaluate
from ambulo.evaluate.locomotion.cascades import (
    acting,
    balls_of,
    digest_of,
    healthy_of,
    last_agent,
    load_gait_policy,
)
from ambulo.motion.gaits.shards import read_raw
from ambulo.policies.agents.cascade import Cascade, is_cascade
from ambulo.policies.agents.locomotion import load_locomotion, locomotion_model
from ambulo.policies.files.model_file import save_model
from ambulo.policies.kinds.locomotion import describe_locomotion
from ambulo.policies.networks.locomotion_policy import make_policy
from ambulo.train import rollout_gait, train_locomotion
from ambulo.train.locomotion.bodies import action_names, bytes_of, make_bodies

SMALL = {"num_environments": 4, "push_impulse": (0.0, 0.0)}
WIDE = (
    LOCOMOTION_PRESETS.load("gait")
    .override("network", net_arch=(8,))
    .override("environment", **SMALL)
)
WIDE = WIDE.override("gait", groups=2)
HEALTHY = WIDE.override("gait", sample=False)
"""What the base was trained on: one healthy body."""


@pytest.fixture(scope="module")
def healthy() -> Reference:
    return healthy_gait(WIDE.environment)


def write_policy(
    file: Path, config: LocomotionConfig, healthy: Reference, seed: int
) -> Path:
    """A policy with random weights that says something else everywhere."""
    torch.manual_seed(seed)
    batch = make_bodies(config, 4, (healthy,), seed=0)
    policy = make_policy(config.network, batch.layout, batch.action_size, None)
    weights = {
        name: value + 0.05 * torch.randn_like(value) if value.dim() == 2 else value
        for name, value in policy.state_dict().items()
    }
    metadata = describe_locomotion(config, batch.layout, action_names(batch))
    save_model(file, locomotion_model(metadata, weights, bytes_of((healthy,))))
    batch.close()
    return file


@pytest.fixture(scope="module")
def base(healthy: Reference, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_policy(
        tmp_path_factory.mktemp("base") / "base.zip", HEALTHY, healthy, 1
    )


@pytest.fixture(scope="module")
def above(base: Path) -> LocomotionConfig:
    return WIDE.override("gait", base=str(base))


@pytest.fixture(scope="module")
def correction(
    above: LocomotionConfig,
    healthy: Reference,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    file = tmp_path_factory.mktemp("child") / "child.zip"
    return write_policy(file, above, healthy, 2)


@pytest.fixture(scope="module")
def whole(
    base: Path, correction: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    file = tmp_path_factory.mktemp("whole") / "whole.zip"
    command = ["compose", str(base), str(correction), "--out", str(file)]
    assert ambulo(["gait", *command]) == 0
    return file


@pytest.mark.integration
def test_a_correction_of_nothing_leaves_the_base_alone(
    above: LocomotionConfig, base: Path, healthy: Reference
) -> None:
    corrected = make_bodies(above, 4, (healthy,), seed=3)
    plain = make_bodies(WIDE, 4, (healthy,), seed=3)
    assert corrected.extra_actions[-1] == "weight"
    assert corrected.action_size == plain.action_size + 1
    assert action_names(corrected)[-1] == "weight"
    act = acting(load_gait_policy(base), plain)
    box = parameter_box(HEALTHY, healthy)
    for batch in (corrected, plain):
        batch.reset(np.arange(4))
    for _ in range(5):
        # The base sees the parameters of its box: those of a healthy body.
        seen = plain.obs.copy()
        values = np.clip(plain.parameters, *box)
        seen[:, -plain.space.size :] = plain.space.normalize(values)
        obs = plain.step(act(seen))[0]
        found = corrected.step(np.zeros((4, corrected.action_size), np.float32))[0]
        np.testing.assert_array_equal(found, obs)
    pushed = np.full((4, corrected.action_size), 0.3, np.float32)
    pushed[:, -1] = -1.0
    assert not np.array_equal(corrected.step(pushed)[0], plain.step(act(plain.obs))[0])


@pytest.mark.integration
def test_a_correction_is_trained_above_its_base(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(base.parent)
    command = [
        "--preset", "gait", "--set", f"gait.base={base.name}", "--set", "gait.groups=2",
        "--set", "environment.num_environments=4", "--set", "ppo.n_steps=8",
        "--set", "ppo.batch_size=16", "--set", "network.net_arch=[8]",
        "--set", "network.warm_up_steps=4",
        "--timesteps", "32", "--eval-freq", "32", "--eval-episodes", "2",
        "--set", "training.eval_seconds=0.3", "--episodes", "2", "--output", str(tmp_path),
        "--run-name", "weak",
    ]  # fmt: skip
    assert train_locomotion.main(command) == 0
    model = load_locomotion(tmp_path / "weak" / "best_models" / "best_model.zip")
    assert model.metadata.config.gait.base == base.name  # no folder of this machine
    assert model.metadata.actions[-1] == "weight"
    assert model.metadata.extra["base"] == digest_of(base)
    monkeypatch.chdir(tmp_path)
    again = ["--resume", str(tmp_path / "weak"), "--timesteps", "64"]
    again += ["--episodes", "2"]
    assert train_locomotion.main(again) == 0


@pytest.mark.integration
def test_a_composed_file_acts_is_scored_and_rolled_out(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_cascade(whole)
    policy = load_gait_policy(whole)
    assert isinstance(policy, Cascade)
    assert [node.name for node in policy.nodes] == ["base", "correction_1"]
    assert policy.nodes[1].parents == ("base",)
    assert (policy.nodes[0].low == policy.nodes[0].high).all()
    assert (policy.nodes[1].low < policy.nodes[1].high).all()
    told = tmp_path / "scores.json"
    command = [str(whole), "--episodes", "2", "--seconds", "0.2", "--no-report"]
    assert evaluate.main([*command, "--json", str(told)]) == 0
    scores = json.loads(told.read_text())["agents"]
    assert list(scores) == ["policy", "base", "law"]
    raw = tmp_path / "raw"
    monkeypatch.setattr(rollout_gait, "WORKERS", None)  # this process alone
    command = ["--model", str(whole), "--episodes", "2", "--per-file", "2"]
    command += ["--seconds", "0.2", "--out", str(raw)]
    assert rollout_gait.main(command) == 0
    shard = read_raw(raw / "rollout_00000.npz")
    assert shard.source["is_cascaded"] is True
    assert shard.source["policy"] == whole.name


@pytest.mark.integration
def test_a_cascade_can_be_corrected_too(
    whole: Path, healthy: Reference, correction: Path, tmp_path: Path
) -> None:
    config = WIDE.override("gait", base=str(whole))
    batch = make_bodies(config, 4, (healthy,), seed=3)
    batch.reset(np.arange(4))
    obs = batch.step(np.zeros((4, batch.action_size), np.float32))[0]
    assert np.isfinite(obs).all()
    out = tmp_path / "three.zip"
    command = ["compose", str(whole), str(correction), "--out", str(out)]
    assert ambulo(["gait", *command]) == 0
    policy = load_gait_policy(out)
    assert isinstance(policy, Cascade)
    assert policy.nodes[2].parents == ("base", "correction_1")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda b, c, o: ["compose", b, b, "--out", o], "was not trained above a base"),
        (lambda b, c, o: ["compose", c, c, "--out", o], "only corrects base.zip"),
        (
            lambda b, c, o: ["compose", b, c, "--out", o + ".txt"],
            "must end in .zip",
        ),
        (lambda b, c, o: ["compose", b, "nobody", "--out", o], "no such model file"),
    ],
)
def test_what_does_not_fit_is_refused(
    base: Path, correction: Path, tmp_path: Path, make, told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    command = make(str(base), str(correction), str(tmp_path / "out.zip"))
    assert ambulo(["gait", *command]) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_correction_alone_is_not_scored(
    correction: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([str(correction), "--episodes", "2", "--no-report"]) == 2
    assert "ambulo gait compose BASE child.zip" in capsys.readouterr().err


def test_a_base_for_other_bodies_is_refused(base: Path, healthy: Reference) -> None:
    from ambulo.configs.errors import ConfigError

    config = LOCOMOTION_PRESETS.load("imitate_walk").override("gait", base=str(base))
    with pytest.raises(ConfigError, match="only policies of the task gait"):
        make_bodies(config, 2, (healthy,), seed=0)
    scaled = WIDE.override("gait", base=str(base))
    scaled = scaled.override("environment", action_scale=0.3)
    with pytest.raises(ConfigError, match=r"action_scale is 0\.25, not 0\.3"):
        make_bodies(scaled, 2, (healthy,), seed=0)


def test_other_joints_and_another_base_are_refused(
    base: Path, correction: Path, healthy: Reference, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    left = WIDE.override("gait", base=str(base))
    left = left.override("environment", joints=("FemurL",))
    with pytest.raises(ConfigError, match="its joints is"):
        make_bodies(left, 2, (healthy,), seed=0)
    other = write_policy(tmp_path / "other.zip", HEALTHY, healthy, 7)
    model = load_locomotion(correction)
    marked = model.metadata.replace(extra={"base": digest_of(base)})
    child = tmp_path / "marked.zip"
    save_model(child, replace(model, metadata=marked))
    out = ["--out", str(tmp_path / "out.zip")]
    assert ambulo(["gait", "compose", str(base), str(child), *out]) == 0
    assert ambulo(["gait", "compose", str(other), str(child), *out, "--force"]) == 2
    assert "trained above another base" in capsys.readouterr().err


def test_settings_that_do_not_go_with_a_base() -> None:
    with pytest.raises(ConfigError, match="a correction has no teacher"):
        parse(
            LocomotionConfig,
            {"gait": {"base": "x.zip"}, "training": {"teacher": {}}},
            "test",
        )


def test_cascades_are_not_sampled(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate.main([str(whole), "--stochastic", "--no-report"]) == 2
    assert "mean actions only" in capsys.readouterr().err


def test_ball_joints_are_three_axes_in_a_row() -> None:
    names = ["Spine_x", "Spine_y", "Spine_z", "Tibia", "hip_x", "knee", "phase"]
    assert balls_of(names) == (0,)


@pytest.mark.integration
def test_the_shipped_cascade_corrects_the_weak_only() -> None:
    pytest.importorskip("myo_sim")
    whole = load_gait_policy("gait_cascade")
    assert isinstance(whole, Cascade)
    config = last_agent(whole).config
    body, reference = (
        configured_character(config.environment),
        healthy_of(last_agent(whole)),
    )
    space = whole.space
    low, _ = parameter_box(config.override("gait", sample=False), reference)
    weak = low.copy()
    weak[space.index("force_gluteus_medius_left")] = 0.1
    batch = GaitBatch(config, reference, body, num_envs=2, parameters=[low, weak])
    batch.seed([0, 1])
    obs, fell = batch.reset(np.arange(2)), np.zeros(2, np.bool_)
    act = acting(whole, batch)
    for _ in range(60):
        _, weights = whole.parts(obs, lambda values: joint_states(batch, values))
        assert weights[1][0] < 0.01
        assert weights[1][1] > 0.99
        obs, _, terminated, _, _ = batch.step(act(obs))
        fell |= terminated
    assert not fell[0]
    batch.close()


@pytest.mark.integration
def test_joint_states_of_muscles_are_what_they_can_do() -> None:
    pytest.importorskip("myo_sim")
    space = gait_space("myolegs")
    config = LOCOMOTION_PRESETS.load("gait_muscle").override(
        "environment", num_environments=2
    )
    body = configured_character(config.environment)
    reference = reference_of(config.environment, body)
    weak = space.vector(force_vasti_left=0.3, force_vasti_right=0.3)
    for name in ("stride", "cadence"):
        box = parameter_box(config, reference)
        weak[space.index(name)] = box[0][space.index(name)]
    batch = GaitBatch(config, reference, body, num_envs=2, parameters=[weak, weak])
    batch.reset(np.arange(2))
    own = joint_states(batch, batch.parameters)
    made = batch.groups[0].simulation.actuation.layer.evaluate(
        batch.groups[0].simulation.actuation._transmission,
        batch.groups[0].simulation.qpos,
    )
    low, high = made.capacity()
    axes = low.shape[1]
    np.testing.assert_allclose(2.0 * own[:1, :axes] + made.passive, low, rtol=1e-6)
    np.testing.assert_allclose(
        2.0 * own[:1, axes : 2 * axes] + made.passive, high, rtol=1e-6
    )
    strong = joint_states(batch, np.tile(box[0], (2, 1)))
    grown = np.abs(strong[:, : 2 * axes]).sum(1) - np.abs(own[:, : 2 * axes]).sum(1)
    assert (grown > 10.0).all()  # knees extend with less than half of it
