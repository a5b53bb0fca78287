"""Replays a clip to a rig server as a game engine would, and scores what comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.motion.rotations import quat_angle, quat_rotate
from ambulo.rig_server.client import PublishedClient, RigClient, ServerSilentError
from ambulo.rig_server.frames import RigFrame, answer_rotations, floats_of
from ambulo.rig_server.kernels import root_space
from ambulo.rig_server.layout import LEGS, RigError
from ambulo.rig_server.messages import ErrorCode, Option, Status

SILENCE = 2.0
"""Time without any reply after which a client says HELLO again, [s]."""
CALVES, FEET = [2, 5], [3, 6]
"""Bones of `LEGS` whose errors are scored."""


@dataclass(eq=False)
class Replay:
    """Result of a replay of N frames."""

    frames: list[RigFrame]
    predicted: dict[int, Floats] = field(default_factory=dict)
    """Local rotations (B, 4) that the server answered, by frame."""
    delays: list[float] = field(default_factory=list)
    """Time from sending a frame to its answer, [s]."""
    statuses: list[tuple[int, Status]] = field(default_factory=list)
    """Frame and status."""
    reconnected: int = 0
    refused: int = 0

    def positions(self, index: int, *, real: bool) -> Floats:
        """World positions of the bones in frame `index`, [m]. Shape (B, 3)."""
        frame = self.frames[index]
        local = frame.rotations if real else self.predicted[index]
        inside, _ = _placed(frame, local)
        world: Floats = frame.root_position + quat_rotate(frame.root_rotation, inside)
        return world


@dataclass(frozen=True)
class Scores:
    """Errors of the answers of a replay; the calves' and the feet's of both sides."""

    frames: int
    answered: int
    first_answer: int
    """Frame of the first answer; -1 if there was none."""
    calf_cm: float
    """Distance of the calf bone (the knee) from where it was, mean, [cm]."""
    calf_p95_cm: float
    calf_deg: float
    """Angle of the calf bone's orientation from what it was, mean, [deg]."""
    foot_cm: float
    foot_deg: float
    delay_ms: float
    """Median time from sending a frame to its answer."""


def replay_v2(
    client: RigClient,
    frames: Sequence[RigFrame],
    interval: float,
    options: Option = Option.LEARN | Option.PREDICT,
    watch: Callable[[Replay], None] | None = None,
) -> Replay:
    """Send `frames` one by one; a lost server is looked for again.

    Args:
        client: A connected client.
        frames: What to send.
        interval: Time between two frames, [s]; 0: each when the last was answered.
        options: What the server shall do with them.
        watch: Called after each frame.
    """
    result = Replay(list(frames))
    sent: dict[int, tuple[int, float]] = {}
    due = heard = time.monotonic()
    for index, frame in enumerate(frames):
        sequence = client.send(floats_of(client.layout, frame), options)
        sent[sequence] = (index, time.monotonic())
        due += interval
        wait = SILENCE if interval == 0.0 else max(0.0, due - time.monotonic())
        end = time.monotonic() + wait
        while True:
            pause = max(0.0, end - time.monotonic())
            answered = _take(client, result, sent, pause, index)
            if answered:
                heard = time.monotonic()
            if answered == _LOST or time.monotonic() - heard > SILENCE:
                _reconnect(client, result)
                sent.clear()
                due = heard = time.monotonic()
                break
            if (interval == 0.0 and answered) or time.monotonic() >= end:
                break
        if watch is not None:
            watch(result)
    _take(client, result, sent, 0.2, len(frames) - 1)
    return result


_LOST = 2


def _take(
    client: RigClient,
    result: Replay,
    sent: dict[int, tuple[int, float]],
    pause: float,
    index: int,
) -> int:
    """Read replies: 0 none, 1 some, `_LOST` when the server does not know us."""
    some = 0
    for reply in client.replies(pause):
        some = max(some, 1)
        if reply.status is not None:
            result.statuses.append((index, reply.status))
        elif reply.ack is not None:
            result.refused += reply.ack.result == 2
            sent.pop(reply.ack.sequence, None)
        elif reply.answer is not None:
            match = sent.pop(reply.answer.sequence, None)
            if match is not None:
                result.predicted[match[0]] = answer_rotations(reply.answer.values[-1])
                result.delays.append(time.monotonic() - match[1])
        elif reply.failure and reply.failure.code == ErrorCode.UNKNOWN_SESSION:
            some = _LOST
        elif reply.failure and reply.failure.code == ErrorCode.BAD_RIG:
            raise RigError(f"the server refuses the stream: {reply.failure.text}")
    return some


def _reconnect(client: RigClient, result: Replay) -> None:
    try:
        client.connect(timeout=30.0)
    except ServerSilentError as error:
        raise ServerSilentError(f"{error}; it was there before") from None
    result.reconnected += 1


def replay_v1(
    client: PublishedClient,
    frames: Sequence[RigFrame],
    interval: float,
    watch: Callable[[Replay], None] | None = None,
) -> Replay:
    """Replay in version 1, whose answers do not name their frames.

    What arrives before the next frame is sent counts as that frame's; with `interval`
    0 a frame without an answer costs 20 ms of waiting.
    """
    result = Replay(list(frames))
    due = time.monotonic()
    for index, frame in enumerate(frames):
        start = time.monotonic()
        client.send(floats_of(LEGS, frame))
        due += interval
        wait = 0.02 if interval == 0.0 else max(0.0, due - time.monotonic())
        for values in client.answers(wait):
            result.predicted[index] = answer_rotations(values)
            result.delays.append(time.monotonic() - start)
        rest = due - time.monotonic()
        if interval and rest > 0.0:
            time.sleep(rest)
        if watch is not None:
            watch(result)
    return result


def scores_of(replay: Replay) -> Scores:
    """Errors of the answers of a replay of the legs."""
    if not replay.predicted:
        nan = float("nan")
        return Scores(len(replay.frames), 0, -1, nan, nan, nan, nan, nan, nan)
    distance, angle = _errors(replay)
    return Scores(
        frames=len(replay.frames),
        answered=len(distance),
        first_answer=min(replay.predicted),
        calf_cm=float(distance[:, CALVES].mean()),
        calf_p95_cm=float(np.percentile(distance[:, CALVES], 95.0)),
        calf_deg=float(angle[:, CALVES].mean()),
        foot_cm=float(distance[:, FEET].mean()),
        foot_deg=float(angle[:, FEET].mean()),
        delay_ms=1e3 * float(np.median(replay.delays)),
    )


def errors_over_time(replay: Replay) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Answered frames (A,), error of the calves (A,) [cm] and their angle (A,) [deg]."""
    distance, angle = (values[:, CALVES].mean(axis=1) for values in _errors(replay))
    return np.array(sorted(replay.predicted), np.int64), distance, angle


def _errors(replay: Replay) -> tuple[Floats, Floats]:
    """Distances [cm] and angles [deg] of the answered bones, shape (A, B) each, A > 0."""
    distances, angles = [], []
    for index, local in sorted(replay.predicted.items()):
        frame = replay.frames[index]
        positions, rotations = _placed(frame, local)
        true_positions, true_rotations = _placed(frame, frame.rotations)
        distances.append(np.linalg.norm(positions - true_positions, axis=1))
        angles.append(quat_angle(rotations, true_rotations))
    return 100.0 * np.array(distances), np.degrees(np.array(angles))


def free_run_positions(values: NDArray[np.float32], frame: RigFrame) -> Floats:
    """World bone positions of a free run of the legs, [m]. (k, 31) -> (k, 7, 3).

    Args:
        values: Root position [cm], root quaternion xyzw, local quaternions.
        frame: A frame with the bones' offsets.
    """
    result = np.empty((len(values), len(frame.offsets), 3))
    for i, row in enumerate(values):
        inside, _ = _placed(frame, answer_rotations(row[7:]))
        root = row[[6, 3, 4, 5]].astype(np.float64)
        result[i] = LEGS.scale * row[:3] + quat_rotate(root, inside)
    return result


def last_pass(replay: Replay, passes: int) -> Replay:
    """The last of `passes` equal parts of a replay."""
    start = len(replay.frames) // passes * (passes - 1)
    predicted = {i - start: q for i, q in replay.predicted.items() if i >= start}
    return Replay(replay.frames[start:], predicted)


def _placed(frame: RigFrame, local: Floats) -> tuple[Floats, Floats]:
    """Positions (B, 3) [m] and orientations (B, 4) in the root's frame."""
    bones = len(local)
    positions, turned = np.empty((bones, 3)), np.empty((bones, 4))
    parents = np.array(LEGS.parents)
    root_space(parents, frame.offsets, np.ascontiguousarray(local), positions, turned)
    return positions, turned
