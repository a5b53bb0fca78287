"""Networks of poses: what is exported answers as what was trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo.configs.errors import ModelFileError
from ambulo.configs.neural_ik import IKNetConfig, IKRunConfig
from ambulo.ik.kernels.targets import WIDTH
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network import IKNetwork
from ambulo.policies.files.model_file import ModelFile, load_model, save_model
from ambulo.policies.kinds.ik_training import IKMetadata
from ambulo.policies.networks.ik_net import WEIGHT_COLUMNS, IKNet


@pytest.fixture(scope="module")
def rig() -> Rig:
    """The rig that ships."""
    return load_rig()


def inputs_of(count: int, seed: int = 0) -> torch.Tensor:
    """Random inputs; what a weight of 0 gates is 0, as `network_input` makes them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(1.0, 2.0, (count, 66))
    weights = rng.choice([0.0, 0.5, 1.0], (count, 6, 2))
    table = values.reshape(count, 6, WIDTH)
    table[..., :3] *= weights[..., :1] > 0
    table[..., 3:9] *= weights[..., 1:] > 0
    table[..., 9:] = weights
    return torch.from_numpy(values).float()


def test_each_number_has_the_weight_of_its_target() -> None:
    assert WEIGHT_COLUMNS[:11].tolist() == [9, 9, 9, 10, 10, 10, 10, 10, 10, 9, 10]
    assert WEIGHT_COLUMNS[64] == 64
    assert WEIGHT_COLUMNS[55] == 64


@pytest.mark.parametrize("activation", ["leaky_relu", "elu", "tanh", "silu"])
def test_export_of_own(rig: Rig, activation: str) -> None:
    torch.manual_seed(0)
    config = IKNetConfig.model_validate({"hidden": (32, 24), "activation": activation})
    net, inputs = IKNet(config, rig), inputs_of(200)
    torch.nn.init.normal_(net.layers[-1].bias)  # type: ignore[arg-type]
    net.set_statistics(inputs, torch.randn(200, 141))
    live = IKNetwork(
        IKNetworkHeader(hidden=(32, 24), activation=activation), net.tensors(), rig=rig
    )
    with torch.no_grad():
        wanted = net(inputs).numpy()
    assert np.abs(live.forward(inputs.numpy()) - wanted).max() < 1e-4
    assert live.mean == pytest.approx(net.mean.numpy())


@pytest.mark.parametrize("kind", ["published", "published_compact"])
def test_export_of_published(rig: Rig, kind: str) -> None:
    torch.manual_seed(0)
    net = IKNet(IKNetConfig.model_validate({"kind": kind}), rig)
    inputs = torch.randn(100, 50) * 2.0 + 1.0
    inputs[:, 40] = 1.0  # never changes
    net.set_statistics(inputs, torch.randn(100, 69))
    header = IKNetworkHeader.of(net.config, rig.name)
    live = IKNetwork(header, net.tensors(), rig=rig)
    with torch.no_grad():
        wanted = (net(inputs) + net.mean).numpy()
    assert np.abs(live.forward(inputs.numpy()) - wanted).max() < 1e-4
    trained = sum(parameter.numel() for parameter in net.parameters())
    assert (
        trained
        == live.parameters
        == {"published": 120_645, "published_compact": 25_605}[kind]
    )


def test_statistics_count_what_is_there(rig: Rig) -> None:
    net = IKNet(IKNetConfig(), rig)
    inputs = torch.zeros(4, 66)
    inputs[:, 9] = torch.tensor([1.0, 1.0, 0.0, 0.0])
    inputs[:, 0] = torch.tensor([2.0, 4.0, 0.0, 0.0])
    net.set_statistics(inputs, torch.randn(4, 141))
    assert float(net.center[0]) == pytest.approx(3.0)
    assert float(net.scale[0]) == pytest.approx(1.0)
    assert float(net.center[9]) == 0.0
    assert float(net.scale[9]) == 1.0


def test_dropout_is_for_training_alone(rig: Rig) -> None:
    torch.manual_seed(0)
    net, inputs = IKNet(IKNetConfig(hidden=(64,), dropout=0.5), rig), inputs_of(20)
    with torch.no_grad():
        one, two = net(inputs), net(inputs)
        assert not torch.equal(one, two)
        net.eval()
        assert torch.equal(net(inputs), net(inputs))


def test_checkpoints(rig: Rig, tmp_path: Path) -> None:
    run = IKRunConfig(data="/some/where/poses.npz")
    metadata = IKMetadata.describe(run, rig=rig.name, steps=3)
    assert metadata.run.data == "poses.npz"
    net = IKNet(run.network, rig)
    file = tmp_path / "a.zip"
    save_model(file, ModelFile(metadata, net.state_dict()))
    back = load_model(file, IKMetadata)
    assert back.metadata.steps == 3
    assert all(
        torch.equal(net.state_dict()[name], back.weights[name]) for name in back.weights
    )
    wrong = dict(net.state_dict())
    wrong["layers.0.weight"] = torch.full_like(wrong["layers.0.weight"], float("nan"))
    with pytest.raises(ModelFileError, match="not finite"):
        save_model(file, ModelFile(metadata, wrong))
    assert load_model(file, IKMetadata).metadata.steps == 3
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(ModelFileError):
        load_model(file, IKMetadata)
