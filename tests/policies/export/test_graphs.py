"""Every kind of model as ONNX: ONNX Runtime gives what the model gives."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from fixtures.onnx_files import run, session_of
from numpy.typing import NDArray

import ambulo
from ambulo.configs.errors import ModelFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.motion_nn import MotionNNConfig
from ambulo.configs.simulation_nn import PriorConfig
from ambulo.envs.layout import ObservationLayout, Part
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.trackers.features import write_inputs
from ambulo.ik.trackers.layout import HEAD_ROW
from ambulo.ik.trackers.sizes import INPUTS
from ambulo.policies.agents.locomotion import LocomotionAgent
from ambulo.policies.export import graph as module
from ambulo.policies.export.graph import (
    Graph,
    check_export,
    onnx_bytes,
    onnx_runner,
    write_graph,
)
from ambulo.policies.export.motion import motion_graph, plausible_states
from ambulo.policies.export.muscles import solve_positive
from ambulo.policies.export.published import published_graph
from ambulo.policies.export.tracker_graph import tracker_graph
from ambulo.policies.export.walkers import walker_graph
from ambulo.policies.files.model_file import ModelFile
from ambulo.policies.kinds.locomotion import describe_locomotion
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.registry import export_model, model_kinds, shipped_cards

FAST = ("gait_walk", "gait_net_impaired", "ik_trackers")
GRAPHS = sorted(
    name for name, card in shipped_cards().items()
    if card.kind not in ("vr_navigation", "gait_reference")
)  # fmt: skip


def header_of(file: Path) -> dict[str, Any]:
    properties = {row.key: row.value for row in onnx.load(file).metadata_props}
    header: dict[str, Any] = json.loads(properties["ambulo"])
    return header


def walker(modes: int = 0, frames: int = 0, **network: Any) -> LocomotionAgent:
    """A random walker whose actions are partly clipped."""
    parts = [Part("a", 3, "m", "", 2.0), Part("b", 4, "rad", "", 0.5)]
    parts += [Part("mode", modes, "1", "")] if modes else []
    parts += [Part("motion_history", 112 * frames, "1", "")] if frames else []
    settings = {"net_arch": (16,), "zero_start": False, **network}
    config = LocomotionConfig().override("network", **settings)
    encoder = None
    if frames:
        encoder = MotionNNConfig(
            mode="mlp", width=8, depth=1, history=frames, chunk=2, heads=2
        )
    layout = ObservationLayout(tuple(parts))
    header = describe_locomotion(config, layout, ("x", "y", "z"), encoder=encoder)
    policy = header.new_policy()
    torch.manual_seed(0)
    for name, value in policy.state_dict().items():
        if "deviation" not in name and "count" not in name:
            value.copy_(torch.randn(value.shape) * 0.7)
    return LocomotionAgent(ModelFile(header, policy.state_dict()))


GODOT = {"body_tracker": {"godot"}, "gait_net": {"godot"}}
"""Other targets of kinds that are graphs."""


@pytest.mark.integration
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n in FAST else pytest.mark.slow) for n in GRAPHS],
)
def test_shipped_models_give_the_same_in_onnx_runtime(
    tmp_path: Path, name: str
) -> None:
    kind = shipped_cards()[name].kind
    model, file = ambulo.load(name), tmp_path / "model.onnx"
    spec = model_kinds()[kind]
    assert set(spec.targets) == {"onnx"} | GODOT.get(kind, set())
    written = export_model(spec, "onnx", model, file)
    assert written.files == (file,)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    header = header_of(file)
    assert (header["format"], header["version"]) == ("ambulo-graph", 1)
    assert header["kind"] == kind
    assert header["not_in_the_graph"] == list(written.left_out)
    session = session_of(file)
    for ports, rows in (
        (session.get_inputs(), header["inputs"]),
        (session.get_outputs(), header["outputs"]),
    ):
        assert [port.name for port in ports] == [row["name"] for row in rows]
        assert [port.shape for port in ports] == [row["shape"] for row in rows]
        assert all(port.type == "tensor(float)" for port in ports)
        for row in rows:
            stops = [part["stop"] for part in row.get("parts", ())]
            assert not stops or max(stops) == row["shape"][-1]
    assert b"site-packages" not in file.read_bytes()


@pytest.mark.integration
def test_modes_choose_the_head_in_the_graph(tmp_path: Path) -> None:
    agent = walker(modes=2, policy="modes")
    write_graph(walker_graph(agent), tmp_path / "m.onnx")
    obs = np.random.default_rng(0).normal(size=(40, 9)).astype(np.float32)
    obs[:, 7:] = 0.0
    obs[:20, 7], obs[20:, 8] = 1.0, 1.0
    (got,) = run(tmp_path / "m.onnx", obs)
    np.testing.assert_allclose(got, agent.act(obs), atol=1e-5)
    assert (np.abs(got) == 1.0).any()
    obs[:, 7:] = obs[:, [8, 7]]
    assert np.abs(run(tmp_path / "m.onnx", obs)[0] - got).max() > 0.1


@pytest.mark.slow
def test_a_selector_chooses_its_generator_in_the_graph(tmp_path: Path) -> None:
    agent = walker(modes=2, policy="two_level", generators=3)
    write_graph(walker_graph(agent), tmp_path / "m.onnx")
    obs = np.random.default_rng(0).normal(size=(40, 9)).astype(np.float32)
    (got,) = run(tmp_path / "m.onnx", obs)
    np.testing.assert_allclose(got, agent.act(obs), atol=1e-5)


@pytest.mark.slow
def test_a_motion_prior_is_in_the_graph(tmp_path: Path) -> None:
    prior = PriorConfig(model="m.zip", frames=3)
    agent = walker(frames=3, policy="prior", prior=prior)
    write_graph(walker_graph(agent), tmp_path / "m.onnx")
    rng = np.random.default_rng(0)
    for count in (1, 40):
        states = plausible_states(rng, count, 3, 25.0).reshape(count, -1)
        own = rng.normal(size=(count, 7)).astype(np.float32)
        obs = np.concatenate([own, states], axis=1)
        (got,) = run(tmp_path / "m.onnx", obs)
        np.testing.assert_allclose(got, agent.act(obs), atol=1e-5)
    assert np.abs(run(tmp_path / "m.onnx", obs[::-1].copy())[0] - got).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "features", "residual", "members"),
    [
        ("mlp", "points", "linear", 2),
        ("transformer_reg", "sixd", "velocity", 1),
        ("encoder", "rotvec", "zero", 1),
    ],
)
def test_every_mode_of_motion_networks(
    tmp_path: Path, mode: str, features: str, residual: str, members: int
) -> None:
    settings = {
        "mode": mode, "features": features, "residual": residual, "members": members,
        "history": 4, "chunk": 2, "width": 16, "depth": 1, "heads": 2,
    }  # fmt: skip
    torch.manual_seed(0)
    network = MotionNN(MotionNNConfig.model_validate(settings)).eval()
    for name, value in network.named_buffers(recurse=False):
        if name in ("linear", "damping", "scale"):
            value.copy_(torch.rand(value.shape) * 0.05)
    torch.nn.init.normal_(network.head.weight, std=0.2)
    network.requires_grad_(False)
    write_graph(motion_graph(network), tmp_path / "m.onnx")
    states = plausible_states(np.random.default_rng(7), 9, 4, 25.0)
    after, codes = run(tmp_path / "m.onnx", states)
    future = network.predict(states, 2)
    assert np.abs(after - future).max() < 1e-5 * np.abs(future).max()
    expected = network.encode(torch.as_tensor(states)).numpy()
    np.testing.assert_allclose(codes, expected, atol=1e-5)


@pytest.mark.integration
@pytest.mark.parametrize(
    "kind",
    ["published_compact", pytest.param("published", marks=pytest.mark.slow)],
)
def test_the_published_interface_stays_50_to_69(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(0)
    weights: dict[str, NDArray[Any]] = {}
    header = IKNetworkHeader.model_validate({"kind": kind})
    for k, (n, m) in enumerate(pairwise((50, *header.hidden, 69)), start=1):
        weights[f"W{k}"] = rng.normal(size=(n, m)).astype(np.float32) / n**0.5
        weights[f"b{k}"] = rng.normal(size=m).astype(np.float32)
    network = IKNetwork(header, weights)
    write_graph(published_graph(network), tmp_path / "p.onnx")
    rows = rng.normal(size=(7, 50)).astype(np.float32)
    (got,) = run(tmp_path / "p.onnx", rows)
    np.testing.assert_allclose(got, network.forward(rows), atol=1e-5)
    parts = header_of(tmp_path / "p.onnx")["inputs"][0]["parts"]
    assert [part["start"] for part in parts] == [
        0, *(part["stop"] for part in parts[:-1])
    ]  # fmt: skip


@pytest.mark.integration
def test_an_export_that_differs_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = walker()
    right: Graph = walker_graph(agent)
    wrong = replace(right, reference=lambda obs: (agent.act(obs) + 2e-5,))
    data = onnx_bytes(right)
    check_export(right, onnx_runner(right, data), "right")
    with pytest.raises(ModelFileError, match="action differs from the model by 2e-05"):
        check_export(wrong, onnx_runner(wrong, data), "wrong")
    monkeypatch.setattr(module, "TOLERANCE", -1.0)
    with pytest.raises(ModelFileError, match="differs from the model"):
        write_graph(walker_graph(agent), tmp_path / "w.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_the_same_model_gives_the_same_bytes() -> None:
    assert onnx_bytes(walker_graph(walker())) == onnx_bytes(walker_graph(walker()))


def test_positive_systems_are_solved_in_basic_operations() -> None:
    rng = np.random.default_rng(0)
    half = torch.as_tensor(rng.normal(size=(5, 6, 9)))
    matrix = half @ half.transpose(1, 2) + torch.eye(6, dtype=torch.float64)
    right = torch.as_tensor(rng.normal(size=(5, 6)))
    expected = torch.linalg.solve(matrix, right)
    torch.testing.assert_close(solve_positive(matrix, right), expected)


def test_positions_of_trackers_are_in_metres_of_a_body_of_scale_1() -> None:
    """Of the same trackers, a body twice as tall has inputs half as large."""
    agent = ambulo.load("ik_trackers")
    places = np.random.default_rng(0).normal(size=(6, 3))
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (6, 1))
    ones, seen = np.ones(6), np.zeros((2, INPUTS))
    for scale, out in zip((1.0, 2.0), seen, strict=True):
        write_inputs(
            places, turns, ones, np.zeros(6), places - 0.1, turns, ones,
            np.ones(3), scale, 0.1, out,
        )  # fmt: skip
    parts = tracker_graph(agent).inputs[0].parts
    for part in parts:
        span = slice(part["start"], part["stop"])
        if part["unit"] in ("m", "m/s"):
            np.testing.assert_allclose(seen[1, span], 0.5 * seen[0, span])
        elif part["name"] != "proportions":
            np.testing.assert_array_equal(seen[1, span], seen[0, span])
    assert {"m", "m/s"} < {part["unit"] for part in parts}
    height = (
        next(part["start"] for part in parts if part["name"] == "Head position") + 2
    )
    assert seen[0, height] == places[HEAD_ROW, 2]
