"""Progress where there is no terminal."""

from __future__ import annotations

import sys

import pytest

from ambulo.common import console
from ambulo.common.console import LINES_INTERVAL, PLAIN_INTERVAL, bars


class Clock:
    """Stands in for the module `time`."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(console, "time", found)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    return found


def test_long_work_in_a_file_is_a_line_now_and_then_and_one_at_the_end_of_each_task(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with bars(16, unit="episodes") as progress:
        policy, mapper = (progress.add_task(n, total=70) for n in ("policy", "mapper"))
        progress.advance(policy, 0)
        assert capsys.readouterr().err == "", "short work says nothing"
        clock.now += PLAIN_INTERVAL
        progress.advance(policy, 0)
        assert capsys.readouterr().err == "policy: 0 of 70 episodes, 10 s\n"
        clock.now += 0.5 * LINES_INTERVAL
        progress.advance(policy, 69)
        assert capsys.readouterr().err == ""
        progress.advance(policy, 1)
        assert capsys.readouterr().err == "policy: 70 of 70 episodes, 25 s\n"
        progress.advance(policy, 0)
        progress.advance(mapper, 10)
        assert capsys.readouterr().err == ""
        clock.now += LINES_INTERVAL
        progress.advance(mapper, 0)
        assert capsys.readouterr().err == "mapper: 10 of 70 episodes, 55 s\n"


def test_short_or_hidden_work_says_nothing(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    for shown in (True, False):
        with bars(0, shown=shown) as progress:
            task = progress.add_task("fitting", total=None)
            clock.now += 0.0 if shown else 999.0
            progress.update(task, completed=3, total=3)
    assert capsys.readouterr().err == ""
