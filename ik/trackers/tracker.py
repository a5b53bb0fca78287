"""A whole body from trackers, live: `BodyTracker.step` computes one pose per sample.

Every array is on human23 with the player's proportions (`ambulo.ik.trackers.shape`): world
axes, X ahead at yaw 0, Y left, Z up, metres, quaternions wxyz.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import IKError
from ambulo.ik.avatar.layout import TREE, sole
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.features import read_pose, write_inputs
from ambulo.ik.trackers.feet import FOOT, reset_foot
from ambulo.ik.trackers.fit import HOLD, fit
from ambulo.ik.trackers.guard import AGE, PLACE, SEEN, TRACKER, examine
from ambulo.ik.trackers.guard import TURN as TURN_AT
from ambulo.ik.trackers.layout import (
    FORGET,
    HEAD_ROW,
    LEFT_HAND,
    RIGHT_HAND,
    TICK,
)
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import (
    LARGEST,
    LEG,
    SMALLEST,
    BodyShape,
    ShapeEstimate,
    scale_of,
    sized_offsets,
    sized_skeleton,
)
from ambulo.ik.trackers.sizes import (
    CONTACTS,
    INPUTS,
    JOINTS,
    TRACKERS,
)
from ambulo.ik.trackers.smoothing import aim, follow, unit_rows
from ambulo.motion.fk_kernel import place_pose
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

MIN_LAG = 0.01
"""Shortest delay of the smoothing of the pose, [s]."""
LONGEST_GAP = 0.5
"""Longest pause between samples, after which the network restarts, [s]."""
HEAD_HEIGHT = 1.546
"""Height of the Head joint of human23 at rest, [m]."""
LOWEST, HIGHEST_HEAD = 0.12, 1.5
"""Plausible heights of the head over the ground, relative to a standing head: from lying to a
jump."""


class TrackerStatus(IntEnum):
    """Status of one tracker's sample."""

    OK = 0
    """Used."""
    ABSENT = 1
    """Never present, or not for `FORGET` seconds."""
    LOST = 2
    """Not present now; its last position still counts."""
    NOT_FINITE = 3
    """A number is not finite or too large; treated as lost."""
    NOT_UNIT = 4
    """Its quaternion is far from unit length; treated as lost."""
    JUMPED = 5
    """Moved impossibly fast; treated as lost until it stays there."""
    FROZEN = 6
    """Repeats the same sample while others move; treated as lost."""


class FrameStatus(IntEnum):
    """Status of a whole sample."""

    OK = 0
    """The pose belongs to this sample."""
    TIME = 1
    """Time did not increase: the last pose is repeated."""
    GAP = 2
    """The gap was too long for the network: it restarts, at once or, keeping the last pose,
    with the next head."""
    FLOOR = 3
    """The ground is implausible for this head: it was estimated."""
    NO_HEAD = 4
    """No head so far: the body stands at rest."""
    LOST = 5
    """No head for `FORGET` seconds: the pose is frozen until it returns."""


@dataclass(frozen=True, eq=False)
class BodyFrame:
    """One pose of the body. Its arrays are overwritten by the next step."""

    root: Floats
    """World position of the pelvis, [m]. Shape (3,)."""
    rotations: Floats
    """Local rotations, wxyz; the pelvis' is its orientation. Shape (23, 4)."""
    positions: Floats
    """World positions of the joints, [m]. Shape (23, 3)."""
    orientations: Floats
    """World orientations of the joints, wxyz. Shape (23, 4)."""
    contacts: Floats
    """Probability of contact of left heel, left ball, right heel, right ball. Shape (4,)."""
    statuses: NDArray[np.int64]
    """`TrackerStatus` of each tracker. Shape (6,)."""
    status: FrameStatus
    """Status of the sample."""


class BodyTracker:
    """The body of one player.

    Call `step` once per frame, at 30 to 500 Hz; the network itself runs 30 times a second.
    The same calls give the same poses, here and in the Godot add-on.
    """

    def __init__(
        self,
        network: TrackerNetwork,
        shape: BodyShape | None = None,
        *,
        smooth: bool = True,
        adapt: bool = True,
    ) -> None:
        """Prepare a body; the first `step` with a head places it.

        Args:
            network: The network.
            shape: Proportions of the player; None: of human23 with a height that follows
                from the first seconds.
            smooth: Filter the noise of the trackers.
            adapt: Let the network correct the proportions in the first seconds.
        """
        self.network = network
        self.smooth, self.adapt = smooth, adapt
        self._omega = 2.0 / max(network.lead - TICK, MIN_LAG)
        self._given = shape
        self._frame = BodyFrame(
            np.zeros(3), np.zeros((JOINTS, 4)), np.zeros((JOINTS, 3)),
            np.zeros((JOINTS, 4)), np.zeros(4), np.zeros(TRACKERS, dtype=np.int64),
            FrameStatus.OK,
        )  # fmt: skip
        self.reset()

    def reset(self) -> None:
        """Clear everything except given proportions."""
        self._estimate = ShapeEstimate(self._given)
        self._set_shape(self._estimate.ratios)
        self._forget()
        self._rest(0.0)
        self._frame.statuses[:] = TrackerStatus.ABSENT
        self._answer(FrameStatus.NO_HEAD)
        self._placed = False

    def set_shape(self, shape: BodyShape | None) -> None:
        """Set the player's proportions, and restart; None: they are estimated."""
        self._given = shape
        self.reset()

    def _forget(self) -> None:
        """Restart with the same body."""
        self._trackers = np.zeros((TRACKERS, TRACKER))
        self._used = np.zeros(TRACKERS)
        self._trackers[:, TURN_AT] = 1.0
        self._state = self.network.start()
        self._before = (
            np.zeros((TRACKERS, 3)),
            np.zeros((TRACKERS, 4)),
            np.zeros(TRACKERS),
        )
        self._inputs = np.zeros(INPUTS, dtype=np.float32)
        self._holds = np.zeros((TRACKERS, HOLD))
        self._feet = np.zeros((2, FOOT))
        for foot in self._feet:
            reset_foot(foot)
        self._roots = np.zeros((4, 1, 3))
        self._turns = np.zeros((4, JOINTS, 4))
        self._since, self._pace = 0.0, TICK
        self._contacts = np.zeros(4)
        self._began = False

    @property
    def skeleton(self) -> Skeleton:
        """Human23 with the player's proportions."""
        return sized_skeleton(self.shape)

    @property
    def shape(self) -> BodyShape:
        """The player's proportions, as far as known."""
        trunk, arm, leg = np.clip(self._estimate.ratios, SMALLEST, LARGEST).tolist()
        return BodyShape(trunk, arm, leg)

    def step(self, sample: TrackerSample, dt: float, ground: float = 0.0) -> BodyFrame:
        """Advance by `dt` and return the pose; its arrays are overwritten by the next call.

        Args:
            sample: Readings of the trackers. Faults are reported in the frame's statuses and
                never break the pose.
            dt: Time since the last sample, [s].
            ground: Height of the ground, [m].

        Raises:
            IKError: An array has another shape.
        """
        positions, turns, present = _checked(sample)
        frame = self._frame
        if not (np.isfinite(dt) and dt > 0.0):
            return self._answer(FrameStatus.TIME)
        status = FrameStatus.OK
        if dt > LONGEST_GAP and self._began:
            self._forget()
            status = FrameStatus.GAP
        used = self._used
        anew = examine(
            positions,
            turns,
            present,
            dt,
            self.smooth,
            self._trackers,
            frame.statuses,
            used,
        )
        if anew and self._began:
            seen = self._trackers.copy()
            self._forget()
            self._trackers[:] = seen
            status = FrameStatus.GAP
        if self._trackers[HEAD_ROW, SEEN] == 0.0:
            if self._placed:
                return self._answer(FrameStatus.GAP)
            self._rest(ground)
            return self._answer(FrameStatus.NO_HEAD)
        if used[HEAD_ROW] == 0.0 and self._trackers[HEAD_ROW, AGE] >= FORGET:
            return self._answer(FrameStatus.LOST)
        self._placed = True
        level, odd = self._level(ground)
        if odd and status == FrameStatus.OK:
            status = FrameStatus.FLOOR
        self._advance(used, dt, level)
        return self._answer(status)

    def _level(self, ground: float) -> tuple[float, bool]:
        """The ground height in use, [m], and whether it was estimated."""
        head = float(self._trackers[HEAD_ROW, PLACE + 2])
        height = HEAD_HEIGHT * self._scale
        given = ground if np.isfinite(ground) else head - height
        over = head - given
        if np.isfinite(ground) and LOWEST * height <= over <= HIGHEST_HEAD * height:
            return given, False
        return head - height, True

    def _advance(self, used: Floats, dt: float, ground: float) -> None:
        """Advance network, pose and feet by one frame."""
        frame, trackers = self._frame, self._trackers
        places = trackers[:, PLACE : PLACE + 3].copy()
        places[:, 2] -= ground
        turns = trackers[:, TURN_AT : TURN_AT + 4]
        self._since += dt
        if not self._began or self._since >= TICK - 0.5 * min(dt, TICK):
            self._tick(places, turns, used)
        part = min(self._since / self._pace, 1.0)
        follow(self._roots[0], self._roots[1], self._roots[2], self._roots[3], part,
               self._omega, dt)  # fmt: skip
        follow(self._turns[0], self._turns[1], self._turns[2], self._turns[3], part,
               self._omega, dt)  # fmt: skip
        frame.root[:] = self._roots[0, 0]
        unit_rows(self._turns[0], frame.rotations)
        fit(self._offsets, self._sole, 0.0, dt, places, turns, used, self._holds,
            self._contacts, self._feet, frame.root, frame.rotations, frame.positions,
            frame.orientations)  # fmt: skip
        frame.contacts[:] = self._contacts
        frame.root[2] += ground
        frame.positions[:, 2] += ground

    def _tick(self, places: Floats, turns: Floats, used: Floats) -> None:
        """Run the network on the trackers, and aim at its pose."""
        first = not self._began
        interval = TICK if first else self._since
        if first:
            self._before = (places.copy(), turns.copy(), used.copy())
        ages = np.where(used > 0.0, 0.0, self._trackers[:, AGE])
        ages[self._trackers[:, SEEN] == 0.0] = FORGET
        before = self._before
        write_inputs(places, turns, used, ages, *before, self._estimate.ratios, self._scale,
                     interval, self._inputs)  # fmt: skip
        output = self.network.step(self._inputs, self._state)
        self._before = (places, turns.copy(), used.copy())
        self._contacts = 1.0 / (
            1.0 + np.exp(-output[CONTACTS : CONTACTS + 4].astype(float))
        )
        roots, poses = self._roots, self._turns
        roots[2], poses[2] = roots[3], poses[3]
        read_pose(
            output,
            places[HEAD_ROW],
            turns[HEAD_ROW],
            self._scale,
            roots[3, 0],
            poses[3],
        )
        if first:
            for at in (0, 2):
                roots[at], poses[at] = roots[3], poses[3]
            roots[1], poses[1] = 0.0, 0.0
            self._began = True
        else:
            aim(poses[2], poses[3])
        self._pace = min(max(interval, 0.5 * TICK), 3.0 * TICK)
        self._since = 0.0
        seen = used[HEAD_ROW] > 0.0 and used[[LEFT_HAND, RIGHT_HAND]].any()
        if self.adapt and seen and self._estimate.update(output, interval):
            self._set_shape(self._estimate.ratios)

    def _set_shape(self, ratios: Floats) -> None:
        self._scale = scale_of(ratios)
        self._offsets = sized_offsets(ratios)
        self._sole = sole(load_skeleton("human23")) * ratios[LEG]

    def _rest(self, ground: float) -> None:
        """Put the body at rest at the origin."""
        frame = self._frame
        height = ground if np.isfinite(ground) else 0.0
        frame.rotations[:] = 0.0
        frame.rotations[:, 0] = 1.0
        frame.root[:] = self._offsets[0]
        frame.root[2] += height
        place_pose(TREE, None, self._offsets, frame.root, frame.rotations,
                   frame.positions, frame.orientations)  # fmt: skip
        frame.contacts[:] = 1.0

    def _answer(self, status: FrameStatus) -> BodyFrame:
        object.__setattr__(self._frame, "status", status)
        return self._frame


def _checked(sample: TrackerSample) -> tuple[Floats, Floats, Bools]:
    """Copies of the sample's arrays; `IKError` names one of another shape."""
    positions = np.array(sample.positions, dtype=np.float64)
    rotations = np.array(sample.rotations, dtype=np.float64)
    present = np.array(sample.present, dtype=np.bool_)
    for name, array, shape in (
        ("positions", positions, (TRACKERS, 3)),
        ("rotations", rotations, (TRACKERS, 4)),
        ("present", present, (TRACKERS,)),
    ):
        if array.shape != shape:
            raise IKError(
                f"tracker sample: {name}: expected {shape}, got {array.shape}"
            )
    return positions, rotations, present
