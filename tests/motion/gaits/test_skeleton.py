import numpy as np
import pytest

from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.skeleton import (
    gait_skeleton,
    leg_length,
    leg_lengths,
    mass_factors,
)
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.rotations import quat_rotate
from ambulo.motion.skeletons import load_skeleton

SPACE = gait_space("human23")


def test_the_healthy_body_is_the_canonical_skeleton():
    base, made = load_skeleton("human23"), gait_skeleton(SPACE, SPACE.default)
    np.testing.assert_allclose(made.offsets, base.offsets, atol=1e-12)
    np.testing.assert_allclose(made.rest, base.rest)
    assert float(leg_length(SPACE, SPACE.default)) == pytest.approx(
        HEALTHY.leg_length, abs=1e-9
    )


def test_lengths_are_those_that_were_asked_for():
    values = SPACE.vector(
        **{"global": 0.9}, femur_length_left=0.95, forearm_length_right=0.9
    )
    base, made = load_skeleton("human23"), gait_skeleton(SPACE, values)

    def ratio(joint: str) -> float:
        i = base.index(joint)
        return float(np.linalg.norm(made.offsets[i]) / np.linalg.norm(base.offsets[i]))

    assert ratio("TibiaL") == pytest.approx(0.9 * 0.95)
    assert ratio("TibiaR") == pytest.approx(0.9)
    assert ratio("HandR") == pytest.approx(0.9 * 0.9)
    assert ratio("Torso") == pytest.approx(0.9)
    np.testing.assert_allclose(made.tips, 0.9 * base.tips)
    left, right = leg_lengths(SPACE, values)
    assert left == pytest.approx(0.9 * (0.95 * 0.4288 + 0.4305))
    assert right == pytest.approx(0.9 * (0.4288 + 0.4305))


def test_the_longer_leg_stands_on_the_ground():
    values = SPACE.vector(femur_length_left=0.9, tibia_length_left=0.9)
    made = gait_skeleton(SPACE, values)
    heights = rest_positions(made)[:, 2]
    base = rest_positions(load_skeleton("human23"))[:, 2]
    right, left = made.index("TalusR"), made.index("TalusL")
    assert heights[right] == pytest.approx(base[right])
    assert heights[left] > heights[right] + 0.08


def test_torsion_turns_the_foot_inwards_on_both_sides():
    values = SPACE.vector(femur_torsion_left=0.3, femur_torsion_right=0.3)
    made = gait_skeleton(SPACE, values)
    ahead = np.array([1.0, 0.0, 0.0])
    left = quat_rotate(made.rest[made.index("TibiaL")], ahead)
    right = quat_rotate(made.rest[made.index("TibiaR")], ahead)
    assert left[1] == pytest.approx(-np.sin(0.3))  # the left leg is at +Y
    assert right[1] == pytest.approx(np.sin(0.3))


def test_mass_goes_with_volume():
    factors = mass_factors(SPACE, SPACE.vector(**{"global": 0.9}, arm_length_left=0.9))
    assert factors["Pelvis"] == pytest.approx(0.729)
    assert factors["ArmL"] == pytest.approx(0.729 * 0.9)
    assert factors["ArmR"] == pytest.approx(0.729)
