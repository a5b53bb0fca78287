"""Networks at run time: layout, arithmetic, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.ik_networks import RIG, ik_tensors

from ambulo.configs.errors import ModelFileError
from ambulo.ik.limits import clamp
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.solver.features import (
    INPUTS,
    decode_pose,
    mean_output,
    network_input,
    output_of,
    pose_from_frame,
    pose_in_frame,
    root_frame,
    to_frame,
)
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import (
    HEADERS,
    IKNetwork,
    load_ik_network,
    save_ik_network,
)
from ambulo.ik.solver.targets import Targets
from ambulo.motion.dense_network import silu
from ambulo.motion.rotations import (
    matrix_to_sixd,
    quat_from_rotvec,
    quat_multiply,
    quat_to_matrix,
)

RNG = np.random.default_rng(7)


def poses(count: int) -> Pose:
    start = start_pose(RIG, RNG.normal(size=(count, 2)), RNG.uniform(-3, 3, count))
    turns = quat_from_rotvec(RNG.normal(0.0, 0.3, (count, len(RIG), 3)))
    return Pose(start.root, clamp(RIG, quat_multiply(start.rotations, turns)))


def test_input_is_the_frame_seen_row_by_row() -> None:
    targets = Targets.of_pose(RIG, poses(7)).without("Head")
    frame = root_frame(RIG, targets)
    positions, rotations = to_frame(*frame, targets.positions, targets.rotations)
    wanted = np.concatenate(
        [positions, matrix_to_sixd(quat_to_matrix(rotations)), np.ones((7, 6, 2))],
        axis=-1,
    )
    wanted[:, 4] = 0.0
    found = network_input(RIG, targets)
    assert found.shape == (7, 66)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted.reshape(7, 66), atol=1e-6)


def test_output_layout_goes_there_and_back() -> None:
    pose = poses(9)
    frame = root_frame(RIG, Targets.of_pose(RIG, pose))
    seen = pose_in_frame(RIG, pose, frame)
    mean = mean_output(RIG)
    output = output_of(seen.root, seen.rotations, mean)
    assert output.shape == (9, 141)
    again = pose_from_frame(RIG, Pose(*decode_pose(output, mean)), frame)
    np.testing.assert_allclose(fk(RIG, again)[0], fk(RIG, pose)[0], atol=1e-12)
    assert np.abs(output_of(*_start(), mean)).max() < 1e-12


def _start() -> tuple[np.ndarray, np.ndarray]:
    start = start_pose(RIG)
    return start.root, start.rotations


def test_forward_goes_through_the_named_layers() -> None:
    made = ik_tensors((33, 20))
    network = IKNetwork(IKNetworkHeader(hidden=(33, 20), activation="tanh"), made)
    x = RNG.normal(size=(5, INPUTS))
    y = x
    for layer in range(3):
        weight, bias = made[f"layers.{layer}.weight"], made[f"layers.{layer}.bias"]
        y = y @ weight.astype(np.float64).T + bias
        y = np.tanh(y) if layer < 2 else y
    np.testing.assert_allclose(network.forward(x.astype(np.float32)), y, atol=2e-6)


def test_predict_is_forward_decoded_in_the_world() -> None:
    network = IKNetwork(IKNetworkHeader(hidden=(64, 32)), ik_tensors((64, 32)))
    targets = Targets.of_pose(RIG, poses(20))
    frame = root_frame(RIG, targets)
    output = network.forward(network_input(RIG, targets)).astype(np.float64)
    wanted = pose_from_frame(RIG, Pose(*decode_pose(output, network.mean)), frame)
    found = network.predict(targets)
    np.testing.assert_allclose(fk(RIG, found)[0], fk(RIG, wanted)[0], atol=1e-12)
    lengths = np.linalg.norm(found.rotations, axis=-1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-12)


def test_files_come_back_and_damage_is_told(tmp_path: Path) -> None:
    header, made = IKNetworkHeader(hidden=(16,), extra={"steps": 3}), ik_tensors((16,))
    save_ik_network(tmp_path, header, made)
    network = load_ik_network(tmp_path)
    x = RNG.normal(size=(2, INPUTS)).astype(np.float32)
    np.testing.assert_array_equal(
        network.forward(x), IKNetwork(header, made).forward(x)
    )
    assert network.header == header

    def damaged(said: str) -> None:
        with pytest.raises(ModelFileError, match=said) as error:
            load_ik_network(tmp_path)
        assert "\n" not in str(error.value)

    whole = (tmp_path / "ik_network.safetensors").read_bytes()
    (tmp_path / "ik_network.safetensors").write_bytes(whole[:-10])
    damaged("cannot be read")
    (tmp_path / "ik_network.safetensors").write_bytes(whole)
    text = json.loads((tmp_path / HEADERS[0]).read_text())
    (tmp_path / HEADERS[0]).write_text(json.dumps({**text, "hidden": [17]}))
    damaged("expected float32")
    (tmp_path / HEADERS[0]).write_text(json.dumps({**text, "version": 2}))
    damaged("version")
    (tmp_path / HEADERS[0]).write_text("{")
    damaged("not valid JSON")
    with pytest.raises(ModelFileError, match="no such folder or network"):
        load_ik_network("not_there")


def test_weights_must_be_finite() -> None:
    made = ik_tensors((16,))
    made["layers.0.bias"][3] = np.nan
    with pytest.raises(ModelFileError, match=r"'layers.0.bias' has values not finite"):
        IKNetwork(IKNetworkHeader(hidden=(16,)), made)


def test_silu_is_exact_enough() -> None:
    x = np.concatenate([np.linspace(-120.0, 120.0, 4001), [0.0, np.nan]])
    y = x.astype(np.float32)
    silu(y)
    wanted = x[:-1] / (1.0 + np.exp(-x[:-1]))
    assert np.abs(y[:-1] - wanted).max() < 1e-5
    assert y[-2] == 0.0
    assert np.isnan(y[-1])
