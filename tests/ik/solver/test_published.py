"""The published interface: 50 numbers in, 69 out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.ik_networks import published_header, published_tensors

from ambulo.configs.errors import IKError, ModelFileError
from ambulo.configs.neural_ik import PUBLISHED
from ambulo.ik.pose import Pose, fk, start_pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.features import pose_from_frame, pose_in_frame, root_frame
from ambulo.ik.solver.network import IKNetwork, load_ik_network, save_ik_network
from ambulo.ik.solver.published import (
    INPUTS,
    OUTPUTS,
    Context,
    euler_xyz,
    published_input,
    published_output,
    published_pose,
)
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_multiply


def some_poses(rig: Rig, count: int = 8, size: float = 0.4) -> Pose:
    rng = np.random.default_rng(1)
    base = start_pose(rig)
    turns = quat_multiply(
        base.rotations, quat_from_rotvec(rng.normal(0, size, (count, len(rig), 3)))
    )
    return Pose(base.root + rng.normal(0, 0.2, (count, 3)), turns)


def network_of(weights: dict[str, np.ndarray], kind: str = "published") -> IKNetwork:
    return IKNetwork(published_header(kind), weights)


def test_sizes_are_the_published_ones() -> None:
    assert network_of(published_tensors("published")).parameters == 120_645
    compact = network_of(published_tensors("published_compact"), "published_compact")
    assert compact.parameters == 25_605
    assert (INPUTS, OUTPUTS) == (50, 69)


@pytest.mark.parametrize("kind", list(PUBLISHED))
def test_forward_is_the_plain_formula(kind: str) -> None:
    weights = published_tensors(kind)
    values = np.random.default_rng(2).normal(size=(3, 50)).astype(np.float32)
    found = network_of(weights, kind).forward(values)
    wanted = values.astype(np.float64)
    layers = len(weights) // 2
    for i in range(1, layers + 1):
        wanted = wanted @ weights[f"W{i}"] + weights[f"b{i}"]
        if i < layers:
            wanted = (
                np.tanh(wanted)
                if "compact" in kind
                else np.where(wanted > 0, wanted, 0.1 * wanted)
            )
    assert np.abs(found - wanted).max() < 1e-5


def test_euler_angles_lead_back() -> None:
    """Also at the pole, where all of the turn about X and Z is given to X."""

    def about(k: int, angle: np.ndarray) -> np.ndarray:
        vectors = np.zeros((len(angle), 3))
        vectors[:, k] = angle
        found: np.ndarray = quat_from_rotvec(vectors)
        return found

    rng = np.random.default_rng(3)
    pole = quat_multiply(about(1, np.full(1, np.pi / 2)), about(0, np.full(1, 0.7)))
    turns = np.concatenate([quat_from_rotvec(rng.normal(0, 2.0, (500, 3))), pole])
    x, y, z = euler_xyz(turns).T
    again = quat_multiply(about(2, z), quat_multiply(about(1, y), about(0, x)))
    assert quat_angle(turns, again).max() < 1e-6
    assert np.abs(y).max() <= np.pi / 2
    assert (x[-1], z[-1]) == pytest.approx((0.7, 0.0))


def test_the_numbers_of_a_standing_body(rig: Rig) -> None:
    rest = Pose(
        np.array([[2.0, 3.0, 1.0]]), np.tile([1.0, 0.0, 0.0, 0.0], (1, len(rig), 1))
    )
    targets = Targets.of_pose(rig, rest)
    places = fk(rig, rest)[0][0]
    context = Context.level(targets, task="reach", phase=0.25)
    (found,) = published_input(rig, targets, context)
    for row, joint in enumerate(rig.effectors[:5]):
        assert found[6 * row : 6 * row + 3] == pytest.approx(
            places[joint] - places[0], abs=1e-6
        )
        assert found[6 * row + 3 : 6 * row + 6] == pytest.approx(0.0, abs=1e-6)
    assert found[30:36] == pytest.approx([1, 0, 0, 0, 0, 1], abs=1e-6)
    ankle = places[rig.effectors[2], 2]
    stands = float(ankle < 0.1)
    assert found[36:42] == pytest.approx([ankle / 2, 0, 0, 1, stands, stands], abs=1e-6)
    assert found[48:].tolist() == [0.25, 2.0]


def test_heading_and_place_do_not_matter(rig: Rig) -> None:
    pose = some_poses(rig)
    yaw = np.linspace(-3.0, 3.0, len(pose))
    away = np.column_stack([yaw, 2.0 * yaw, np.zeros(len(pose))])
    moved = pose_from_frame(rig, pose, (away, yaw))
    here, there = Targets.of_pose(rig, pose), Targets.of_pose(rig, moved)
    one = published_input(rig, here, Context.level(here))
    two = published_input(rig, there, Context.level(there))
    assert np.abs(one - two).max() < 1e-6


def test_slopes_turn_with_the_character(rig: Rig) -> None:
    pose = pose_from_frame(
        rig, start_pose(rig), (np.zeros((1, 3)), np.array([np.pi / 2]))
    )
    targets = Targets.of_pose(rig, pose)
    level = Context.level(targets)
    normals = np.tile([0.0, 0.6, 0.8], (1, 2, 1))  # falls off where it looks
    slope = Context(
        level.ground_heights,
        normals,
        level.grounded,
        level.contacts,
        level.phase,
        level.task,
    )
    (found,) = published_input(rig, targets, slope)
    assert found[37:40] == pytest.approx([0.6, 0.0, 0.8], abs=1e-6)


def test_answers_lead_back_to_the_pose(rig: Rig) -> None:
    pose = some_poses(rig)
    targets = Targets.of_pose(rig, pose)
    output = published_output(pose_in_frame(rig, pose, root_frame(rig, targets)))
    assert output.shape == (8, 69)
    again = published_pose(rig, output, targets)
    assert np.abs(fk(rig, again)[0] - fk(rig, pose)[0]).max() < 1e-5


def test_all_targets_are_needed(rig: Rig) -> None:
    targets = Targets.of_pose(rig, start_pose(rig)).without("Hips")
    with pytest.raises(IKError, match="all six"):
        network_of(published_tensors("published")).predict(targets)
    with pytest.raises(IKError, match="no task 'fly'"):
        Context.level(targets, task="fly")


def test_files(tmp_path: Path, rig: Rig) -> None:
    weights = published_tensors("published")
    save_ik_network(tmp_path / "net", published_header(), weights)
    back = load_ik_network(tmp_path / "net")
    targets = Targets.of_pose(rig, some_poses(rig))
    one = network_of(weights).predict(targets)
    assert np.array_equal(back.predict(targets).rotations, one.rotations)
    for name, bad, rule in (
        ("W1", weights["W1"].T.copy(), "W1"),
        ("b2", weights["b2"].astype(np.float64), "float64"),
        ("W5", weights["W1"], "W5"),
        ("b1", weights["b1"] * np.float32(np.nan), "not finite"),
    ):
        with pytest.raises(ModelFileError, match=rule):
            network_of({**weights, name: bad})
    (tmp_path / "net" / "ik_published.safetensors").write_bytes(b"no")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_ik_network(tmp_path / "net")
    with pytest.raises(ModelFileError, match=r"ik_network\.json: no such file"):
        load_ik_network(tmp_path)
