"""Stop requests: the first is held, its echo is not a second, a later one exits."""

from __future__ import annotations

import signal

import pytest

from ambulo.common import signals
from ambulo.common.signals import StopRequest


def test_one_wish_sent_twice_is_one_request(caplog: pytest.LogCaptureFixture) -> None:
    with StopRequest("the frame in hand") as stop:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert stop.signal_number == signal.SIGTERM
    assert caplog.text.count("stopping after the frame in hand") == 1


def test_a_later_signal_exits_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 100.0 + signals.ECHO + 0.01))
    monkeypatch.setattr(signals.time, "monotonic", lambda: next(clock))
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(SystemExit) as left:
            signal.raise_signal(signal.SIGINT)
    assert left.value.code == 128 + signal.SIGINT
    assert stop.signal_number == signal.SIGINT
