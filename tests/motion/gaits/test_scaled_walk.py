import numpy as np
import pytest

from ambulo.configs.gait import gait_space
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.healthy_walk import healthy_walk
from ambulo.motion.gaits.scaled_walk import gait_cycle, human23_soles
from ambulo.motion.gaits.skeleton import gait_skeleton, leg_length
from ambulo.motion.gaits.soles import sole_places
from ambulo.motion.kinematics import forward_kinematics
from ambulo.motion.operations import mirror

SPACE = gait_space("human23")


def cycle_of(**named):
    values = SPACE.vector(**named)
    return values, gait_cycle(
        SPACE, values, human23_soles(gait_skeleton(SPACE, values))
    )


def test_the_shipped_walk_is_the_one_that_ratios_count_from():
    walk = healthy_walk()
    assert walk.period == pytest.approx(1.0 / HEALTHY.cycle_rate)
    assert walk.stride[0] == pytest.approx(HEALTHY.stride_length, abs=5e-5)


def test_the_shipped_walk_is_symmetric():
    walk = healthy_walk(128)
    motion = walk.motion()
    other = mirror(motion)
    late = np.roll(other.rotations, 64, axis=0)
    dots = np.abs((late * motion.rotations).sum(axis=-1))
    assert np.rad2deg(2.0 * np.arccos(np.clip(dots, -1.0, 1.0))).max() < 0.5


@pytest.mark.parametrize(
    "named",
    [
        {"stride": 0.8, "cadence": 1.2},
        {"stride": 1.2, "global": 0.85},
        {"femur_length_left": 0.9, "tibia_length_left": 0.9},
        {"femur_torsion_left": 0.5, "femur_torsion_right": -0.5},
    ],
)
def test_stride_and_cadence_are_those_that_were_asked_for(named):
    values, cycle = cycle_of(**named)
    leg = float(leg_length(SPACE, values))
    wanted = named.get("stride", 1.0), named.get("cadence", 1.0)
    stride, cadence = HEALTHY.ratios(cycle.stride[0], 1.0 / cycle.period, leg)
    assert float(stride) == pytest.approx(wanted[0], abs=1e-6)
    assert float(cadence) == pytest.approx(wanted[1], abs=1e-6)
    # The feet do what the root does: they hardly slip in stance.
    soles = human23_soles(cycle.skeleton)
    places = sole_places(cycle, soles)
    moved = np.gradient(places[..., 0], cycle.period / len(cycle), axis=0)
    low = places[..., 2] < places[..., 2].min() + 0.005
    assert np.abs(np.median(moved[low])) < 0.1


def test_feet_follow_the_healthy_paths_where_legs_differ():
    values, cycle = cycle_of(femur_length_left=0.9)
    del values
    places, _ = forward_kinematics(
        cycle.skeleton, cycle.root_positions, cycle.rotations
    )
    left, right = (places[:, cycle.skeleton.index(f"Talus{x}")] for x in "LR")
    # Half a cycle later the other ankle is as high, though its leg is longer.
    late = np.roll(right[:, 2], 64)
    assert np.abs(left[:, 2] - late).max() < 0.01


def test_torsion_is_shared_between_hip_and_foot():
    _, straight = cycle_of()
    _, turned = cycle_of(femur_torsion_left=0.4)
    index = turned.skeleton.index("TalusL")

    def toes(cycle):
        _, turns = forward_kinematics(
            cycle.skeleton, cycle.root_positions, cycle.rotations
        )
        w, x, y, z = turns[:, index].T
        return np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))

    inward = -(toes(turned) - toes(straight))  # left: towards -Y
    assert np.median(inward) == pytest.approx(0.2, abs=0.03)
