"""Version 1, byte for byte: sizes and bytes worked out by hand from the published text."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.rig_server import packets_v1
from ambulo.rig_server.packets import Fault, PacketError


def test_a_frame_is_253_bytes_and_little_endian() -> None:
    values = np.arange(63, dtype=np.float32)
    data = packets_v1.encode_frames(values)
    assert len(data) == 253
    assert data[0] == 0x02
    assert data[5:9] == bytes.fromhex("0000803f")  # 1.0
    found = packets_v1.decode(data)
    assert isinstance(found, packets_v1.FramesV1)
    np.testing.assert_array_equal(found.values, values[None])


def test_an_answer_is_97_bytes() -> None:
    values = np.linspace(-1, 1, 24, dtype=np.float32)
    data = packets_v1.encode_prediction(values)
    assert (len(data), data[0]) == (97, 0x03)
    np.testing.assert_array_equal(packets_v1.decode_prediction(data), values)


def test_a_batch_is_a_multiple_of_63_floats() -> None:
    values = np.ones((3, 63), np.float32)
    found = packets_v1.decode(packets_v1.encode_frames(values))
    assert isinstance(found, packets_v1.FramesV1)
    assert found.values.shape == (3, 63)


def test_set_up_is_index_length_name() -> None:
    data = (
        b"\x01"
        + struct.pack("<ii", 0, 6)
        + b"pelvis"
        + struct.pack("<ii", 1, 7)
        + b"thigh_r"
    )
    assert packets_v1.decode(data) == packets_v1.Setup(((0, "pelvis"), (1, "thigh_r")))
    assert packets_v1.encode_setup(((0, "pelvis"), (1, "thigh_r"))) == data


def test_one_byte_is_a_ping() -> None:
    assert packets_v1.decode(b"\x00") == packets_v1.Ping(0)
    assert packets_v1.decode(b"\x02") == packets_v1.Ping(2)


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", Fault.LENGTH),
        (b"\x02" + bytes(251), Fault.LENGTH),
        (b"\x02" + bytes(253), Fault.LENGTH),
        (b"\x02" + bytes(252 * 131), Fault.LENGTH),
        (b"\x03" + bytes(96), Fault.TYPE),
        (b"\x09" + bytes(20), Fault.TYPE),
        (b"\x01\x00\x00", Fault.LENGTH),
        (b"\x01" + struct.pack("<ii", 0, 0), Fault.LENGTH),
        (b"\x01" + struct.pack("<ii", 0, 300) + b"x" * 300, Fault.LENGTH),
        (b"\x01" + struct.pack("<ii", 0, 5) + b"abc", Fault.LENGTH),
        (b"\x01" + struct.pack("<ii", -1, 1) + b"a", Fault.CONTENT),
        (b"\x01" + 2 * (struct.pack("<ii", 4, 1) + b"a"), Fault.CONTENT),
    ],
)
def test_what_is_not_of_the_protocol_is_refused(data: bytes, fault: Fault) -> None:
    with pytest.raises(PacketError) as caught:
        packets_v1.decode(data)
    assert caught.value.fault == fault


@given(st.binary(max_size=600))
def test_random_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        message = packets_v1.decode(data)
    except PacketError:
        return
    if isinstance(message, packets_v1.Setup):
        assert packets_v1.decode(packets_v1.encode_setup(message.names)) == message


@given(
    st.dictionaries(
        st.integers(0, 255),
        st.text(st.characters(max_codepoint=255), min_size=1, max_size=256),
        min_size=1,
        max_size=8,
    )
)
def test_set_up_comes_back(names: dict[int, str]) -> None:
    given_names = tuple(sorted(names.items()))
    data = packets_v1.encode_setup(given_names)
    assert packets_v1.decode(data) == packets_v1.Setup(given_names)
