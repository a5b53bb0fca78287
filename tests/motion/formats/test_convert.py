"""ASF/AMC to BVH against the MotionBuilder-friendly conversions of the same trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.motion.formats.files import (
    find_motions,
    read_motion,
    units_of,
    write_motion,
)
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle

TRIALS = ("01_01", "02_01", "05_11")
# Joints of the MotionBuilder-friendly BVH, and the bones that start there.
SIDE = {
    "HipJoint": "hipjoint",
    "UpLeg": "femur",
    "Leg": "tibia",
    "Foot": "foot",
    "ToeBase": "toes",
    "Shoulder": "clavicle",
    "Arm": "humerus",
    "ForeArm": "radius",
    "Hand": "wrist",
    "FingerBase": "hand",
    "HandIndex1": "fingers",
}
NAMES = {
    "Hips": "root",
    "LowerBack": "lowerback",
    "Spine": "upperback",
    "Spine1": "thorax",
    "Neck": "lowerneck",
    "Neck1": "upperneck",
    "Head": "head",
    "LHipJoint": "lhipjoint",
    "RHipJoint": "rhipjoint",
    "LThumb": "lthumb",
    "RThumb": "rthumb",
    "LFingers": "lfingers",
    "RFingers": "rfingers",
    **{f"Left{k}": f"l{v}" for k, v in SIDE.items() if k != "HipJoint"},
    **{f"Right{k}": f"r{v}" for k, v in SIDE.items() if k != "HipJoint"},
}


def world(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    places, turns = forward_kinematics(
        motion.skeleton, motion.root_positions, motion.rotations
    )
    return places, turns


@pytest.fixture(scope="module", params=TRIALS)
def pair(
    request: pytest.FixtureRequest, cmu: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Motion, Motion, Motion]:
    """The AMC, its conversion to BVH, and the MotionBuilder conversion; raw units."""
    trial = request.param
    amc = read_motion(cmu / "asfamc" / trial[:2] / f"{trial}.amc", units=1.0)
    path = tmp_path_factory.mktemp("convert") / f"{trial}.bvh"
    write_motion(path, amc, units=1.0)
    ours = read_motion(path, units=1.0)
    theirs = read_motion(
        cmu / "bvh_mb" / trial[:2] / f"{trial}.bvh", units=1.0, drop_tpose=True
    )
    return amc, ours, theirs


def test_conversion_is_exact(pair: tuple[Motion, Motion, Motion]) -> None:
    amc, ours, _ = pair
    assert ours.skeleton.joints == amc.skeleton.joints
    assert len(ours) == len(amc)
    assert ours.fps == amc.fps == 120.0
    old, new = world(amc), world(ours)
    np.testing.assert_allclose(new[0], old[0], rtol=0, atol=1e-9)
    assert np.degrees(quat_angle(new[1], old[1])).max() < 1e-6
    np.testing.assert_allclose(ours.skeleton.tips, amc.skeleton.tips, atol=1e-12)


def test_directions_equal_motionbuilder(pair: tuple[Motion, Motion, Motion]) -> None:
    _, ours, theirs = pair
    assert len(ours) == len(theirs)
    at = [ours.skeleton.index(NAMES[name]) for name in theirs.skeleton.joints]
    places, turns = world(ours)
    their_places, their_turns = world(theirs)
    # World orientations of all 31 joints. The printed angles have four decimals: along a
    # chain of seven joints with three angles each the rest adds up to some 1e-4 degrees.
    assert np.degrees(quat_angle(turns[:, at], their_turns)).max() < 1e-3
    compared = 0
    for joint, parent in enumerate(theirs.skeleton.parents):
        offset = theirs.skeleton.offsets[joint]
        if parent < 0 or not offset.any():
            continue
        mine = places[:, at[joint]] - places[:, at[parent]]
        other = their_places[:, joint] - their_places[:, parent]
        assert between(mine, other) < 1e-3
        compared += 1
    # All but those that it gives no length: the hips, the thorax's and the wrists'.
    assert compared >= 20


def between(a: np.ndarray, b: np.ndarray) -> float:
    """The largest angle between vectors (T, 3), [deg]."""
    cross = np.linalg.norm(np.cross(a, b), axis=1)
    return float(np.degrees(np.arctan2(cross, (a * b).sum(axis=1))).max())


def test_bvh_to_amc_and_back(cmu: Path, tmp_path: Path) -> None:
    motion = read_motion(cmu / "bvh_daz/02/02_01.bvh")
    write_motion(tmp_path / "a.amc", motion)
    write_motion(tmp_path / "a.bvh", read_motion(tmp_path / "a.amc"))
    again = read_motion(tmp_path / "a.bvh")
    at = [
        again.skeleton.index("root" if name == "hip" else name)
        for name in motion.skeleton.joints
    ]
    np.testing.assert_allclose(
        world(again)[0][:, at], world(motion)[0], rtol=0, atol=1e-9
    )


@pytest.mark.integration
def test_every_real_file_is_read(cmu: Path) -> None:
    found = find_motions(cmu)
    assert len(found) > 60
    assert {p.suffix for p in found} == {".amc", ".bvh"}
    for path in found:
        motion = read_motion(path, drop_tpose=True)
        assert motion.fps == 120.0
        expected = "cm" if "bvh_daz" in path.parts else "asf"
        assert units_of(path) == expected
        # Nobody stands in a hole or flies.
        assert 0.5 < np.median(motion.root_positions[:, 2]) < 2.5
        jump = quat_angle(motion.rotations[0], motion.rotations[1])
        assert np.degrees(np.median(jump)) < 3.0
