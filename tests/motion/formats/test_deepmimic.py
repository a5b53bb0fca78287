from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.deepmimic import deepmimic_skeleton
from ambulo.motion.formats.files import find_motions, read_motion
from ambulo.motion.kinematics import joint_positions, rest_positions

ONE = [1.0, 0.0, 0.0, 0.0]


def frame(**joints: list[float]) -> list[float]:
    """A frame of 44 numbers, the named parts changed."""
    parts = {
        "time": [0.033332],
        "place": [0.0, 0.9, 0.0],
        "root": ONE,
        "chest": ONE,
        "neck": ONE,
        "right_hip": ONE,
        "right_knee": [0.0],
        "right_ankle": ONE,
        "right_shoulder": ONE,
        "right_elbow": [0.0],
        "left_hip": ONE,
        "left_knee": [0.0],
        "left_ankle": ONE,
        "left_shoulder": ONE,
        "left_elbow": [0.0],
    }
    parts.update(joints)
    return [value for part in parts.values() for value in part]


def written(tmp_path: Path, frames: list[list[float]], name: str = "m.txt") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps({"Loop": "wrap", "Frames": frames}))
    return path


def test_rest_pose_in_our_axes() -> None:
    skeleton = deepmimic_skeleton()
    places = dict(zip(skeleton.joints, rest_positions(skeleton), strict=True))
    # Hips 8.5 cm beside the root, legs 0.83 m down, the left at +Y.
    np.testing.assert_allclose(places["left_ankle"], [0, 0.084887, 0.05], atol=1e-12)
    np.testing.assert_allclose(places["right_hip"][1], -0.084887)
    assert places["right_wrist"][2] < places["right_elbow"][2] < places["neck"][2]


def test_places_and_angles(tmp_path: Path) -> None:
    half = np.sqrt(0.5)
    frames = [
        frame(place=[1.0, 0.9, 3.0]),
        # Thigh forward by 90 degrees: about the file's Z, which is the right.
        frame(right_hip=[half, 0.0, 0.0, half]),
        # Knee bent by 90 degrees (the file's angle is negative): shank to the back.
        frame(right_knee=[-np.pi / 2]),
        frame(left_elbow=[np.pi / 2], time=[0.0]),
    ]
    motion = read_motion(written(tmp_path, frames))
    assert motion.fps == 30.0
    np.testing.assert_allclose(motion.root_positions[0], [1.0, -3.0, 0.9])
    places = joint_positions(motion)
    joint = motion.skeleton.index
    knee = places[1, joint("right_knee")] - places[1, joint("right_hip")]
    np.testing.assert_allclose(knee, [0.421546, 0, 0], atol=1e-12)
    ankle = places[2, joint("right_ankle")] - places[2, joint("right_knee")]
    np.testing.assert_allclose(ankle, [-0.40987, 0, 0], atol=1e-12)
    wrist = places[3, joint("left_wrist")] - places[3, joint("left_elbow")]
    np.testing.assert_allclose(wrist, [0.258947, 0, 0], atol=1e-12)


def test_only_motions_are_found(tmp_path: Path) -> None:
    written(tmp_path, [frame()])
    (tmp_path / "README.txt").write_text("notes")
    (tmp_path / "split.json").write_text('{"train": []}')
    (tmp_path / ".hidden.bvh").write_text("")
    (tmp_path / "damaged.npz").write_bytes(b"PK not a zip")
    np.savez(tmp_path / "table.npz", positions=np.zeros(3))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "A.BVH").write_text("")
    names = [p.name for p in find_motions(tmp_path)]
    assert names == ["damaged.npz", "m.txt", "A.BVH"]
    with pytest.raises(MotionFileError, match="no folder"):
        find_motions(tmp_path / "m.txt")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{", "not valid JSON"),
        ("[1]", "no list"),
        ('{"Frames": 3}', "no list"),
        ('{"Frames": []}', "no frames"),
        ('{"Frames": [[1, 2]]}', "frame 0: expected 44 numbers, got 2"),
        ('{"Frames": ["a"]}', "expected 44 numbers, got str"),
        (
            json.dumps({"Frames": [frame(), frame(neck=[2, 0, 0, 0])]}),
            "frame 1: .*length 2",
        ),
        (json.dumps({"Frames": [frame(neck=[0, 0, 0, 0])]}), "length 0"),
        (json.dumps({"Frames": [frame(time=[-0.03])]}), "above 0"),
        (
            json.dumps({"Frames": [frame(), frame(time=[0.1]), frame()]}),
            "equally spaced",
        ),
        (json.dumps({"Frames": [frame(time=[float("nan")])]}), "NaN"),
        (json.dumps({"Frames": [frame(time=[float("inf")])]}), "Infinity"),
        (json.dumps({"Frames": [frame(time=[True])]}), "'True' is not a number"),
        (json.dumps({"Frames": [frame(time=["0.1"])]}), "'0.1' is not a number"),
        (json.dumps({"Frames": [frame(place=[1e30, 0, 0])]}), "not a number"),
        ('{"Frames": [[' + "9" * 400 + "]]}", "expected 44"),
        ('{"Frames": ' + "9" * 5000 + "}", "JSON"),
        ("[" * 100000, "JSON"),
        ('{"Frames": [], "Frames": [[1]]}', "'Frames': given twice in one object"),
    ],
)
def test_broken_rules(tmp_path: Path, text: str, rule: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(MotionFileError, match=rule):
        read_motion(path)
