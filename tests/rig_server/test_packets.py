"""The frame of version 2: header, checksum, tag, replay window."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.rig_server import packets
from ambulo.rig_server.packets import Fault, Packet, PacketError, ReplayWindow

PACKETS = st.builds(
    Packet,
    kind=st.integers(0, 255),
    session=st.integers(0, 2**64 - 1),
    sequence=st.integers(0, 2**32 - 1),
    payload=st.binary(max_size=300),
)


def test_the_header_by_hand() -> None:
    data = packets.encode(Packet(0x15, 0x0102030405060708, 9, b"hi"))
    assert data[:4] == b"RIG2"
    assert data[4:8] == bytes([2, 0x15, 0, 0])
    assert data[8:16] == bytes([8, 7, 6, 5, 4, 3, 2, 1])
    assert data[16:24] == bytes([9, 0, 0, 0, 2, 0, 0, 0])
    assert data[24:28] == zlib.crc32(data[:24] + b"hi").to_bytes(4, "little")
    assert data[28:] == b"hi"


@given(PACKETS, st.binary(max_size=20))
def test_packets_come_back(packet: Packet, secret: bytes) -> None:
    assert packets.decode(packets.encode(packet, secret), secret) == packet


@given(PACKETS, st.integers(0, 10**6), st.integers(1, 255))
def test_one_damaged_byte_is_noticed(packet: Packet, place: int, change: int) -> None:
    data = bytearray(packets.encode(packet))
    data[place % len(data)] ^= change
    with pytest.raises(PacketError):
        packets.decode(bytes(data))


@given(PACKETS, st.integers(0, 400))
def test_a_cut_packet_is_noticed(packet: Packet, size: int) -> None:
    data = packets.encode(packet)
    if size < len(data):
        with pytest.raises(PacketError):
            packets.decode(data[:size])
    with pytest.raises(PacketError):
        packets.decode(data + b"x")


@given(st.binary(max_size=400))
def test_random_bytes_are_refused(data: bytes) -> None:
    for candidate in (data, packets.MAGIC + data, packets.MAGIC + b"\x02" + data):
        with pytest.raises(PacketError):
            packets.decode(candidate)


def test_only_the_shared_secret_opens() -> None:
    packet = Packet(0x11, 5, 1, b"frames")
    signed = packets.encode(packet, b"our secret")
    assert len(signed) == len(packets.encode(packet)) + 16
    assert packets.decode(signed, b"our secret") == packet
    assert packets.decode(signed) == packet  # who has no secret cannot check
    for data in (packets.encode(packet), packets.encode(packet, b"another one")):
        with pytest.raises(PacketError) as caught:
            packets.decode(data, b"our secret")
        assert caught.value.fault == Fault.SECRET


def test_another_version_is_told_apart() -> None:
    data = bytearray(packets.encode(Packet(0x15, 0, 1, b"")))
    data[4] = 3
    with pytest.raises(PacketError) as caught:
        packets.decode(bytes(data))
    assert caught.value.fault == Fault.VERSION


@given(st.lists(st.integers(1, 200), max_size=300))
def test_window_never_takes_twice(numbers: list[int]) -> None:
    window, taken = ReplayWindow(), set[int]()
    newest = 0
    for number in numbers:
        fresh = number not in taken and number > newest - 64
        assert window.take(number) == fresh
        if fresh:
            taken.add(number)
        newest = max(newest, number)
