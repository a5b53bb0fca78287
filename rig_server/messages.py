"""Version 2 of the rig protocol: the messages. Little endian throughout."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.rig_server.layout import MAX_NAME, RigError, RigLayout
from ambulo.rig_server.packets import MAX_PAYLOAD, Fault, PacketError

MAX_NEXT = 600
"""Largest number of frames of one free run, if they fit into a packet: see `most_next`."""


class Kind(IntEnum):
    """Types of messages; below 0x20 from clients, from there on from the server."""

    HELLO = 0x10
    FRAMES = 0x11
    STATUS_REQUEST = 0x12
    NEXT_REQUEST = 0x13
    BYE = 0x14
    PING = 0x15
    TRACK = 0x16
    TRACKERS = 0x17
    WELCOME = 0x20
    ACK = 0x21
    STATUS = 0x22
    PREDICTION = 0x23
    NEXT = 0x24
    PONG = 0x25
    ERROR = 0x26
    SKELETON = 0x27
    BODY = 0x28


class Option(IntFlag):
    """Requested processing of the frames of a message."""

    LEARN = 1
    PREDICT = 2


class Result(IntEnum):
    """Processing of frames, in an ACK."""

    LEARNED = 0
    SEEN = 1
    """Scored, but not learned: not requested, or no time."""
    REFUSED = 2
    """A value is impossible."""


class ErrorCode(IntEnum):
    """Reasons of the server's refusal."""

    UNKNOWN_SESSION = 1
    """Send HELLO again: the server has removed the client, or was restarted."""
    BAD_RIG = 2
    FULL = 3
    BAD_FRAME = 4
    NOT_READY = 5
    """Too few frames for a free run."""
    BAD_TRACKERS = 6
    """A tracker header or row breaks a rule; the text names it."""


@dataclass(frozen=True)
class Hello:
    """A client's rig; the WELCOME returns the nonce."""

    nonce: int
    layout: RigLayout


@dataclass(frozen=True)
class Welcome:
    """Confirms a client; the session is in the header."""

    nonce: int
    frames: int
    """Number of frames that the model has learned, earlier sessions included."""
    frame_size: int
    output_size: int
    converged: bool


@dataclass(frozen=True, eq=False)
class FramesMessage:
    """Frames to learn or to answer. Values (k, frame_size)."""

    options: Option
    values: NDArray[np.float32]


@dataclass(frozen=True)
class Ack:
    """Processing of the frames in the client's datagram `sequence`."""

    sequence: int
    result: Result


@dataclass(frozen=True)
class Status:
    """Quality of a model; errors are prequential and smoothed."""

    frames: int
    learned: int
    dropped: int
    loss: float
    """The published loss of the answers, [cm^2]."""
    network_loss: float
    """The same loss before chains are closed, [cm^2]."""
    position_error: float
    """Mean position error of bones, [m]."""
    angle_error: float
    """Mean angle error of bones, [rad]."""
    latency: float
    """Median time to score, answer and learn from one frame, [s]."""
    converged: bool
    share: int = 100
    """Fraction of the last 512 frames for learning that were used, [%]; for the others there
    was no time, and they are only in memory."""
    waiting: int = 0
    """Number of answered frames that wait to be learned."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Answers to the frames of the client's datagram `sequence`."""

    sequence: int
    reached: NDArray[np.bool_]
    """Whether each target was reached. Shape (k, E)."""
    values: NDArray[np.float32]
    """Local quaternions xyzw. Shape (k, 4 (B - 1))."""


@dataclass(frozen=True, eq=False)
class Next:
    """A free run: root position, root quaternion xyzw, local quaternions of each frame."""

    values: NDArray[np.float32]
    """Shape (k, 7 + 4 (B - 1))."""


@dataclass(frozen=True)
class Failure:
    """Reason why the client's datagram `sequence` could not be served."""

    code: ErrorCode
    sequence: int
    text: str


_HELLO = struct.Struct("<QfHH")
_WELCOME = struct.Struct("<QQHH?3x")
_FRAMES = struct.Struct("<HH")
_ACK = struct.Struct("<IB3x")
_STATUS = struct.Struct("<QQIfffff?BH")
_ANSWER = struct.Struct("<IHH")
_ERROR = struct.Struct("<HHI")
_SHORT = struct.Struct("<H")
_PARENT = struct.Struct("<h")


def encode_hello(hello: Hello) -> bytes:
    """Payload of HELLO."""
    layout = hello.layout
    head = (len(layout.bones), len(layout.effectors))
    parts = [_HELLO.pack(hello.nonce, layout.scale, *head), _text(layout.name)]
    for bone, parent in zip(layout.bones, layout.parents, strict=True):
        parts += [_PARENT.pack(parent), _text(bone)]
    parts += [_SHORT.pack(bone) for bone in layout.effectors]
    return b"".join(parts)


def decode_hello(payload: bytes) -> Hello:
    """The inverse of `encode_hello`; `PacketError` for a rig that breaks a rule."""
    reader = _Reader(payload)
    nonce, scale, bones, effectors = reader.values(_HELLO)
    name = reader.text()
    tree = [(reader.values(_PARENT)[0], reader.text()) for _ in range(bones)]
    ends = tuple(reader.values(_SHORT)[0] for _ in range(effectors))
    reader.finish()
    try:
        layout = RigLayout(
            name,
            tuple(bone for _, bone in tree),
            tuple(parent for parent, _ in tree),
            ends,
            # The shortest decimal of the float32: 0.01 stays 0.01.
            float(str(np.float32(scale))),
        )
    except RigError as error:
        raise PacketError(Fault.CONTENT, str(error)) from None
    return Hello(nonce, layout)


def encode_welcome(message: Welcome) -> bytes:
    """Payload of WELCOME."""
    return _WELCOME.pack(*vars(message).values())


def decode_welcome(payload: bytes) -> Welcome:
    """The inverse of `encode_welcome`."""
    return Welcome(*_only(_WELCOME, payload))


def encode_frames(message: FramesMessage) -> bytes:
    """Payload of FRAMES."""
    return _table(message.values, message.options)


def decode_frames(payload: bytes, frame_size: int) -> FramesMessage:
    """The inverse of `encode_frames` for a rig whose frames have `frame_size` numbers."""
    reader = _Reader(payload)
    count, options = reader.values(_FRAMES)
    if not count or options & ~3 or not options:
        raise PacketError(Fault.CONTENT, f"{count} frames with options {options:#x}")
    return FramesMessage(Option(options), reader.last_table(count, frame_size))


def encode_ack(message: Ack) -> bytes:
    """Payload of ACK."""
    return _ACK.pack(*vars(message).values())


def decode_ack(payload: bytes) -> Ack:
    """The inverse of `encode_ack`."""
    sequence, result = _only(_ACK, payload)
    if result not in set(Result):
        raise PacketError(Fault.CONTENT, f"no result {result}")
    return Ack(sequence, Result(result))


def encode_status(message: Status) -> bytes:
    """Payload of STATUS."""
    return _STATUS.pack(*vars(message).values())


def decode_status(payload: bytes) -> Status:
    """The inverse of `encode_status`."""
    return Status(*_only(_STATUS, payload))


def encode_answer(message: Answer) -> bytes:
    """Payload of PREDICTION."""
    count, effectors = message.reached.shape
    return (
        _ANSWER.pack(message.sequence, count, effectors)
        + np.ascontiguousarray(message.reached, np.uint8).tobytes()
        + np.ascontiguousarray(message.values, "<f4").tobytes()
    )


def decode_answer(payload: bytes, output_size: int) -> Answer:
    """The inverse of `encode_answer` for a rig with `output_size` numbers per answer."""
    reader = _Reader(payload)
    sequence, count, effectors = reader.values(_ANSWER)
    reached = np.frombuffer(reader.take(count * effectors), np.uint8) > 0
    values = reader.last_table(count, output_size)
    return Answer(sequence, reached.reshape(count, effectors), values)


def encode_next(message: Next) -> bytes:
    """Payload of NEXT."""
    return _table(message.values, 0)


def decode_next(payload: bytes, output_size: int) -> Next:
    """The inverse of `encode_next`."""
    reader = _Reader(payload)
    count, _ = reader.values(_FRAMES)
    return Next(reader.last_table(count, 7 + output_size))


def most_next(output_size: int) -> int:
    """Largest number of frames of a free run that fit into one packet."""
    return min(MAX_NEXT, (MAX_PAYLOAD - 4) // (4 * (7 + output_size)))


def encode_next_request(count: int) -> bytes:
    """Payload of NEXT_REQUEST."""
    return _SHORT.pack(count)


def decode_next_request(payload: bytes) -> int:
    """The requested number of frames, 1 to `MAX_NEXT`."""
    (count,) = _only(_SHORT, payload)
    if not 1 <= count <= MAX_NEXT:
        raise PacketError(Fault.CONTENT, f"{count} frames; 1 to {MAX_NEXT} can be had")
    return int(count)


def encode_failure(message: Failure) -> bytes:
    """Payload of ERROR."""
    text = message.text.encode()[:MAX_NAME].decode(errors="ignore").encode()
    return _ERROR.pack(message.code, len(text), message.sequence) + text


def decode_failure(payload: bytes) -> Failure:
    """The inverse of `encode_failure`."""
    reader = _Reader(payload)
    code, size, sequence = reader.values(_ERROR)
    text = reader.take(size).decode(errors="replace")
    reader.finish()
    if code not in set(ErrorCode):
        raise PacketError(Fault.CONTENT, f"no error {code}")
    return Failure(ErrorCode(code), sequence, text)


class _Reader:
    """Parses a payload; reading past its end is a `PacketError`."""

    def __init__(self, payload: bytes) -> None:
        self._payload, self._at = payload, 0

    def take(self, size: int) -> bytes:
        part = self._payload[self._at : self._at + size]
        if len(part) != size:
            raise PacketError(Fault.LENGTH, "the payload is too short")
        self._at += size
        return part

    def values(self, form: struct.Struct) -> tuple[Any, ...]:
        return form.unpack(self.take(form.size))

    def text(self) -> str:
        (size,) = self.values(_SHORT)
        if not 1 <= size <= MAX_NAME:
            raise PacketError(Fault.CONTENT, f"a name of {size} bytes")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            raise PacketError(Fault.CONTENT, "a name that is not UTF-8") from None

    def last_table(self, rows: int, columns: int) -> NDArray[np.float32]:
        """The payload's last part: numbers of shape (rows, columns)."""
        data = self.take(4 * rows * columns)
        self.finish()
        return np.frombuffer(data, "<f4").astype(np.float32).reshape(rows, columns)

    def finish(self) -> None:
        if self._at != len(self._payload):
            raise PacketError(Fault.LENGTH, "the payload is too long")


def _table(values: NDArray[np.float32], options: int) -> bytes:
    """Number of rows, options and numbers of `values` (rows, columns)."""
    values = np.ascontiguousarray(values, "<f4")
    return _FRAMES.pack(len(values), options) + values.tobytes()


def _text(text: str) -> bytes:
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def _only(form: struct.Struct, payload: bytes) -> tuple[Any, ...]:
    if len(payload) != form.size:
        raise PacketError(Fault.LENGTH, f"expected {form.size} bytes of payload")
    return form.unpack(payload)
