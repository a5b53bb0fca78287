"""What the messages of version 2 say, there and back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ambulo.rig_server import messages, tracker_messages
from ambulo.rig_server.layout import LEGS, RigLayout
from ambulo.rig_server.messages import Option
from ambulo.rig_server.packets import Fault, PacketError

FLOAT = st.floats(width=32, allow_nan=False)
NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40)


@st.composite
def layouts(draw: st.DrawFn) -> RigLayout:
    bones = tuple(draw(st.lists(NAMES, min_size=2, max_size=12, unique=True)))
    parents = (-1, *(draw(st.integers(0, i)) for i in range(len(bones) - 1)))
    ends = st.lists(st.integers(1, len(bones) - 1), min_size=1, unique=True)
    scale = draw(st.sampled_from([0.01, 1.0, 0.0254, 0.5]))
    return RigLayout(draw(NAMES), bones, parents, tuple(draw(ends)), scale)


U8, U16, U32, U64 = (st.integers(0, 2**n - 1) for n in (8, 16, 32, 64))
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
trackers = tracker_messages


def floats(*shape: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float32, shape, elements=FLOAT)


def trackers_row(
    time: float, present: np.ndarray, poses: np.ndarray
) -> trackers.TrackersMessage:
    """A row as it is sent: in the range of time, zeros for a tracker not present."""
    time = min(max(time, -1e9), 1e9)
    return trackers.TrackersMessage(
        time, present, np.where(present[:, None], poses, np.float32(0.0))
    )


Message = tuple[st.SearchStrategy[Any], Callable[[Any], bytes], Callable[[bytes], Any]]
MESSAGES: dict[str, Message] = {
    "hello": (
        st.builds(messages.Hello, U64, layouts()),
        messages.encode_hello, messages.decode_hello,
    ),
    "welcome": (
        st.builds(messages.Welcome, U64, U64, U16, U16, st.booleans()),
        messages.encode_welcome, messages.decode_welcome,
    ),
    "frames": (
        st.builds(messages.FramesMessage, st.sampled_from([*Option]), floats(4, 63)),
        messages.encode_frames, lambda data: messages.decode_frames(data, 63),
    ),
    "ack": (
        st.builds(messages.Ack, U32, st.sampled_from(messages.Result)),
        messages.encode_ack, messages.decode_ack,
    ),
    "status": (
        st.builds(messages.Status, U64, U64, U32, *[FLOAT] * 5, st.booleans(), U8, U16),
        messages.encode_status, messages.decode_status,
    ),
    "answer": (
        st.builds(messages.Answer, U32, hnp.arrays(bool, (3, 2)), floats(3, 24)),
        messages.encode_answer, lambda data: messages.decode_answer(data, 24),
    ),
    "next": (
        st.builds(messages.Next, floats(2, 31)),
        messages.encode_next, lambda data: messages.decode_next(data, 24),
    ),
    "next request": (
        st.integers(1, 600), messages.encode_next_request, messages.decode_next_request,
    ),
    "failure": (
        st.builds(messages.Failure, st.sampled_from(messages.ErrorCode), U32, TEXT),
        messages.encode_failure, messages.decode_failure,
    ),
    "track": (
        st.builds(trackers.TrackHello, U64, TEXT.filter(bool)),
        trackers.encode_track, trackers.decode_track,
    ),
    "trackers": (
        st.builds(trackers_row, FLOAT, hnp.arrays(bool, 3), floats(3, 7)),
        trackers.encode_trackers, lambda data: trackers.decode_trackers(data, 3),
    ),
    "skeleton": (
        st.builds(trackers.SkeletonMessage, U64, st.just((-1, 0, 1)), floats(3, 3)),
        trackers.encode_skeleton, trackers.decode_skeleton,
    ),
    "body": (
        st.builds(
            trackers.BodyMessage, U32, FLOAT, U8, st.just((0, 2, 5)), st.booleans(),
            floats(3), floats(4), floats(5, 4),
        ),
        trackers.encode_body, trackers.decode_body,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MESSAGES)
@settings(max_examples=40)
@given(data=st.data())
def test_messages_come_back(kind: str, data: st.DataObject) -> None:
    build, encode, decode = MESSAGES[kind]
    message = data.draw(build)
    found = decode(encode(message))
    if not dataclasses.is_dataclass(message):
        assert found == message
        return
    for field in dataclasses.fields(message):
        one, other = getattr(message, field.name), getattr(found, field.name)
        np.testing.assert_array_equal(other, one, err_msg=field.name)


@pytest.mark.parametrize("kind", MESSAGES)
@settings(max_examples=60)
@given(data=st.binary(max_size=400))
def test_random_payloads_are_decoded_or_refused(kind: str, data: bytes) -> None:
    with contextlib.suppress(PacketError):
        MESSAGES[kind][2](data)


def test_a_long_text_is_cut() -> None:
    data = messages.encode_failure(
        messages.Failure(messages.ErrorCode.FULL, 3, "é" * 999)
    )
    text = messages.decode_failure(data).text
    assert 0 < len(text) < 999
    assert set(text) == {"é"}


def test_a_broken_rig_is_refused() -> None:
    good = messages.encode_hello(messages.Hello(1, LEGS))
    at = good.index(b"thigh_r") - 4
    bad = good[:at] + (5).to_bytes(2, "little") + good[at + 2 :]
    with pytest.raises(PacketError, match="parent") as caught:
        messages.decode_hello(bad)
    assert caught.value.fault == Fault.CONTENT


def test_frames_of_another_size_are_refused() -> None:
    data = messages.encode_frames(
        messages.FramesMessage(Option.LEARN, np.ones((2, 63), np.float32))
    )
    for size in (62, 64):
        with pytest.raises(PacketError):
            messages.decode_frames(data, size)
    with pytest.raises(PacketError, match="options"):
        messages.decode_frames(data[:2] + bytes([4, 0]) + data[4:], 63)
