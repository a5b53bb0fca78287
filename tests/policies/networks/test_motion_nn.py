"""MotionNN: what it sees, what it predicts, and that the world's frame does not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ambulo.configs.errors import ConfigError, MotionError
from ambulo.configs.motion_nn import MotionNNConfig, MotionRunConfig
from ambulo.motion import human23
from ambulo.motion.rotations import (
    quat_from_rotvec,
    quat_from_yaw,
    quat_multiply,
    quat_rotate,
    quat_to_rotvec,
)
from ambulo.policies.networks.motion_nn import MotionNN
from ambulo.policies.networks.motion_state import (
    displaced,
    displacement,
    feature_size,
    features_of,
    joints_about_root,
    joints_after,
    states_after,
)

MODES = ("mlp", "transformer_reg", "encoder")
RESIDUALS = ("linear", "velocity", "zero")


def some_states(batch: int = 3, frames: int = 12, seed: int = 0) -> Tensor:
    """Poses that change by a few degrees a frame, with the velocities that belong."""
    rng = torch.Generator().manual_seed(seed)
    steps = 0.05 * torch.randn(
        batch, frames + 1, 56, generator=rng, dtype=torch.float64
    )
    poses = [0.3 * torch.randn(batch, 56, generator=rng, dtype=torch.float64)]
    for index in range(frames):
        poses.append(displaced(poses[-1], steps[:, index]))
    positions = torch.stack(poses, dim=1)
    velocities = displacement(positions[:, :-1], positions[:, 1:]) * 25.0
    return torch.cat([positions[:, 1:], velocities], dim=-1)


def some_network(mode: str = "mlp", **changes: object) -> MotionNN:
    """A small network with weights that matter, in double precision."""
    values = {"width": 16, "depth": 2, "heads": 2, "chunk": 4, "history": 6}
    config = MotionNNConfig(mode=mode, **{**values, **changes})  # type: ignore[arg-type]
    torch.manual_seed(1)
    network = MotionNN(config).double().eval()
    for value in (*network.parameters(), *network.buffers()):
        torch.nn.init.normal_(value, std=0.05)
    network.deviation.abs_().add_(0.5)
    return network


def in_another_world(states: Tensor, yaw: float, way: tuple[float, float]) -> Tensor:
    """The same movement, turned by `yaw` about Z and moved by `way` on the ground."""
    turn = quat_from_yaw(torch.tensor(yaw, dtype=states.dtype))
    moved = states.clone()
    root = quat_multiply(turn, quat_from_rotvec(states[..., :3]))
    moved[..., :3] = quat_to_rotvec(root)
    moved[..., 3:6] = quat_rotate(turn, states[..., 3:6])
    moved[..., 3] += way[0]
    moved[..., 4] += way[1]
    moved[..., 59:62] = quat_rotate(turn, states[..., 59:62])
    return moved


def test_displacement_is_undone_by_displaced() -> None:
    states = some_states()
    before, after = states[:, 0, :56], states[:, 5, :56]
    again = displaced(before, displacement(before, after))
    torch.testing.assert_close(again, after)


def test_velocities_lead_from_the_frame_before_to_this_one() -> None:
    states = some_states()
    after = states_after(states[:, 0], states[:, 1:, :56], 25.0)
    torch.testing.assert_close(after, states[:, 1:])
    pose = human23.integrate(states[:, 0, :56], states[:, 1, 56:], 1 / 25.0)
    torch.testing.assert_close(pose, states[:, 1, :56])


def test_joints_after_is_kinematics_of_the_displaced_pose() -> None:
    states = some_states()
    way = 0.2 * torch.ones(3, 56, dtype=torch.float64)
    direct = joints_about_root(displaced(states[:, 0, :56], way))
    torch.testing.assert_close(joints_after(states[:, 0, :56], way), direct)


@pytest.mark.parametrize(
    ("kind", "size"), [("points", 221), ("sixd", 155), ("rotvec", 110)]
)
def test_features_do_not_tell_place_or_direction(kind: str, size: int) -> None:
    states = some_states()
    features = features_of(states, kind)  # type: ignore[arg-type]
    assert features.shape == (3, 12, size)
    assert feature_size(kind) == size  # type: ignore[arg-type]
    moved = features_of(in_another_world(states, 2.5, (4.0, -7.0)), kind)  # type: ignore[arg-type]
    torch.testing.assert_close(moved, features)


def test_features_of_a_body_that_stands() -> None:
    states = torch.zeros(1, 1, 112)
    states[..., 5] = 0.9
    states[..., 59] = 2.0  # 2 m/s along +X
    features = features_of(states, "sixd")[0, 0]
    rows = torch.tensor([1.0, 0, 0, 0, 1, 0])
    assert features[0] == pytest.approx(0.9)
    torch.testing.assert_close(features[1:91], rows.repeat(15))
    assert features[91:99].tolist() == [0.0] * 8
    assert features[99:105].tolist() == [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("residual", RESIDUALS)
def test_prediction_moves_and_turns_with_the_world(mode: str, residual: str) -> None:
    network = some_network(mode, residual=residual)
    states = some_states()
    predicted = network.rollout(states, 9)
    moved = network.rollout(in_another_world(states, -1.9, (3.0, 50.0)), 9)
    expected = in_another_world(predicted, -1.9, (3.0, 50.0))
    torch.testing.assert_close(moved, expected, rtol=1e-6, atol=1e-8)
    assert (predicted[:, 0, :56] - states[:, -1, :56]).abs().max() > 1e-3


def test_state_is_consistent_and_step_begins_the_rollout() -> None:
    network = some_network()
    states = some_states()
    rolled = network.rollout(states, 6)
    assert rolled.shape == (3, 6, 112)
    torch.testing.assert_close(network.step(states), rolled[:, 0])
    torch.testing.assert_close(network(states), rolled[:, 0])
    poses = torch.cat([states[:, -1:, :56], rolled[..., :56]], dim=1)
    again = human23.integrate(poses[:, :-1], rolled[..., 56:], 1 / 25.0)
    torch.testing.assert_close(again, poses[:, 1:])


def test_rollout_goes_on_from_its_own_prediction() -> None:
    network = some_network()  # four frames a pass
    states = some_states()
    rolled = network.rollout(states, 7)
    fed = torch.cat([states, rolled[:, :4]], dim=1)
    torch.testing.assert_close(network.rollout(fed, 3), rolled[:, 4:])


def test_without_weights_the_base_is_left() -> None:
    states = some_states()
    still = some_network(residual="zero")
    constant = some_network(residual="velocity")
    for network in (still, constant):
        torch.nn.init.zeros_(network.head.weight)
        torch.nn.init.zeros_(network.head.bias)
    constant.damping.copy_(torch.arange(1.0, 5.0)[:, None].expand(4, 56))
    velocities = still.rollout(states, 4)[:, :, 56:]
    torch.testing.assert_close(
        velocities, torch.zeros_like(velocities), rtol=0, atol=1e-12
    )
    pose = human23.integrate(states[:, -1, :56], states[:, -1, 56:], 3 / 25.0)
    torch.testing.assert_close(constant.poses(states)[:, 2], pose)


def test_linear_base_sees_the_last_frames_only() -> None:
    network = some_network(residual="linear", linear_frames=2)
    for value in (network.head.weight, network.head.bias):
        torch.nn.init.zeros_(value)
    states = some_states()
    other = states.clone()
    other[:, :-2] = some_states(seed=5)[:, :-2]
    torch.testing.assert_close(network.poses(other), network.poses(states))
    other[:, -2] += 0.1
    assert not torch.allclose(network.poses(other), network.poses(states))


def test_transformer_does_not_see_what_comes_later() -> None:
    states = some_states(frames=6)
    other = states.clone()
    other[:, -1] += 0.3
    causal, whole = some_network("transformer_reg"), some_network("encoder")
    a, b = causal.trunk(causal.inputs(states)), causal.trunk(causal.inputs(other))
    torch.testing.assert_close(a[:, :-1], b[:, :-1])
    assert not torch.allclose(a[:, -1], b[:, -1])
    a, b = whole.trunk(whole.inputs(states)), whole.trunk(whole.inputs(other))
    assert not torch.allclose(a[:, 0], b[:, 0])


def test_each_frame_predicts_as_if_it_were_the_last() -> None:
    network = some_network("transformer_reg", history=6, residual="linear")
    states = some_states(frames=6)
    inputs = network.inputs(states)
    every = network.next_from(network.trunk(inputs), inputs, states)
    last = network.chunk_from(network.trunk(inputs)[:, -1:], inputs, states)
    torch.testing.assert_close(every[:, -1], last[:, 0])


@pytest.mark.parametrize("mode", MODES)
def test_short_history_begins_standing_still(mode: str) -> None:
    network = some_network(mode)
    states = some_states(frames=2)
    first = states[:, :1].clone()
    first[..., 56:] = 0.0
    whole = torch.cat([first.expand(-1, 4, -1), states], dim=1)
    torch.testing.assert_close(network.step(states), network.step(whole))
    encoded = network.encode(states)
    assert encoded.shape == (3, network.size) == (3, 16)
    torch.testing.assert_close(encoded, network.encode(whole))
    longer = torch.cat([some_states(frames=3, seed=3), whole], dim=1)
    torch.testing.assert_close(network.encode(longer), encoded)


@pytest.mark.parametrize("mode", MODES)
def test_members_are_averaged_and_learn_apart(mode: str) -> None:
    network = some_network(mode, members=3, dropout=0.0)
    states = some_states(batch=7)
    inputs = network.inputs(states)
    alone = [member(inputs) for member in network.trunk.members]
    torch.testing.assert_close(network.trunk(inputs), torch.stack(alone).mean(0))
    assert not torch.allclose(alone[0], alone[1])
    network.train()
    dealt = network.trunk(inputs)
    torch.testing.assert_close(dealt[:3], alone[0][:3])
    torch.testing.assert_close(dealt[5:], alone[2][5:])


def test_masked_frames_are_not_seen() -> None:
    network = some_network("encoder")
    states = some_states(frames=6)
    other = states.clone()
    other[:, 2] += 0.5
    hidden = torch.zeros(3, 6, dtype=torch.bool)
    hidden[:, 2] = True
    a = network.trunk(network.inputs(states), hidden)
    b = network.trunk(network.inputs(other), hidden)
    torch.testing.assert_close(a, b)


@pytest.mark.parametrize("shape", [(3, 112), (3, 4, 111), (3, 0, 112)])
def test_states_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(MotionError, match="expected shape"):
        some_network().step(torch.zeros(shape))


def test_a_rollout_has_a_frame() -> None:
    with pytest.raises(MotionError, match="at least one frame"):
        some_network().rollout(some_states(), 0)


def test_gradients_reach_the_first_layer_through_a_rollout() -> None:
    network = some_network(chunk=1)
    network.rollout(some_states(), 3)[:, -1].sum().backward()  # type: ignore[no-untyped-call]
    grad = next(network.trunk.parameters()).grad
    assert grad is not None
    assert np.isfinite(grad.numpy()).all()
    assert grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("group", "key", "value", "rule"),
    [
        ("model", "width", 30, "multiple of 2 \\* heads"),
        ("model", "linear_frames", 11, "linear_frames"),
        ("model", "fps", 30.0, "dataset.fps"),
    ],
)
def test_settings_that_do_not_fit(
    group: str, key: str, value: float, rule: str
) -> None:
    data = {group: {key: value}}
    with pytest.raises(ConfigError, match=rule):
        MotionRunConfig().replace(**data)


def test_window_holds_history_rollout_and_chunk() -> None:
    config = MotionRunConfig()
    assert config.window == 10 + 5 + 25
    assert config.replace(training={"rollout_ratio": 0.0}).window == 10 + 25
