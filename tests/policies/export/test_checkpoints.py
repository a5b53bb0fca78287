"""Checkpoints of trainings, and muscle networks, as ONNX by the command."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.onnx_files import run

import ambulo
from ambulo.commands.export_agent import main
from ambulo.configs.muscle import MuscleNNConfig, MuscleRunConfig
from ambulo.configs.neural_ik import IKNetConfig, IKRunConfig
from ambulo.ik.rig import load_rig
from ambulo.muscle.muscle_nn import (
    MuscleNN,
    ReducedPattern,
    Scales,
    muscle_nn_bytes,
    save_muscle_nn,
)
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.policies.kinds.ik_training import IKMetadata
from ambulo.policies.kinds.locomotion import MUSCLES
from ambulo.policies.kinds.muscle_training import MuscleTrainingMetadata
from ambulo.policies.networks.ik_net import IKNet

AXES, MUSCLE_COUNT = 3, 5


def muscle_nn(*, conditioned: bool, **config: Any) -> MuscleNN:
    """A random network of five muscles about three axes."""
    rng = np.random.default_rng(0)
    rows = np.array([0, 0, 1, 1, 2, 2, 2])
    muscles = np.array([0, 1, 1, 2, 3, 4, 0])
    groups = ("a", "b")
    sizes = [len(rows) + AXES + 4 * conditioned, 8, MUSCLE_COUNT]
    return MuscleNN(
        MuscleNNConfig(hidden=(8,), **config),
        tuple(f"m{k}" for k in range(MUSCLE_COUNT)),
        groups,
        ReducedPattern(rows, muscles, (AXES, MUSCLE_COUNT)),
        Scales(
            rng.normal(size=7).astype(np.float32) * 30.0,
            np.full(7, 20.0, np.float32), np.full(AXES, 30.0, np.float32), conditioned,
        ),
        tuple(
            rng.normal(size=(m, n)).astype(np.float32) / n**0.5
            for n, m in pairwise(sizes)
        ),
        tuple(rng.normal(size=m).astype(np.float32) for m in sizes[1:]),
    )  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize(
    ("conditioned", "config"),
    [
        (True, {"corrections": 2}),
        pytest.param(False, {"corrections": 3}, marks=pytest.mark.slow),
        pytest.param(False, {"corrections": 0}, marks=pytest.mark.slow),
        pytest.param(True, {"output": "relu_tanh"}, marks=pytest.mark.slow),
    ],
)
def test_corrections_are_in_the_graph(
    tmp_path: Path, conditioned: bool, config: dict[str, Any]
) -> None:
    network = muscle_nn(conditioned=conditioned, **config)
    save_muscle_nn(tmp_path / "m.safetensors", network)
    out = tmp_path / "m.onnx"
    assert main([str(tmp_path / "m.safetensors"), "--out", str(out)]) == 0
    rng = np.random.default_rng(1)
    for count in (1, 30):
        values = rng.normal(scale=40.0, size=(count, 7)).astype(np.float32)
        given = [network.pattern.full(values)]
        given.append(rng.normal(scale=30.0, size=(count, AXES)).astype(np.float32))
        if conditioned:
            given.append(rng.uniform(0.3, 1.0, size=(count, 4)).astype(np.float32))
        expected = network.activations(*(part.astype(float) for part in given))
        np.testing.assert_allclose(run(out, *given)[0], expected, atol=1e-5)
    assert expected.std() > 0.05


@pytest.mark.slow
def test_a_checkpoint_of_a_muscle_network(tmp_path: Path) -> None:
    network = muscle_nn(conditioned=False, corrections=1)
    header = MuscleTrainingMetadata.describe(MuscleRunConfig(), steps=7)
    file, out = tmp_path / "checkpoint.zip", tmp_path / "m.onnx"
    attached = {MUSCLES: muscle_nn_bytes(network)}
    save_model(file, ModelFile(header, {}, None, attached))
    assert main([str(file), "--out", str(out)]) == 0
    active = network.pattern.full(np.ones((2, 7), np.float32))
    wanted = np.ones((2, AXES), np.float32)
    (got,) = run(out, active, wanted)
    expected = network.activations(active.astype(float), wanted.astype(float))
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize(
    "kind",
    ["published_compact", pytest.param("own", marks=pytest.mark.slow)],
)
def test_a_checkpoint_of_a_pose_network(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    rig = load_rig()
    run_config = IKRunConfig(
        data="poses.npz",
        network=IKNetConfig.model_validate({"kind": kind, "hidden": (16,)}),
    )
    network = IKNet(run_config.network, rig)
    file, out = tmp_path / "checkpoint.zip", tmp_path / "ik.onnx"
    header = IKMetadata.describe(run_config, rig=rig.name, steps=3)
    save_model(file, ModelFile(header, network.state_dict()))
    assert main([str(file), "--out", str(out)]) == 0
    if kind == "own":
        return  # compared by the export itself, and for the shipped ones
    rows = np.random.default_rng(0).normal(size=(9, 50)).astype(np.float32)
    solver = ambulo.load(file)
    np.testing.assert_allclose(run(out, rows)[0], solver.forward(rows), atol=1e-5)
