"""What the messages of version 2 say, there and back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ambulo.rig_server import messages
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


@given(st.integers(0, 2**64 - 1), layouts())
def test_hello_comes_back(nonce: int, layout: RigLayout) -> None:
    hello = messages.Hello(nonce, layout)
    assert messages.decode_hello(messages.encode_hello(hello)) == hello


@given(st.integers(1, 4), hnp.arrays(np.float32, (4, 63), elements=FLOAT))
def test_frames_come_back(count: int, values: np.ndarray) -> None:
    message = messages.FramesMessage(Option.LEARN | Option.PREDICT, values[:count])
    found = messages.decode_frames(messages.encode_frames(message), 63)
    assert found.options == message.options
    np.testing.assert_array_equal(found.values, values[:count])


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), FLOAT, st.booleans())
def test_status_comes_back(frames: int, dropped: int, loss: float, done: bool) -> None:
    status = messages.Status(frames, 3, dropped, loss, 1.5, 0.25, 0.5, 2.0**-10, done)
    assert messages.decode_status(messages.encode_status(status)) == status


@given(hnp.arrays(np.float32, (3, 24), elements=FLOAT), hnp.arrays(bool, (3, 2)))
def test_answers_come_back(values: np.ndarray, reached: np.ndarray) -> None:
    answer = messages.Answer(7, reached, values)
    found = messages.decode_answer(messages.encode_answer(answer), 24)
    assert found.sequence == 7
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.reached, reached)


@given(st.sampled_from(messages.ErrorCode), st.integers(0, 2**32 - 1), st.text())
def test_errors_come_back(code: messages.ErrorCode, sequence: int, text: str) -> None:
    text = text.encode(errors="ignore").decode()
    found = messages.decode_failure(
        messages.encode_failure(messages.Failure(code, sequence, text))
    )
    assert (found.code, found.sequence) == (code, sequence)
    assert text.startswith(found.text)


DECODERS: list[Callable[[bytes], object]] = [
    messages.decode_hello,
    messages.decode_welcome,
    lambda data: messages.decode_frames(data, 63),
    messages.decode_ack,
    messages.decode_status,
    lambda data: messages.decode_answer(data, 24),
    lambda data: messages.decode_next(data, 24),
    messages.decode_next_request,
    messages.decode_failure,
]


@pytest.mark.parametrize("decode", DECODERS)
@given(data=st.binary(max_size=400))
def test_random_payloads_are_decoded_or_refused(
    decode: Callable[[bytes], object], data: bytes
) -> None:
    with contextlib.suppress(PacketError):
        decode(data)


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
