"""One client's body: rows in, bodies out in the client's axes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError
from ambulo.ik.trackers.conventions import (
    TrackerSample,
    convention,
    points_from_project,
    turns_from_project,
)
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.recording_lines import RecordingHeader
from ambulo.ik.trackers.session import BodySession
from ambulo.ik.trackers.tracker import BodyTracker, FrameStatus, TrackerStatus

MOVED = 1e-3
"""A change of a joint's offset that is sent to the client, [m]."""
REPORT_EVERY = 1.0
"""Least time between two messages about the skeleton, [s]."""
DIGITS = 6
"""Decimals of answers in text."""


class StreamsFullError(AmbuloError):
    """No place for another client."""


@dataclass(frozen=True)
class StreamConfig:
    """How a server treats its clients."""

    max_clients: int = 16
    """Most clients, of both protocols together."""
    idle_seconds: float = 60.0
    """Silence after which a client is forgotten, [s]."""
    secret: bytes = b""
    """Shared secret; empty for none."""
    origins: tuple[str, ...] = ()
    """Web pages whose WebSocket connections are taken, such as "http://localhost:8000"."""


class Places:
    """The places of all clients of a server."""

    def __init__(self, most: int) -> None:
        """Begin with `most` free places."""
        self.most, self.used = most, 0

    def take(self) -> None:
        """Take a place.

        Raises:
            StreamsFullError: None is free.
        """
        if self.used >= self.most:
            raise StreamsFullError(f"all {self.most} places are taken; try again later")
        self.used += 1

    def free(self) -> None:
        """Give a place back."""
        self.used -= 1


@dataclass(frozen=True, eq=False)
class BodyAnswer:
    """A body in the axes of the client's answers."""

    time: float
    """The row's, [s]."""
    root: Floats
    """Place of the pelvis. Shape (3,)."""
    rotations: Floats
    """Local rotations wxyz. Shape (23, 4)."""
    contacts: Floats
    """Probabilities: left heel, left ball, right heel, right ball. Shape (4,)."""
    status: FrameStatus
    """Status of the row."""
    statuses: tuple[TrackerStatus, ...]
    """Status of each tracker of the header."""
    waiting: str | None
    """Why the promised T-pose has not come; None if none is due."""


class Stream:
    """One client's body."""

    def __init__(
        self,
        network: TrackerNetwork,
        header: RecordingHeader,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin a stream with its first message."""
        self.header = header
        self._session = BodySession(network, header)
        self._axes = convention(header.answers)
        self._clock = clock
        self._reported: Floats | None = None
        self._reported_body: BodyTracker | None = None
        self._reported_at = 0.0

    def answer(self, row: TrackerSample) -> BodyAnswer:
        """Return the body of a row."""
        frame = self._session.step(row)
        return BodyAnswer(
            row.time,
            points_from_project(frame.root, self._axes),
            turns_from_project(frame.rotations, self._axes),
            frame.contacts.copy(),
            frame.status,
            tuple(TrackerStatus(frame.statuses[at]) for at in self.header.rows),
            self._session.waiting,
        )

    @property
    def parents(self) -> tuple[int, ...]:
        """Parent of each joint, -1 for the pelvis."""
        return self._session.body.skeleton.parents

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""
        return self._session.body.skeleton.joints

    @property
    def offsets(self) -> Floats:
        """Places of the joints on their parents, in the answers' axes. Shape (23, 3).

        The pelvis' is where it is at rest.
        """
        return points_from_project(self._session.body.skeleton.offsets, self._axes)

    def skeleton_changed(self) -> bool:
        """Whether the skeleton must be sent, before the body of the last row.

        So at first, when a T-pose has replaced the body, and, not too often, when the
        estimate of its size has changed.
        """
        now, body = self._clock(), self._session.body
        known = self._reported if body is self._reported_body else None
        if known is not None and now - self._reported_at < REPORT_EVERY:
            return False
        self._reported_at, self._reported_body = now, body
        offsets = body.skeleton.offsets
        if known is not None and np.abs(offsets - known).max() < MOVED:
            return False
        self._reported = offsets.copy()
        return True


def answer_text(answer: BodyAnswer) -> str:
    """The text message of a body."""
    data: dict[str, Any] = {
        "t": answer.time,
        "root": _rounded(answer.root),
        "rotations": _rounded(answer.rotations),
        "contacts": _rounded(answer.contacts),
        "status": answer.status.name.lower(),
        "trackers": [status.name.lower() for status in answer.statuses],
    }
    if answer.waiting is not None:
        data["waiting"] = answer.waiting
    return json.dumps(data, separators=(",", ":"))


def skeleton_text(stream: Stream) -> str:
    """The text message of a skeleton."""
    skeleton = {
        "joints": list(stream.joints),
        "parents": list(stream.parents),
        "offsets": _rounded(stream.offsets),
    }
    return json.dumps({"skeleton": skeleton}, separators=(",", ":"))


def error_text(error: Exception) -> str:
    """The text message of an error."""
    return json.dumps({"error": str(error)})


def _rounded(values: Floats) -> list[Any]:
    result: list[Any] = (np.round(values, DIGITS) + 0.0).tolist()
    return result
