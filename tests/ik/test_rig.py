"""The rig: its file, its rules, poses and targets of it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import AmbuloError, IKError
from ambulo.ik.pose import Pose, fk, pose_of, start_pose
from ambulo.ik.rig import TARGETS, load_rig
from ambulo.ik.solver.features import root_frame, to_frame
from ambulo.ik.solver.targets import Targets
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.rotations import quat_from_yaw, quat_multiply

RIG = load_rig()


def data() -> dict[str, object]:
    text = files("ambulo.configs.rigs").joinpath("ik23.json").read_text("utf-8")
    return json.loads(text)


def test_ik23_has_the_published_effectors() -> None:
    assert len(RIG) == 23
    assert [RIG.skeleton.joints[j] for j in RIG.effectors] == list(TARGETS)
    arm, forearm = RIG.skeleton.index("LeftForeArm"), RIG.skeleton.index("LeftHand")
    length = np.linalg.norm(RIG.skeleton.offsets[[arm, forearm]], axis=1).sum()
    assert RIG.reaches[0] == pytest.approx(length)
    assert RIG.reaches[0] == RIG.reaches[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"skeleton": "ik24"}, "did you mean 'ik23'"),
        ({"targets": {}}, "targets must name LeftHand"),
        ({"limits": {"LeftArn": {}}}, "did you mean 'LeftArm'"),
        ({"limits": {"LeftArm": {"twist": [10, 20]}}}, "-180 <= low <= 0 <= high"),
        (
            {"limits": {"LeftArm": {"swing": {"x": [0, 9], "z": [9, 9]}}}},
            "greater than 0",
        ),
        ({"limits": {"Hips": {"twist": [-1, 1]}}}, "the root has no limits"),
        ({"unknown": 1}, "unknown key 'unknown'"),
    ],
)
def test_bad_files_are_one_line(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    path = tmp_path / "rig.json"
    path.write_text(json.dumps({**data(), **change}))
    with pytest.raises(AmbuloError, match=said) as error:
        load_rig(str(path))
    assert "\n" not in str(error.value)


def test_a_base_must_carry_its_target(tmp_path: Path) -> None:
    changed = data()
    changed["targets"]["LeftHand"]["base"] = "RightArm"  # type: ignore[index]
    path = tmp_path / "rig.json"
    path.write_text(json.dumps(changed))
    with pytest.raises(AmbuloError, match="does not hang on its base"):
        load_rig(str(path))


def test_a_skeleton_file_lies_beside_the_rig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the command runs; `source` may be left out."""
    text = files("ambulo.configs.skeletons").joinpath("ik23.json").read_text("utf-8")
    skeleton = {k: v for k, v in json.loads(text).items() if k != "source"}
    (tmp_path / "rigs").mkdir()
    (tmp_path / "rigs" / "bones.json").write_text(json.dumps(skeleton))
    mine = {**data(), "skeleton": "bones.json"}
    (tmp_path / "rigs" / "mine.json").write_text(json.dumps(mine))
    monkeypatch.chdir(tmp_path)
    rig = load_rig("rigs/mine.json")
    assert rig.skeleton.joints == load_rig().skeleton.joints


def test_start_pose_stands_where_it_is_told() -> None:
    pose = start_pose(RIG, [[2.0, -1.0]], [0.5 * np.pi])
    still = start_pose(RIG)
    p, _ = fk(RIG, pose)
    q, _ = fk(RIG, still)
    turned = np.stack([-q[0, :, 1] + 2.0, q[0, :, 0] - 1.0, q[0, :, 2]], axis=-1)
    np.testing.assert_allclose(p[0], turned, atol=1e-12)


def test_fk_is_the_skeletons_and_motion_comes_back() -> None:
    pose = start_pose(RIG, [[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0])
    wanted = forward_kinematics(RIG.skeleton, pose.root, pose.rotations)
    found = fk(RIG, pose)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    again = pose_of(pose.motion(RIG, 30.0), RIG)
    np.testing.assert_array_equal(again.rotations, pose.rotations)


def test_root_frame_of_the_start_pose_is_its_yaw() -> None:
    pose = start_pose(RIG, [[2.0, -1.0]], [2.5])
    targets = Targets.of_pose(RIG, pose)
    origin, yaw = root_frame(RIG, targets)
    np.testing.assert_allclose(origin, [[2.0, -1.0, 0.0]], atol=1e-12)
    assert yaw[0] == pytest.approx(2.5)


def test_root_frame_without_hips_is_the_heads() -> None:
    pose = start_pose(RIG, [[2.0, -1.0]], [2.5])
    targets = Targets.of_pose(RIG, pose).without("Hips")
    origin, yaw = root_frame(RIG, targets)
    np.testing.assert_array_equal(origin[0, :2], targets.positions[0, 4, :2])
    assert yaw[0] == pytest.approx(2.5, abs=0.2)
    hands = targets.only("LeftHand", "RightHand")
    np.testing.assert_allclose(
        root_frame(RIG, hands)[0][0, :2], targets.positions[0, :2, :2].mean(axis=0)
    )
    origin, yaw = root_frame(RIG, targets.only())
    assert (origin == 0.0).all()
    assert yaw[0] == 0.0


def test_frame_turns_with_the_world() -> None:
    """The same pose, moved on the ground and turned, is the same in its frame."""
    pose = start_pose(RIG)
    targets = Targets.of_pose(RIG, pose)
    turn, way = 1.1, np.array([3.0, -2.0, 0.0])
    q = quat_from_yaw(np.array(turn))
    c, s = np.cos(turn), np.sin(turn)
    x, y, z = np.moveaxis(targets.positions, -1, 0)
    moved = np.stack([c * x - s * y, s * x + c * y, z], axis=-1) + way
    ones = np.ones((1, 6))
    other = Targets(moved, quat_multiply(q, targets.rotations), ones, ones)
    for found, wanted in zip(
        to_frame(*root_frame(RIG, other), other.positions, other.rotations),
        to_frame(*root_frame(RIG, targets), targets.positions, targets.rotations),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def arrays() -> list[np.ndarray]:
    targets = Targets.of_pose(RIG, start_pose(RIG, [[0.0, 0.0], [1.0, 0.0]]))
    return [
        targets.positions.copy(),
        targets.rotations.copy(),
        targets.position_weights.copy(),
        targets.rotation_weights.copy(),
    ]


@pytest.mark.parametrize(
    ("which", "value", "said"),
    [
        (0, np.nan, "character 1, LeftFoot: the position must be finite"),
        (0, np.inf, "character 1, LeftFoot: the position must be finite"),
        (0, 1e30, "character 1, LeftFoot: the position must be .* within 1e6 m"),
        (0, -1.1e6, "character 1, LeftFoot: the position must be .* within 1e6 m"),
        (1, np.nan, "character 1, LeftFoot: the rotation must be finite"),
        (1, 0.0, "character 1, LeftFoot: the rotation is a quaternion of length 0"),
        (2, -0.5, "character 1, LeftFoot: weights must be from 0 to 1"),
        (3, np.nan, "character 1, LeftFoot: weights must be from 0 to 1"),
    ],
)
def test_bad_targets_name_their_row(which: int, value: float, said: str) -> None:
    parts = arrays()
    parts[which][1, 2] = value
    with pytest.raises(IKError, match=said):
        Targets(*parts)


@pytest.mark.parametrize("place", [(0.0, 1.0), "abc", np.zeros((2, 3)), None, [[1], 2]])
def test_values_of_another_shape_name_their_target(place: Any) -> None:
    with pytest.raises(IKError, match="Head: the position must be 3 numbers, got"):
        Targets.of({"Head": place})
    with pytest.raises(IKError, match="Head: the rotation must be 4 numbers, got"):
        Targets.of(rotations={"Head": place})


def test_a_weight_of_another_shape_names_its_target() -> None:
    heavy: Any = {"Head": (1.0, 2.0)}
    with pytest.raises(IKError, match="Head: the weight must be a number, got"):
        Targets.of({"Head": (0.0, 0.0, 1.5)}, weights=heavy)


def test_absent_values_are_not_looked_at() -> None:
    parts = arrays()
    parts[0][0, 3] = np.nan
    parts[1][0, 3] = np.nan
    parts[2][0, 3] = parts[3][0, 3] = 0.0
    targets = Targets(*parts)
    assert (targets.positions[0, 3] == 0.0).all()
    np.testing.assert_array_equal(targets.rotations[0, 3], [1.0, 0.0, 0.0, 0.0])


def test_rotations_are_brought_to_unit_length() -> None:
    parts = arrays()
    parts[1] *= 3.0
    lengths = np.linalg.norm(Targets(*parts).rotations, axis=-1)
    np.testing.assert_allclose(lengths, 1.0, atol=1e-15)


def test_targets_by_name() -> None:
    targets = Targets.of({"Head": (0.0, 0.0, 1.6)}, {"Head": (2.0, 0.0, 0.0, 0.0)})
    assert targets.position_weights[0].tolist() == [0, 0, 0, 0, 1, 0]
    assert targets.positions[0, 4].tolist() == [0.0, 0.0, 1.6]
    with pytest.raises(IKError, match="did you mean 'Head'"):
        Targets.of({"Haed": (0.0, 0.0, 1.6)})
    left = Targets(*arrays()).without("Hips", "Head")
    assert left.position_weights[0].tolist() == [1, 1, 1, 1, 0, 0]


def test_shapes_are_told() -> None:
    with pytest.raises(IKError, match=r"expected shape \(B, 6, 3\), got \(2, 5, 3\)"):
        Targets(
            np.zeros((2, 5, 3)), np.zeros((2, 5, 4)), np.ones((2, 5)), np.ones((2, 5))
        )
    with pytest.raises(IKError, match="pose: rotations"):
        Pose(np.zeros((2, 3)), np.zeros((1, 23, 4)))
