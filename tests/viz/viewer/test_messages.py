"""What windows may send, on the widgets of a real panel."""

import asyncio
import math
from collections.abc import Iterator
from typing import Any

import pytest

from ambulo.configs.errors import AmbuloError

pytest.importorskip("viser", reason="needs ambulo[viewer]")
import msgspec
from fixtures.viewer import CAMERA, CLICK, panel_and_gate

from ambulo.viz.viewer.messages import MessageError, MessageGate
from ambulo.viz.viewer.window import stop_server


@pytest.fixture(scope="module")
def gate() -> Iterator[MessageGate]:
    server, gate = panel_and_gate()
    yield gate
    stop_server(server)


def checked(gate: MessageGate, message: object) -> Any:
    data = gate.checked(msgspec.msgpack.encode(message))
    return None if data is None else msgspec.msgpack.decode(data)


def updated(gate: MessageGate, label: str, **updates: object) -> Any:
    message = {"type": "GuiUpdateMessage", "uuid": label, "updates": updates}
    return checked(gate, message)["updates"]["value"]


@pytest.mark.parametrize(
    ("label", "value", "expected"),
    [
        ("comfort", 0.25, 0.25),
        ("comfort", 1, 1.0),
        ("comfort", 9e99, 1.0),
        ("comfort", -math.inf, 0.0),
        ("model", "stand", "stand"),
        ("speed", "0.5x", "0.5x"),
        ("follow", False, False),
        ("reset", True, True),
    ],
)
def test_values_that_are_offered_pass_and_numbers_are_clamped(
    gate: MessageGate, label: str, value: object, expected: object
) -> None:
    assert updated(gate, label, value=value) == expected


@pytest.mark.parametrize(
    ("label", "updates"),
    [
        ("comfort", {"value": math.nan}),
        ("comfort", {"value": "0.5"}),
        ("comfort", {"value": True}),
        ("model", {"value": "/etc/shadow"}),
        ("model", {"value": ["walk"]}),
        ("speed", {"value": "infx"}),
        ("follow", {"value": 1}),
        ("reset", {"update_cb": []}),
        ("reset", {"value": True, "update_cb": []}),
        ("reset", {"removed": True}),
        ("reset", {}),
    ],
)
def test_other_values_and_other_properties_are_refused(
    gate: MessageGate, label: str, updates: dict[str, object]
) -> None:
    with pytest.raises(MessageError):
        updated(gate, label, **updates)


@pytest.mark.parametrize(
    "message",
    [
        CAMERA | {"position": (math.nan, 0.0, 1.0)},
        CAMERA | {"position": (0.0, 1.0)},
        CAMERA | {"wxyz": "abcd"},
        CAMERA | {"fov": math.inf},
        CLICK | {"ray_direction": (1e300, 0.0, 0.0)},
        CLICK | {"instance_index": 2**40},
        CLICK | {"instance_index": "0"},
        CLICK | {"name": 1},
        {"type": "CommandTriggerMessage"},
        {"type": "GuiUpdateMessage", "uuid": [], "updates": {"value": 1}},
        {"type": "ShareUrlRequest"},
        {"type": "FileTransferStartUpload", "source_component_uuid": "reset"},
        {"type": "RunJavascriptMessage", "source": "1"},
        {"type": ["GuiUpdateMessage"]},
        {"uuid": "reset"},
        ["GuiUpdateMessage"],
        None,
    ],
)
def test_other_messages_are_refused(gate: MessageGate, message: object) -> None:
    with pytest.raises(MessageError) as caught:
        checked(gate, message)
    assert isinstance(caught.value, AmbuloError)
    assert len(str(caught.value).splitlines()) == 1


def test_what_is_not_msgpack_is_refused(gate: MessageGate) -> None:
    for data in (b"", b"\xc1", b"\xa1\xff", b"\x91" * 100_000, "text"):
        with pytest.raises(MessageError):
            gate.checked(data)


def test_messages_of_the_scene_pass_and_those_of_widgets_that_are_gone_do_not(
    gate: MessageGate,
) -> None:
    for message in (CAMERA, CLICK):
        plain = msgspec.msgpack.decode(msgspec.msgpack.encode(message))
        assert checked(gate, message) == plain
    gone = {"type": "GuiUpdateMessage", "uuid": "gone", "updates": {"value": 1}}
    assert checked(gate, gone) is None


def test_a_connection_skips_what_is_refused(
    gate: MessageGate, caplog: pytest.LogCaptureFixture
) -> None:
    camera = msgspec.msgpack.encode(CAMERA)
    received = [b"bad", b"worse", camera, b"bad", camera]

    class Connection:
        async def recv(self) -> bytes:
            return received.pop(0)

    async def both() -> list[bytes]:
        connection = Connection()
        gate.guard(connection)
        return [await connection.recv(), await connection.recv()]

    assert asyncio.run(both()) == [camera, camera]
    assert received == []
    assert len(caplog.records) == 1
