"""What every command keeps: help, errors of one line, exit codes, a fast start."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from ambulo import cli
from ambulo.command_table import AMBULO, Row

LEAVES = dict(AMBULO.leaves())
GROUPS = {(name,): row for name, row in AMBULO.rows.items() if row.rows} | {(): AMBULO}
START = 0.3
"""Most CPU time of a help, [s]."""


def left_with(argv: Sequence[str]) -> int:
    """Return the exit code of a command, however it ends."""
    try:
        return cli.main(list(argv))
    except SystemExit as left:
        return int(left.code or 0)


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_and_bad_flags(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert left_with([*words, "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("usage: ")
    assert "--verbose" in shown.out
    assert shown.err == ""
    wrong = [*words, "--no-such-flag"]
    if words in {("sweep",), ("tune",)}:
        wrong = [*words, "vr", "quick_test", "--no-such-flag"]
    assert left_with(wrong) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ambulo: error: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_groups_list_their_commands(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    row: Row = GROUPS[words]
    assert left_with([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in row.rows)
    assert left_with([*words, "nosuch"]) == 2
    said = capsys.readouterr().err
    assert f"unknown {row.kind} 'nosuch'" in said
    assert said.count("\n") == 1


def test_a_command_of_a_group_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert left_with(["estimate"]) == 2
    assert "write ambulo gait estimate" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs times of a process")
@pytest.mark.parametrize(
    "words", [(), ("eval",), ("gait",), ("track-server",)], ids=str
)
def test_help_starts_fast(words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "ambulo.cli", *words, "--help"]
    times = []
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        times.append(used.ru_utime + used.ru_stime)
    assert min(times) <= START
