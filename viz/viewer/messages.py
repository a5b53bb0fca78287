"""Validation of windows' messages: existing controls, with values that these offer.

viser accepts any value for any attribute of its widgets from a window. A message that passes
here is of a known kind, has finite numbers, and sets only values.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from ambulo.configs.errors import AmbuloError

log = logging.getLogger(__name__)

KINDS = (
    "GuiUpdateMessage", "CommandTriggerMessage", "ViewerCameraMessage",
    "SceneNodeClickMessage", "SceneNodeDragMessage", "TransformControlsUpdateMessage",
    "TransformControlsDragStartMessage", "TransformControlsDragEndMessage",
)  # fmt: skip
"""Accepted messages of the viewer's windows; uploads, forms and tunnels are not."""
LARGEST = 1e6
"""Largest number, such as a coordinate, [m]."""


class MessageError(AmbuloError):
    """An invalid message of a window."""


class MessageGate:
    """Filters the messages of one server's windows."""

    def __init__(self) -> None:
        """Start without widgets."""
        self.widgets: Mapping[str, Any] = {}
        """viser's handles of the panel's inputs, by id; updated while panels change."""

    def guard(self, connection: Any) -> None:
        """Let `recv` of a WebSocket connection skip refused messages; one warning for each."""
        receive, warned = connection.recv, False

        async def recv() -> bytes:
            nonlocal warned
            while True:
                data = await receive()
                try:
                    passed = self.checked(data)
                except MessageError as error:
                    if not warned:
                        log.warning("message of a window refused: %s", error)
                    warned = True
                    continue
                if passed is not None:
                    return passed

        connection.recv = recv

    def checked(self, data: bytes | str) -> bytes | None:
        """Return a message for viser; None for one of a removed widget.

        Raises:
            MessageError: The message has another kind, form or value.
        """
        import msgspec
        import viser._messages

        if isinstance(data, str):
            raise MessageError("is text instead of bytes")
        try:
            message = msgspec.msgpack.decode(data)
            kind = message.pop("type")
            if kind not in KINDS:
                raise MessageError(f"{kind!r:.60}: is not a message of its controls")
            msgspec.convert(message, getattr(viser._messages, kind))
        except (
            msgspec.MsgspecError, ArithmeticError, AttributeError, LookupError,
            RecursionError, TypeError, ValueError,
        ):  # fmt: skip
            raise MessageError("is not in the form of viser's messages") from None
        for name, value in message.items():
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, int | float) and not abs(number) <= LARGEST:
                    raise MessageError(f"{kind}: {name} {number!r}: beyond {LARGEST:g}")
        if kind == "GuiUpdateMessage":
            widget = self.widgets.get(message["uuid"])
            if widget is None:
                return None
            message["updates"] = {"value": _value(widget, message["updates"])}
        return bytes(msgspec.msgpack.encode({"type": kind, **message}))


def _value(widget: Any, updates: Mapping[str, Any]) -> object:
    """Return the value that a window sets on a widget."""
    if updates.keys() != {"value"}:
        raise MessageError(f"{sorted(updates)!r:.80}: windows set the value alone")
    return offered(widget, updates["value"])


def offered(widget: Any, value: object) -> object:
    """Return the value of a viser widget for a requested one, within its limits.

    Raises:
        MessageError: The widget does not offer the value.
    """
    import viser

    if isinstance(widget, viser.GuiSliderHandle):
        if (
            isinstance(value, int | float)
            and not isinstance(value, bool)
            and not math.isnan(value)
        ):
            return min(max(float(value), float(widget.min)), float(widget.max))
        raise MessageError(f"{widget.label}: {value!r:.60} is not a number")
    if isinstance(widget, viser.GuiDropdownHandle | viser.GuiButtonGroupHandle):
        if value in widget.options:
            return value
        raise MessageError(f"{widget.label}: {value!r:.60} is not offered")
    if isinstance(value, bool):
        return value
    raise MessageError(f"{widget.label}: {value!r:.60} is neither true nor false")
