"""Tracked bodies as layers: trackers are met on the rig, faults are told, fades are fades."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.layers import RIG, STANDING, still

from ambulo.configs.arrays import Floats
from ambulo.ik.layers.blending import override
from ambulo.ik.layers.layer import LayerKind, PoseLayer, Tick
from ambulo.ik.layers.stack import LayerStack
from ambulo.ik.layers.tracked import Samples, TrackedBody
from ambulo.ik.pose import Pose, fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.ik.trackers.tracks import TrackerTrack, track_of
from ambulo.motion.gaits.generated_walks import generated_walks
from ambulo.motion.rotations import quat_angle, quat_multiply

HEAD_AND_HANDS = [TARGETS.index(name) for name in ("LeftHand", "RightHand", "Head")]
LEFT_HAND = TARGETS.index("LeftHand")


@pytest.fixture(scope="module")
def track() -> TrackerTrack:
    """Head and hands along a walk, at 60 Hz."""
    return track_of(generated_walks(60.0, 3.0)[5])


def along(track: TrackerTrack) -> Samples:
    """The newest sample of a recording at each time."""
    samples = [track.sample(k) for k in range(len(track))]

    def at(time: float) -> TrackerSample:
        return samples[min(max(int(time * track.fps + 1e-6), 0), len(samples) - 1)]

    return at


def body_of(network: TrackerNetwork, samples: Samples) -> TrackedBody:
    """A body of the rig's own proportions."""
    return TrackedBody(BodyTracker(network, BodyShape(), adapt=False), RIG, samples)


def tracked_stack(body: TrackedBody) -> LayerStack:
    """The body as base, and its trackers met by IK."""
    stack = LayerStack(RIG, body)
    stack.add(PoseLayer("trackers", LayerKind.IK, body.targets, fade_in=0.0), 0.0)
    return stack


def gaps(pose: Pose, sample: TrackerSample) -> tuple[Floats, Floats]:
    """Distances [m] and angles [rad] of head and hands to their trackers."""
    places, turns = fk(RIG, pose)
    joints = [RIG.effectors[row] for row in HEAD_AND_HANDS]
    wanted = sample.rotations[HEAD_AND_HANDS]
    away = np.linalg.norm(places[0, joints] - sample.positions[HEAD_AND_HANDS], axis=-1)
    there = quat_multiply(wanted, RIG.target_rest[HEAD_AND_HANDS])
    return away, quat_angle(turns[0, joints], there)


@pytest.mark.integration
@pytest.mark.parametrize("rate", [12.0, 30.0, 60.0, 144.0])
def test_head_and_hands_are_met_on_the_rig_at_any_tick_rate(
    rate: float, shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    samples = along(track)
    stack = tracked_stack(body_of(shipped_network, samples))
    worst = 0.0
    for k in range(1, int(2.5 * rate)):
        frame = stack.tick(k / rate)
        away, turned = gaps(frame.pose, samples(k / rate))
        worst = max(worst, float(away.max()))
        assert turned.max() < np.deg2rad(0.6), k
        assert frame.trace.of("base").reason == ""
    assert worst < 1e-3


def test_however_many_ask_the_body_steps_once_a_tick(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    steps, samples = [], along(track)
    body = body_of(shipped_network, lambda time: steps.append(time) or samples(time))  # type: ignore[func-returns-value]
    for number in (1, 2, 3):
        tick = Tick(number / 60.0, 1.0 / 60.0, number)
        pose = body(tick).value
        assert body(tick).value is pose
        body.targets(tick)
    assert steps == [1 / 60.0, 2 / 60.0, 3 / 60.0]


def test_a_sample_that_comes_late_is_one_sample(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    """Live samples: slow ticks ask several times, and get the newest each time."""
    newest = [track.sample(0)]
    body = body_of(shipped_network, lambda time: newest[0])
    alone = BodyTracker(shipped_network, BodyShape(), adapt=False)
    body(Tick(0.0, 0.0, 1))
    alone.step(newest[0], 1.0 / 60.0)
    for number in range(1, 15):
        newest[0] = track.sample(6 * number)
        body(Tick(0.1 * number, 0.1, number + 1))
        alone.step(newest[0], 0.1)
    np.testing.assert_allclose(body.frame.positions, alone._frame.positions, atol=1e-9)


def test_half_the_weight_is_half_way_and_released_it_is_the_base(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    body, alone = (body_of(shipped_network, along(track)) for _ in range(2))
    stack = LayerStack(RIG, still(STANDING), limits=False)
    layer = PoseLayer("body", LayerKind.OVERRIDE, body, weight=0.5, fade_in=0.2)
    handle = stack.add(layer, 0.0)
    for number in range(1, 41):
        now = number / 60.0
        frame = stack.tick(now)
        pose = alone(Tick(now, 1.0 / 60.0, number)).value
        assert isinstance(pose, Pose)
        level = 0.5 * min(now / 0.2, 1.0)
        halfway = override(STANDING, pose, np.full(len(RIG), level))
        np.testing.assert_allclose(frame.pose.root, halfway.root, atol=1e-9)
        np.testing.assert_allclose(frame.pose.rotations, halfway.rotations, atol=1e-9)
    middle = 0.5 * (STANDING.root + pose.root)
    np.testing.assert_allclose(frame.pose.root, middle, atol=1e-9)
    handle.release(now, 0.1)
    stack.tick(now + 0.05)
    assert handle.active
    frame = stack.tick(now + 0.11)
    assert not handle.active
    np.testing.assert_array_equal(frame.pose.rotations, STANDING.rotations)
    np.testing.assert_array_equal(frame.pose.root, STANDING.root)


def test_bad_samples_are_told_in_the_trace_and_break_nothing(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    samples, fault = along(track), [""]

    def faulty(time: float) -> TrackerSample | None:
        sample = samples(time)
        places, turns = sample.positions.copy(), sample.rotations.copy()
        if fault[0] == "raise":
            raise OSError("the headset is gone")
        if fault[0] == "none":
            return None
        if fault[0] == "shape":
            return TrackerSample(places[:2], turns, sample.present)
        if fault[0] == "nan":
            places[LEFT_HAND, 1] = np.nan
        if fault[0] == "unit":
            turns[LEFT_HAND] *= 9.0
        if fault[0] == "jump":
            places[LEFT_HAND] += 5.0
        return TrackerSample(places, turns, sample.present)

    body = body_of(shipped_network, faulty)
    stack, number, told, turns = tracked_stack(body), 0, {}, []
    before = stack.tick(0.0).pose
    faults = ("", "nan", "", "unit", "", "jump", "", "none", "", "raise", "shape", "")
    for what in faults:
        fault[0] = what
        for _ in range(6):
            number += 1
            frame = stack.tick(number / 60.0)
            turns.append(quat_angle(before.rotations, frame.pose.rotations).max())
            before = frame.pose
        told[what] = frame.trace.of("base").reason
        assert frame.trace.of("trackers").reason == told[what]
        assert np.isfinite(frame.pose.rotations).all()
    assert told[""] == ""
    assert told["nan"] == "LeftHand not finite"
    assert told["unit"] == "LeftHand not unit"
    assert told["jump"] == "LeftHand jumped"
    assert told["none"] == "LeftHand lost, RightHand lost, Head lost"
    assert told["raise"].endswith("samples: OSError: the headset is gone")
    assert "positions: expected (6, 3), got (2, 3)" in told["shape"]
    assert max(turns) < np.deg2rad(40.0)


def test_without_a_head_there_is_no_pose(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    samples = along(track)

    def late(time: float) -> TrackerSample | None:
        return samples(time) if time > 0.2 else None

    stack = LayerStack(RIG, still(STANDING))
    handle = stack.add(
        PoseLayer(
            "body", LayerKind.OVERRIDE, body_of(shipped_network, late), fade_in=0.0
        ),
        0.0,
    )
    frame = stack.tick(0.1)
    assert "never been a head" in handle.reason
    assert frame.trace.of("body").weight == 0.0
    np.testing.assert_array_equal(frame.pose.root, STANDING.root)
    assert stack.tick(0.3).trace.of("body").weight == 1.0


def test_a_base_changes_to_and_from_a_tracked_body_without_a_jump(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    stack = LayerStack(RIG, still(STANDING))
    body, roots = body_of(shipped_network, along(track)), []
    for number in range(1, 121):
        if number == 20:
            stack.set_base(body, 0.4)
        if number == 70:
            stack.set_base(still(STANDING), 0.4)
        roots.append(stack.tick(number / 60.0).pose.root[0])
    speeds = 60.0 * np.linalg.norm(np.diff(roots, axis=0), axis=1)
    assert speeds.max() < 8.0
    np.testing.assert_array_equal(roots[-1], STANDING.root[0])


def test_a_body_that_is_reset_is_as_new(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    body, poses = body_of(shipped_network, along(track)), []
    for _ in range(2):
        for number in range(1, 20):
            pose = body(Tick(number / 60.0, 1.0 / 60.0, number)).value
        assert isinstance(pose, Pose)
        poses.append(pose)
        body.reset()
    np.testing.assert_array_equal(poses[0].rotations, poses[1].rotations)
    np.testing.assert_array_equal(poses[0].root, poses[1].root)


def test_the_ground_may_change_with_the_time(
    shipped_network: TrackerNetwork, track: TrackerTrack
) -> None:
    up, samples = np.array([0.0, 0.0, 3.0]), along(track)

    def raised(time: float) -> TrackerSample:
        sample = samples(time)
        return TrackerSample(sample.positions + up, sample.rotations, sample.present)

    tracker = BodyTracker(shipped_network, BodyShape(), adapt=False)
    high = TrackedBody(tracker, RIG, raised, ground=lambda time: 3.0)
    low = body_of(shipped_network, samples)
    for number in range(1, 30):
        tick = Tick(number / 60.0, 1.0 / 60.0, number)
        a, b = high(tick), low(tick)
        assert a.note == ""
    assert isinstance(a.value, Pose)
    assert isinstance(b.value, Pose)
    np.testing.assert_allclose(a.value.root - up, b.value.root, atol=1e-4)
