"""The avatar of the shipped gait network: how it walks, stands, turns and reaches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitParameterError, IKError, ModelFileError
from ambulo.ik.avatar.layout import ANKLE, CLAVICLES, HAND, HEAD, THIGHS, sole
from ambulo.ik.avatar.pose import AvatarPose
from ambulo.ik.avatar.sampling import bracket, pose_at
from ambulo.motion.contacts import foot_skate
from ambulo.motion.gaits.frames import orthonormal
from ambulo.motion.human23 import rotations_of_sixdof
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_angle, quat_from_rotvec, quat_rotate
from ambulo.policies.agents.avatar import load_avatar
from ambulo.policies.agents.gait_network import load_gait_network
from ambulo.shipped import locate

RATE = 90.0
EYES = 1.6
SKATE = 0.08
"""Most that feet may slide on any walk, [m/s]; the gait network's own walks reach 0.11."""


@pytest.fixture(scope="module")
def avatar() -> AvatarPose:
    return load_avatar()


def walk(
    avatar: AvatarPose, ahead: float, left: float, turn: float, seconds: float = 3.0
) -> tuple[Motion, Floats]:
    """The motion of a constant command that sets in over 0.1 s, and the path (T, 3)."""
    avatar.reset()
    place, moved, path = np.zeros(3), np.zeros(3), []
    roots, rotations = [], []
    for _ in range(round(seconds * RATE)):
        moved += (np.array([ahead, left, turn]) - moved) * (1.0 - 0.3 ** (10.0 / RATE))
        place[2] += moved[2] / RATE
        c, s = np.cos(place[2]), np.sin(place[2])
        place[:2] += (
            np.array([c * moved[0] - s * moved[1], s * moved[0] + c * moved[1]]) / RATE
        )
        gaze = [np.cos(0.5 * place[2]), 0.0, 0.0, np.sin(0.5 * place[2])]
        frame = avatar.step([*place[:2], EYES], gaze, 1.0 / RATE)
        path.append(place.copy())
        roots.append(frame.root.copy())
        rotations.append(frame.rotations.copy())
    motion = Motion(avatar.skeleton, RATE, np.array(roots), np.array(rotations))
    return motion, np.array(path)


@pytest.mark.parametrize(
    "command",
    [
        (0.3, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (1.0, 0.0, 0.8),
        (0.5, 0.0, 1.4), (0.0, 0.0, 1.57), (0.0, 0.4, 0.0), (0.0, 1.0, 0.0),
        (-0.6, 0.0, 0.0), (0.7, -0.7, 0.0),
    ],
)  # fmt: skip
def test_feet_do_not_slide_nor_sink(
    avatar: AvatarPose, command: tuple[float, float, float]
) -> None:
    motion, path = walk(avatar, *command)
    assert foot_skate(motion) < SKATE
    assert np.abs(motion.root_positions[:, :2] - path[:, :2]).max() < 0.3
    heights = motion.root_positions[:, 2]
    assert 0.8 < heights.min() <= heights.max() < 0.98
    assert np.abs(np.diff(heights)).max() < 0.03


def test_planted_feet_keep_their_place(avatar: AvatarPose) -> None:
    """Heel or ball of a foot that stands, whichever is lower, does not move at all."""
    avatar.reset()
    points = sole(avatar.skeleton)
    moved, before, stood = [], None, (False, False)
    for k in range(400):
        frame = avatar.step(
            [1.2 * k / RATE, 0.0, EYES], [1.0, 0.0, 0.0, 0.0], 1.0 / RATE
        )
        ankles = [thigh + ANKLE for thigh in THIGHS]
        now = [
            frame.positions[a] + quat_rotate(frame.orientations[a][None], points)
            for a in ankles
        ]
        stands = avatar.standing_feet
        for i in range(2):
            if before is not None and k > 150 and stands[i] and stood[i]:
                low = now[i][:, 2].argmin()
                moved.append(np.linalg.norm((now[i] - before[i])[low, :2]))
        before, stood = now, stands
    assert len(moved) > 200
    assert np.mean(moved) * RATE < 0.01


def test_it_stands_still_when_nobody_walks(avatar: AvatarPose) -> None:
    motion, _ = walk(avatar, 0.0, 0.0, 0.0, 1.0)
    assert np.ptp(motion.rotations, axis=0).max() < 1e-12
    assert avatar.standing_feet == (True, True)


def test_it_stops_on_both_feet_and_then_stands(avatar: AvatarPose) -> None:
    walk(avatar, 1.2, 0.0, 0.0, 2.0)
    x = avatar._frame.positions[HEAD, 0]
    poses = [
        avatar.step(
            [x + 0.1, 0.0, EYES], [1.0, 0.0, 0.0, 0.0], 1.0 / RATE
        ).rotations.copy()
        for _ in range(round(4.0 * RATE))
    ]
    assert avatar.standing_feet == (True, True)
    assert not avatar.stepping
    assert np.abs(np.diff(np.array(poses[-90:]), axis=0)).max() < 1e-6


def test_the_phase_goes_with_the_distance(avatar: AvatarPose) -> None:
    """At 1 m/s a cycle is as long as the table's stride; backwards the phase falls."""
    table = avatar.table
    k, t = bracket(table.speeds, 1.0)
    stride = 1.0 / (table.rates[k] + t * (table.rates[k + 1] - table.rates[k]))
    for sign in (1.0, -1.0):
        avatar.reset()
        phases = []
        for j in range(900):
            avatar.step([sign * j / RATE, 0.0, EYES], [1.0, 0.0, 0.0, 0.0], 1.0 / RATE)
            phases.append(avatar.phase)
        steps = np.diff(np.unwrap(phases, period=1.0))[300:]
        assert steps.mean() * RATE == pytest.approx(sign / stride, rel=0.01)


def test_turning_on_the_spot_takes_steps(avatar: AvatarPose) -> None:
    motion, path = walk(avatar, 0.0, 0.0, 1.57, 4.0)
    ankles = motion.rotations  # feet must have turned with the body
    assert len(ankles) == len(path)
    frame = avatar._frame
    for thigh in THIGHS:
        q = frame.orientations[thigh + ANKLE]
        yaw = 2.0 * np.arctan2(q[3], q[0])
        away = (yaw - path[-1, 2] + np.pi) % (2.0 * np.pi) - np.pi
        assert abs(away) < np.deg2rad(60.0)


def test_the_head_is_where_it_shall_be(avatar: AvatarPose) -> None:
    exact = load_avatar(prior=None, exact_head=True)
    for body, limit in ((exact, 1e-9), (avatar, 0.08)):
        body.reset()
        worst = 0.0
        for k in range(270):
            gaze = quat_from_rotvec(np.array([0.0, 0.3 * np.sin(0.1 * k), 0.0]))
            eyes = np.array([1.1 * k / RATE, 0.0, EYES - 0.1])
            frame = body.step(eyes, gaze, 1.0 / RATE)
            seen = frame.positions[HEAD] + quat_rotate(gaze, body.eyes)
            worst = max(worst, float(np.abs(seen - eyes).max())) if k > 30 else worst
            assert abs(abs(frame.orientations[HEAD] @ gaze) - 1.0) < 1e-9
        assert worst < limit


def test_hands_are_reached(avatar: AvatarPose) -> None:
    avatar.reset()
    hands = tuple(
        np.array([0.3, side * 0.2, 1.1, *quat_from_rotvec(np.array([0.2, 0.1, side]))])
        for side in (1.0, -1.0)
    )
    for _ in range(3):
        frame = avatar.step(
            [0, 0, EYES], [1, 0, 0, 0], 1.0 / RATE, hands=(hands[0], hands[1])
        )
    for clavicle, hand in zip(CLAVICLES, hands, strict=True):
        joint = clavicle + HAND
        np.testing.assert_allclose(frame.positions[joint], hand[:3], atol=1e-9)
        assert abs(abs(frame.orientations[joint] @ hand[3:]) - 1.0) < 1e-9
        elbow = frame.positions[joint - 1]
        assert elbow[2] < 0.5 * (frame.positions[joint - 2, 2] + hand[2]) + 0.1
    one = avatar.step([0, 0, EYES], [1, 0, 0, 0], 1.0 / RATE, hands=(hands[0], None))
    assert np.linalg.norm(one.positions[CLAVICLES[1] + HAND] - hands[1][:3]) > 0.1


def test_a_jump_places_it_anew(avatar: AvatarPose) -> None:
    walk(avatar, 1.0, 0.0, 0.0, 1.0)
    frame = avatar.step([50.0, 7.0, EYES], [1.0, 0.0, 0.0, 0.0], 1.0 / RATE)
    ankles = frame.positions[[thigh + ANKLE for thigh in THIGHS], :2]
    assert np.abs(ankles - [50.0, 7.0]).max() < 0.6


def test_equal_steps_give_equal_poses() -> None:
    first, second = load_avatar(prior=None), load_avatar(prior=None)
    a, b = walk(first, 0.9, 0.3, 0.5, 2.0)[0], walk(second, 0.9, 0.3, 0.5, 2.0)[0]
    np.testing.assert_array_equal(a.rotations, b.rotations)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0, np.nan], [1, 0, 0, 0], 0.1), "head: the position must be"),
        (([0, 0, 1e7], [1, 0, 0, 0], 0.1), "head: the position must be"),
        (([0, 0, 1.6], [0, 0, 0, 0], 0.1), "a quaternion above length 0"),
        (([0, 0, 1.6], [1, 0, 0], 0.1), "expected a position"),
        (([0, 0, 1.6], [1, 0, 0, 0], 0.0), "dt: must be above 0"),
        (([0, 0, 1.6], [1, 0, 0, 0], np.inf), "dt: must be above 0"),
    ],
)
def test_bad_input_is_named(
    avatar: AvatarPose, arguments: tuple[list[float], list[float], float], message: str
) -> None:
    with pytest.raises(IKError, match=message):
        avatar.step(*arguments)
    with pytest.raises(IKError, match="left hand: expected"):
        avatar.step([0, 0, EYES], [1, 0, 0, 0], 0.1, hands=(np.zeros(3), None))
    with pytest.raises(IKError, match="ground: must be within"):
        avatar.step([0, 0, EYES], [1, 0, 0, 0], 0.1, ground=np.nan)


def test_models_are_named() -> None:
    with pytest.raises(ModelFileError, match="no_such: no such gait network"):
        load_avatar("no_such")
    with pytest.raises(GaitParameterError, match="global"):
        load_avatar(prior=None, **{"global": 2.0})
    small = load_avatar(prior=None, **{"global": 0.9})
    assert small.skeleton.offsets[2, 2] == pytest.approx(-0.9 * 0.4288)


def test_the_table_says_what_the_network_says(avatar: AvatarPose) -> None:
    """Between the table's rows and columns: within 1.5 degrees in every joint."""
    network = load_gait_network(locate("gait_net"))
    space, table = network.space, avatar.table
    rng = np.random.default_rng(0)
    pose = np.empty((23, 4))
    worst = 0.0
    for share, phase in itertools.product((0.25, 0.55, 0.85), rng.random(20)):
        values = network.vector(stride=0.75 + 0.5 * share, cadence=0.75 + 0.5 * share)
        frame = orthonormal(
            network(space.normalize(values), np.array([phase])).astype(float)
        )
        wanted = np.asarray(rotations_of_sixdof(frame))[0]
        row = share * (len(table.speeds) - 1)
        k = int(row)
        pose_at(table.rotations, table.stand, k, row - k, phase, 1.0, pose)
        worst = max(worst, float(np.rad2deg(quat_angle(pose, wanted)).max()))
    assert worst < 1.5
