"""Attacks on the viewer: what windows send to it."""

from __future__ import annotations

import importlib.util
import json
import random
from typing import Any

from fixtures.viewer import CAMERA, CLICK, OFFERED, panel_and_gate
from fuzz.mutations import NUMBERS, TEXTS, bytes_of, json_of

UPDATE = {"type": "GuiUpdateMessage", "uuid": "comfort", "updates": {"value": 0.5}}


def viewer_targets() -> list[ViewerTarget]:
    """Return the ways into a viewer; none where viser is not installed."""
    return [ViewerTarget()] if importlib.util.find_spec("viser") else []


class ViewerTarget:
    """Messages of windows."""

    name = "viewer messages"

    def __init__(self) -> None:
        """Serve a panel with a widget of each kind."""
        self._server, self._gate = panel_and_gate()

    def whole(self) -> None:
        """Send a valid message of each kind."""
        for message in (CAMERA, CLICK, UPDATE):
            self.run(_packed(message))

    def make(self, rng: random.Random) -> bytes:
        """Damage a message: its fields, a value or any bytes."""
        kind = rng.random()
        if kind < 0.5:
            value = rng.choice((*NUMBERS, *TEXTS, True, None, [0.5], {"value": 1}))
            key = rng.choice(("value", "value", "update_cb", "removed", "value2"))
            label = rng.choice(list(self._gate.widgets))
            message: Any = UPDATE | {"uuid": label, "updates": {key: value}}
        else:
            plain = json.loads(json.dumps(rng.choice((CAMERA, CLICK, UPDATE))))
            message = json_of(rng, plain)
        try:
            data = _packed(message)
        except (TypeError, OverflowError, UnicodeError):  # msgpack cannot hold it
            return bytes_of(rng, _packed(CAMERA))
        return bytes_of(rng, data) if rng.random() < 0.2 else data

    def run(self, case: bytes) -> None:
        """Let it through the gate; what passes sets nothing but what is offered."""
        import msgspec

        passed = self._gate.checked(case)
        if passed is None:
            return
        message = msgspec.msgpack.decode(passed)
        if message["type"] != UPDATE["type"]:
            return
        value = message["updates"].pop("value")
        label = message["uuid"]
        assert not message["updates"]
        if label == "comfort":
            assert 0.0 <= value <= 1.0
        else:
            assert value in OFFERED.get(label, (True, False))


def _packed(message: object) -> bytes:
    import msgspec

    return bytes(msgspec.msgpack.encode(message))
