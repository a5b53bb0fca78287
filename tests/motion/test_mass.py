"""The centre of mass: by hand, by symmetry, alike on different skeletons."""

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.motion.landmarks import end_of, heel_and_toe, rest_points
from ambulo.motion.mass import center_of_mass, mass_weights, segment_masses
from ambulo.motion.motion import Motion
from ambulo.motion.operations import mirror, transform
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import SKELETONS, load_skeleton


def still(name: str) -> Motion:
    skeleton = load_skeleton(name)
    rotations = np.tile([1.0, 0, 0, 0], (1, len(skeleton), 1))
    return Motion(skeleton, 30.0, skeleton.offsets[:1], rotations)


@pytest.mark.parametrize("name", SKELETONS)
def test_weights_are_a_mean_of_points(name):
    assert mass_weights(load_skeleton(name)).sum() == pytest.approx(1.0)


def test_height_at_rest_by_hand():
    """Each segment's height by hand, from the heights of its ends at rest."""
    data = segment_masses()
    ankle, knee, hip, shoulder = 0.0683, 0.4988, 0.9276, 1.4316
    omphalion, xiphion, neck, top = 1.0741, 1.2907, 1.4623, 1.7502
    heights = {
        "head": top + data["head"].at * (neck - top),
        "upper_trunk": neck + data["upper_trunk"].at * (xiphion - neck),
        "middle_trunk": xiphion + data["middle_trunk"].at * (omphalion - xiphion),
        "lower_trunk": omphalion + data["lower_trunk"].at * (hip - omphalion),
        "thigh": hip + data["thigh"].at * (knee - hip),
        "shank": knee + data["shank"].at * (ankle - knee),
        "foot": 0.0,
        **dict.fromkeys(("upper_arm", "forearm", "hand"), shoulder),
    }
    single = {"head", "upper_trunk", "middle_trunk", "lower_trunk"}
    expected = sum(
        data[name].mass * (1 if name in single else 2) * height
        for name, height in heights.items()
    )
    com = center_of_mass(still("human23"))[0]
    assert com[2] == pytest.approx(expected, abs=2e-3)
    assert com[1] == pytest.approx(0.0, abs=1e-12)


def test_two_bodies_of_one_build_have_one_centre():
    np.testing.assert_allclose(
        center_of_mass(still("human23")), center_of_mass(still("ik23")), atol=1e-3
    )


@pytest.mark.parametrize("name", ["cmu31", "daz43"])
def test_on_captured_skeletons_it_lies_in_the_pelvis(name):
    motion = still(name)
    com = center_of_mass(motion)[0]
    root = motion.root_positions[0]
    assert np.abs(com[:2] - root[:2]).max() < 0.05
    assert -0.05 < com[2] - root[2] < 0.2  # arms are stretched out at shoulder height


def test_it_moves_and_mirrors_with_the_body():
    motion = still("human23")
    rotations = motion.rotations.copy()
    rotations[0, motion.skeleton.index("ArmL")] = [0.0, 0.0, 0.0, 1.0]
    motion = motion.replace(rotations=rotations)
    com = center_of_mass(motion)
    assert com[0, 1] < -0.01
    np.testing.assert_allclose(
        center_of_mass(mirror(motion)), com * [1, -1, 1], atol=1e-12
    )
    moved = center_of_mass(transform(motion, yaw=np.pi, shift=(1.0, 0.0, 0.0)))
    np.testing.assert_allclose(moved, com * [-1, -1, 1] + [1, 0, 0], atol=1e-12)


def test_a_raised_arm_lifts_it_by_its_mass():
    motion = still("human23")
    rotations = motion.rotations.copy()
    half = np.pi / 4
    rotations[0, motion.skeleton.index("ArmL")] = [np.cos(half), np.sin(half), 0, 0]
    raised = center_of_mass(motion.replace(rotations=rotations))[0, 2]
    lift = raised - center_of_mass(motion)[0, 2]
    data = segment_masses()
    arm, forearm, hand = 0.2832, 0.2555, 0.189
    expected = (
        data["upper_arm"].mass * data["upper_arm"].at * arm
        + data["forearm"].mass * (arm + data["forearm"].at * forearm)
        + data["hand"].mass * (arm + forearm + data["hand"].at * hand)
    )
    assert lift == pytest.approx(expected, abs=1e-6)


def test_landmarks_of_feet_and_hands():
    skeleton = load_skeleton("human23")
    rest = rest_points(skeleton)
    heel, toe = heel_and_toe(skeleton, "left")
    np.testing.assert_allclose(rest[heel], [-0.0665, 0.0864, 0.0], atol=1e-9)
    assert rest[toe, 0] == pytest.approx(0.1995, abs=1e-9)
    finger = end_of(skeleton, skeleton.index("HandR"))
    assert rest[finger, 1] == pytest.approx(-0.9255, abs=1e-9)
    assert heel_and_toe(load_skeleton("cmu31"), "left")[0] is None
    leaf = Skeleton("leaf", ("a", "b"), (-1, 0), np.zeros((2, 3)))
    assert end_of(leaf, 1) == 1


def test_a_body_without_limbs_is_refused():
    worm = Skeleton("worm", ("root", "head"), (-1, 0), np.zeros((2, 3)))
    motion = Motion(worm, 30.0, np.zeros((1, 3)), np.tile([1.0, 0, 0, 0], (1, 2, 1)))
    with pytest.raises(MotionError, match=r"worm: no centre of mass: .*left_thigh"):
        center_of_mass(motion)
