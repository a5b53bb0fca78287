"""The terms of the training loss and the statistics that it measures by."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ambulo.configs.motion_nn import MotionLossConfig, MotionNNConfig, MotionRunConfig
from ambulo.policies.device import pick_device
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import displaced, displacement
from ambulo.train.motion.clips import played
from ambulo.train.motion.losses import MotionLoss
from ambulo.train.motion.statistics import statistics_of
from ambulo.train.motion.validation import calibrated, validation_error
from ambulo.train.shared.fit_settings import FitSettings

OFF = {
    "position": 0.0,
    "velocity": 0.0,
    "joints": 0.0,
    "smoothness": 0.0,
    "masked": 0.0,
}


def windows_of(batch: int = 40, frames: int = 12, seed: int = 0) -> Tensor:
    """States of bodies whose joints each turn at a constant rate."""
    rng = torch.Generator().manual_seed(seed)
    rates = 0.03 * torch.randn(batch, 56, generator=rng)
    poses = [torch.zeros(batch, 56)]
    poses[0][:, 5] = 0.9
    for _ in range(frames):
        poses.append(displaced(poses[-1], rates))
    positions = torch.stack(poses[1:], dim=1)
    before = torch.stack(poses[:-1], dim=1)
    return torch.cat([positions, 25.0 * displacement(before, positions)], dim=-1)


def config_of(mode: str = "mlp", **loss: object) -> MotionRunConfig:
    return MotionRunConfig(
        model=MotionNNConfig(
            mode=mode, width=16, depth=1, heads=2, history=4, chunk=3,  # type: ignore[arg-type]
            residual="velocity", dropout=0.0,
        ),
        loss=MotionLossConfig(**loss),  # type: ignore[arg-type]
    ).replace(training={"rollout_ratio": 0.0})  # fmt: skip


def terms_of(
    config: MotionRunConfig, windows: Tensor, *, silent: bool = True, seed: int = 0
) -> dict[str, float]:
    """Loss terms of a network that says what its base says, unless not `silent`."""
    torch.manual_seed(0)
    network = MotionNN(config.model)
    statistics = statistics_of(network, windows)
    network.set_statistics(**vars(statistics))
    if silent:
        torch.nn.init.zeros_(network.head.weight)
    loss = MotionLoss(config, statistics, torch.device("cpu"))
    terms = loss(network, windows, np.random.default_rng(seed))
    return {name: float(value.detach()) for name, value in terms.items()}


def test_damping_of_constant_rates_is_the_number_of_frames() -> None:
    config = config_of()
    statistics = statistics_of(MotionNN(config.model), windows_of())
    frames = torch.tensor([1.0, 2.0, 3.0])
    joints = statistics.damping[:, 6:]
    torch.testing.assert_close(joints, frames[:, None].expand(3, 50), atol=0.05, rtol=0)


def test_constant_rates_are_predicted_without_loss() -> None:
    terms = terms_of(config_of(balance=False, robust=0.0), windows_of())
    assert terms["position"] < 1e-4
    assert terms["joints"] < 0.05  # ten times the mean distance, [m]
    other = terms_of(config_of(balance=False, robust=0.0), windows_of(), silent=False)
    assert other["position"] > terms["position"]


@pytest.mark.parametrize("name", ["position", "velocity", "joints", "smoothness"])
def test_each_term_has_its_switch_and_weight(name: str) -> None:
    windows = windows_of()
    one = terms_of(config_of(**{**OFF, name: 1.0}), windows, silent=False)
    three = terms_of(config_of(**{**OFF, name: 3.0}), windows, silent=False)
    assert set(one) == {name, "loss"}
    assert one["loss"] == one[name] > 0.0
    assert three[name] == pytest.approx(3.0 * one[name], rel=1e-5)


def test_a_still_body_has_no_smoothness_loss_when_it_was_still() -> None:
    windows = torch.zeros(8, 12, 112)
    windows[..., 5] = 0.9
    assert terms_of(config_of(), windows)["smoothness"] == 0.0


def test_squares_hand_computed() -> None:
    """A hinge that is off by 0.2 rad in one of three frames, all else right."""
    config = config_of(**{**OFF, "position": 1.0}, balance=False, robust=0.0)
    windows = torch.zeros(5, 12, 112)
    windows[:, 5, 9] = 0.2  # the right knee, second frame after the history
    terms = terms_of(config, windows)
    assert terms["position"] == pytest.approx(0.2**2 / (3 * 56), rel=1e-3)


def test_beyond_robust_the_loss_grows_in_proportion() -> None:
    def loss(angle: float) -> float:
        config = config_of(**{**OFF, "position": 1.0}, balance=False, robust=0.1)
        windows = torch.zeros(5, 12, 112)
        windows[:, 5, 9] = angle
        return terms_of(config, windows)["position"]

    assert loss(1.0) - loss(0.8) == pytest.approx(loss(0.8) - loss(0.6), rel=1e-3)
    assert loss(0.1) == pytest.approx(4.0 * loss(0.05), rel=1e-3)


def test_transformer_learns_from_every_frame_and_encoder_from_masks() -> None:
    windows = windows_of()
    assert "every_frame" in terms_of(config_of("transformer_reg"), windows)
    assert "masked" in terms_of(config_of("encoder"), windows)
    assert "masked" not in terms_of(config_of("encoder", masked=0.0), windows)


def test_rollout_judges_what_follows_own_predictions() -> None:
    config = config_of().replace(training={"rollout_ratio": 1.0, "rollout_steps": 5})
    windows = windows_of(frames=config.window)
    plain = terms_of(config.replace(training={"rollout_ratio": 0.0}), windows)
    rolled = terms_of(config, windows)
    assert rolled["position"] != plain["position"]
    changed = windows.clone()
    changed[:, 4 + 3 :, 6:56] += 0.3  # beyond the first chunk
    assert terms_of(config, changed)["position"] > rolled["position"]


def test_validation_error_hand_computed() -> None:
    """Both knees off by a right angle: feet and toes are off by shank and more."""
    network = MotionNN(config_of().model).eval()
    torch.nn.init.zeros_(network.head.weight)
    windows = torch.zeros(2, 4 + 25, 112)
    windows[:, 4:, 9] = np.pi / 2  # right knee
    error = validation_error(network, windows)
    assert set(error) == {"80ms", "160ms", "320ms", "400ms", "560ms", "1000ms", "mean"}
    shank = 0.4305
    assert error["80ms"] == pytest.approx(error["1000ms"], rel=1e-5)
    ankle = 1000 * shank * 2**0.5
    assert ankle < 17 * error["mean"] < 3 * ankle


@pytest.mark.parametrize("residual", ["linear", "velocity", "zero"])
def test_multiply_scales_every_frame_of_a_chunk(residual: str) -> None:
    config = config_of().model.replace(residual=residual)
    network = MotionNN(config).eval()
    windows = windows_of(frames=12)
    network.set_statistics(**vars(statistics_of(network, windows)))
    inputs, known = network.inputs(windows[:, :4]), windows[:, :4]
    with torch.no_grad():
        hidden = network.trunk(inputs)
        before = network.chunk_from(hidden, inputs, known)
        network.multiply(torch.tensor([1.0, 0.5, 0.0]))
        after = network.chunk_from(hidden, inputs, known)
    factors = torch.tensor([1.0, 0.5, 0.0])[:, None]
    torch.testing.assert_close(after, before * factors)


def test_calibration_finds_how_much_too_far_a_network_goes() -> None:
    """Knees that turn at constant rates, by a network that goes 1.25 times as far."""
    network = MotionNN(config_of().model).eval()
    torch.nn.init.zeros_(network.head.weight)
    network.damping.copy_(1.25 * torch.arange(1.0, 4.0)[:, None].expand(3, 56))
    windows = torch.zeros(6, 4 + 3, 112)
    rates = torch.linspace(0.1, 0.3, 6)[:, None]  # [rad] a frame
    windows[:, :, 9] = rates * torch.arange(7)
    windows[:, :, 56 + 9] = 25.0 * rates
    scaled = calibrated(network, windows)
    expected = network.damping / 1.25
    torch.testing.assert_close(scaled.damping, expected)
    assert network.damping[0, 0] == 1.25  # it is a copy


def test_learning_rate_rises_and_falls() -> None:
    config = MotionRunConfig()
    settings = FitSettings.of(config.training)
    rates = [settings.rate(step, 1000) for step in (0, 199, 600, 1000, 2000)]
    top = config.training.learning_rate
    assert rates[0] == pytest.approx(top / 200)
    assert rates[1] == pytest.approx(top)
    assert rates[2] == pytest.approx(top * (0.01 + 0.99 * 0.5))
    assert rates[3] == rates[4] == pytest.approx(0.01 * top)


def test_played_faster() -> None:
    states = np.ones((3, 112), np.float32)
    assert played(states, 1.25)[0, 55:57].tolist() == [1.0, 1.25]
    assert played(states, 1.0) is states


def test_auto_device_is_one() -> None:
    assert pick_device("auto").type in ("cpu", "cuda")
    assert pick_device("cpu") == torch.device("cpu")
