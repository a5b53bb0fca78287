"""The gait network: torch and NumPy agree, files are checked, motions loop."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.model_files import change_header

from ambulo.configs.errors import GaitParameterError, ModelFileError
from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.frames import WAY_RATE, frame_rate, speed_of
from ambulo.policies.agents.gait_network import load_gait_network, phase_inputs
from ambulo.policies.agents.gait_training import load_gait_net
from ambulo.policies.files.model_file import ModelFile, save_model
from ambulo.policies.kinds.gait_net import GaitNetMetadata, describe_gait_net
from ambulo.policies.networks.gait_net import GaitNet

SPACE = gait_space("human23")


def make(hidden: int = 24, harmonics: int = 2) -> GaitNet:
    """A small network with statistics that matter."""
    torch.manual_seed(0)
    network = GaitNet(SPACE, hidden, 3, harmonics)
    inputs = torch.rand(50, SPACE.size + 2 * harmonics)
    poses = 0.1 * torch.randn(50, 101)
    poses[:, 0] += 1.0
    poses[:, 4] += 1.0
    poses[:, 6] += 0.04
    poses[:, 8] += 0.9
    network.set_statistics(inputs, poses)
    return network


def save_gait_net(
    path: Path, network: GaitNet, header: GaitNetMetadata | None = None
) -> None:
    header = header or describe_gait_net(network)
    save_model(path, ModelFile(header, network.state_dict()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gait_net.zip"
    save_gait_net(path, make())
    return path


def test_published_size() -> None:
    sizes = [tuple(layer.weight.shape) for layer in GaitNet(SPACE).layers]
    assert sizes == [(512, 15), (512, 512), (512, 512), (101, 512)]
    bound = np.sqrt(6.0 / (512 + 512))  # Xavier
    weights = GaitNet(SPACE).layers[1].weight.detach().numpy()
    assert np.abs(weights).max() <= bound
    assert np.abs(weights).max() > 0.99 * bound


def test_phase_counts_in_cycles() -> None:
    found = phase_inputs(np.array([0.0, 0.25, 1.25]), 2)
    np.testing.assert_allclose(found[0], [0.0, 1.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(found[1], [1.0, 0.0, 0.0, -1.0], atol=1e-12)
    np.testing.assert_allclose(found[2], found[1], atol=1e-12)


def test_numpy_answers_as_torch(file: Path) -> None:
    network, _ = load_gait_net(file)
    run_time = load_gait_network(file)
    rng = np.random.default_rng(1)
    params, phase = rng.random((7, SPACE.size)), rng.random(7)
    with torch.no_grad():
        wanted = network(
            torch.from_numpy(params).float(), torch.from_numpy(phase).float()
        ).numpy()
    np.testing.assert_allclose(run_time(params, phase), wanted, atol=2e-5)
    np.testing.assert_allclose(run_time(params[0], phase[:1]), wanted[:1], atol=2e-5)


def test_frames_are_rotations(file: Path) -> None:
    frames = load_gait_network(file).frames(SPACE.default, cycles=3)
    assert frames.shape == (90, 101)
    np.testing.assert_array_equal(frames[:30], frames[60:])
    rows = frames[:, :6].reshape(90, 2, 3)
    products = rows @ np.swapaxes(rows, 1, 2)
    np.testing.assert_allclose(products, np.tile(np.eye(2), (90, 1, 1)), atol=1e-12)


def test_motions_loop_and_go_on_at_their_speed(file: Path) -> None:
    network = load_gait_network(file)
    motion = network.to_motion(SPACE.default, cycles=2)
    rate = float(frame_rate(SPACE, SPACE.default))
    assert motion.fps == pytest.approx(rate)
    assert len(motion) == 60
    once = network(SPACE.normalize(SPACE.default), np.arange(30) / 30)
    speed = once[:, 6].mean() * WAY_RATE
    root = motion.root_positions
    # From frame to the same frame of the next cycle it goes a stride, straight on.
    np.testing.assert_allclose(
        (root[30:] - root[:30])[:, 0], speed * 30 / rate, rtol=1e-4
    )
    np.testing.assert_allclose((root[30:] - root[:30])[:, 1:], 0.0, atol=1e-6)
    np.testing.assert_array_equal(motion.rotations[:30], motion.rotations[30:])


def test_other_rates_keep_whole_cycles(file: Path) -> None:
    network = load_gait_network(file)
    motion = network.to_motion(SPACE.default, cycles=2, fps=60.0)
    per_cycle = len(motion) // 2
    assert len(motion) == 2 * per_cycle
    assert motion.fps == pytest.approx(60.0, rel=0.02)
    own = network.to_motion(SPACE.default, cycles=2)
    assert motion.fps / per_cycle == pytest.approx(own.fps / 30)


def test_out_of_range_names_the_parameter(file: Path) -> None:
    network = load_gait_network(file)
    values = SPACE.default.copy()
    values[SPACE.index("cadence")] = 1.4
    for use in (network.frames, network.to_motion):
        with pytest.raises(GaitParameterError, match=r"cadence = 1.4: must be in"):
            use(values)


def test_a_parameter_that_never_varied_has_its_value_alone(tmp_path: Path) -> None:
    path = tmp_path / "held.zip"
    training = {"held": {"stride": 0.93, "global": 1.0}}
    save_gait_net(path, make(), describe_gait_net(make(), training=training))
    network = load_gait_network(path)
    assert network.vector()[SPACE.index("stride")] == 0.93
    values = network.vector(cadence=1.1, stride=0.93)
    assert values[SPACE.index("cadence")] == 1.1
    with pytest.raises(
        GaitParameterError, match=r"stride = 1: this network has learnt"
    ):
        network.vector(stride=1.0)
    for wrong in ({"stride": 3.0}, {"nonsense": 1.0}, {"stride": "x"}, 5):
        metadata = describe_gait_net(make(), training={"held": wrong})
        save_gait_net(path, make(), metadata)
        with pytest.raises(ModelFileError, match=r"training\.held is damaged"):
            load_gait_network(path)


@pytest.mark.parametrize("load", [load_gait_net, load_gait_network])
def test_other_parameters_are_refused_with_the_difference(
    load: object, file: Path
) -> None:
    assert callable(load)
    first = SPACE.parameters[0]
    wider = GaitSpace("human23", (replace(first, high=1.5), *SPACE.parameters[1:]))
    with pytest.raises(ModelFileError, match=r"stride \(0.75 to 1.25"):
        load(file, wider)
    with pytest.raises(ModelFileError, match="it lacks length_iliopsoas_left"):
        load(file, gait_space("myolegs"))


def test_damaged_parameters_are_refused(file: Path, tmp_path: Path) -> None:

    def change(header: dict[str, Any]) -> None:
        header["space"]["parameters"][0]["high"] = -5.0

    bad = change_header(file, change, tmp_path / "bad.zip")
    with pytest.raises(ModelFileError, match=r"bad\.zip: ambulo\.json: .*stride"):
        load_gait_network(bad)


def test_the_shipped_network_of_weak_muscles_walks() -> None:
    with as_file(files("ambulo.shipped") / "gait_net_impaired") as folder:
        network = load_gait_network(
            folder / "gait_net_impaired.zip", gait_space("myolegs")
        )
    assert len(network.held) == 13
    frames = [
        network.frames(network.vector(force_gastrocnemius_left=force))
        for force in (1.0, 0.1)
    ]
    assert speed_of(frames[0]) == pytest.approx(1.19, abs=0.05)
    assert np.abs(frames[1] - frames[0]).max() > 0.01


def test_the_shipped_network_walks() -> None:
    with as_file(files("ambulo.shipped") / "gait_net" / "gait_net.zip") as path:
        network = load_gait_network(path, SPACE)
    frames = network.frames(SPACE.default)
    assert float(speed_of(frames)) == pytest.approx(HEALTHY.speed, rel=0.06)
    longer = network.frames(SPACE.vector(stride=1.25))
    assert float(speed_of(longer) / speed_of(frames)) == pytest.approx(1.25, rel=0.06)
    small = network.to_motion(SPACE.vector(**{"global": 0.85}), cycles=2)
    height = small.root_positions[:, 2].mean() / frames[:, 8].mean()
    assert height == pytest.approx(0.85, abs=0.02)
