"""Exported models in OpenVINO; exported bodies in MJX, MuJoCo Warp and dm_control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import ambulo
from ambulo.envs.characters.mjcf import export_mjcf
from ambulo.envs.characters.registry import CHARACTERS
from ambulo.policies.export.gaits import gait_graph
from ambulo.policies.export.graph import Graph, port_difference, write_graph
from ambulo.policies.export.motion import motion_graph
from ambulo.policies.export.muscles import muscle_graph
from ambulo.policies.export.poses import pose_graph
from ambulo.policies.export.walkers import walker_graph

GRAPHS: dict[str, tuple[Any, float]] = {
    "locomote": (walker_graph, 1e-5),
    "gait_net": (gait_graph, 1e-5),
    "ik_net": (lambda solver: pose_graph(solver.network), 1e-5),
    "motion_nn": (motion_graph, 1e-5),
    "muscle_nn_myolegs": (muscle_graph, 1e-4),  # it computes float64 in float32
}
"""Maker of the graph, and the largest difference, of models of each kind."""


@pytest.mark.parametrize("name", GRAPHS)
def test_openvino_agrees_with_the_precision_hint(tmp_path: Path, name: str) -> None:
    openvino = pytest.importorskip("openvino")
    make, limit = GRAPHS[name]
    graph = make(ambulo.load(name))
    write_graph(graph, tmp_path / "m.onnx")
    hint = {"INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(str(tmp_path / "m.onnx"), "CPU", hint)
    for count in (1, 16):
        assert _difference(graph, model, count) < limit


def _difference(graph: Graph, model: Any, count: int) -> float:
    """The largest difference of OpenVINO from the model."""
    rows = graph.examples(np.random.default_rng(5), count)
    names = [port.name for port in graph.inputs]
    got = model(dict(zip(names, rows, strict=True)))
    return max(
        port_difference(port, want, got[port.name])
        for port, want in zip(graph.outputs, graph.reference(*rows), strict=True)
    )


@pytest.fixture(params=sorted(CHARACTERS))
def xml(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of a character."""
    return export_mjcf(request.param, tmp_path / "body")[0]


def _fall(xml: Path, steps: int) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """A body that falls for some steps, in MuJoCo itself."""
    model = mujoco.MjModel.from_xml_path(str(xml))
    data = mujoco.MjData(model)
    data.qpos[2] += 0.02
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return model, data


def test_dm_control_reads_and_steps_bodies(xml: Path) -> None:
    pytest.importorskip("dm_control")
    from dm_control import mjcf
    from dm_control.mujoco import Physics

    _, expected = _fall(xml, 20)
    for physics in (
        Physics.from_xml_path(str(xml)),
        mjcf.Physics.from_mjcf_model(mjcf.from_path(str(xml))),
    ):
        physics.data.qpos[2] += 0.02
        for _ in range(20):
            physics.step()
        np.testing.assert_allclose(physics.data.qpos, expected.qpos, atol=1e-9)


def test_mjx_steps_bodies(xml: Path) -> None:
    pytest.importorskip("mujoco.mjx")
    import jax
    from mujoco import mjx

    model, expected = _fall(xml, 10)
    _, start = _fall(xml, 0)
    device, data = mjx.put_model(model), mjx.put_data(model, start)
    step = jax.jit(mjx.step)
    for _ in range(10):
        data = step(device, data)
    np.testing.assert_allclose(np.asarray(data.qpos), expected.qpos, atol=1e-4)


def test_mujoco_warp_steps_bodies(xml: Path) -> None:
    warp = pytest.importorskip("mujoco_warp")
    model, expected = _fall(xml, 5)
    _, start = _fall(xml, 0)
    mujoco.mj_forward(model, start)
    device, data = warp.put_model(model), warp.put_data(model, start)
    for _ in range(5):
        warp.step(device, data)
    np.testing.assert_allclose(data.qpos.numpy()[0], expected.qpos, atol=1e-4)
