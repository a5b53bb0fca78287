"""What every command keeps: help, errors of one line, exit codes, a fast start."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest
from fixtures.exits import exit_code

from ambulo import cli
from ambulo.command_table import AMBULO, Row
from ambulo.common.command_line import (
    Argument,
    Command,
    Flags,
    Output,
    arguments_of,
    checked,
)
from ambulo.configs.errors import AmbuloError, ConfigError, RunFolderError

LEAVES = dict(AMBULO.leaves())
GROUPS = {(name,): row for name, row in AMBULO.rows.items() if row.rows} | {(): AMBULO}
START = 0.35
"""Most CPU time of a help, [s]."""
SLOW = ["mujoco", "numba", "pydantic", "stable_baselines3", "torch"]
"""Packages that no help waits for."""
HELPS = """
import contextlib, io, json, sys
from ambulo import cli
loaded = {}
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main([*words, "--help"])
    loaded[" ".join(words)] = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
print(json.dumps(loaded))
"""


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_and_bad_flags(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(cli.main, [*words, "--help"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("usage: ")
    assert "--verbose" in shown.out
    assert shown.err == ""
    wrong = [*words, "--no-such-flag"]
    if words in {("sweep",), ("tune",)}:
        wrong = [*words, "vr", "quick_test", "--no-such-flag"]
    assert exit_code(cli.main, wrong) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ambulo: error: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_groups_list_their_commands(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    row: Row = GROUPS[words]
    assert exit_code(cli.main, [*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in row.rows)
    assert exit_code(cli.main, [*words, "nosuch"]) == 2
    said = capsys.readouterr().err
    assert f"unknown {row.kind} 'nosuch'" in said
    assert said.count("\n") == 1


def test_a_command_of_a_group_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(cli.main, ["estimate"]) == 2
    assert "write ambulo gait estimate" in capsys.readouterr().err


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """The packages of `SLOW` that are loaded after the help of each command, in one process."""
    command = [sys.executable, "-c", HELPS, json.dumps(list(LEAVES)), json.dumps(SLOW)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_help_loads_nothing_slow(
    words: tuple[str, ...], loaded: dict[str, list[str]]
) -> None:
    assert loaded[" ".join(words)] == []


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_functions_named_as_text_take_the_flags(words: tuple[str, ...]) -> None:
    module, _, name = LEAVES[words].target.partition(":")
    command = getattr(import_module(module), name)
    if isinstance(command, Command) and isinstance(command.function, str):
        [flags, *_] = get_type_hints(command.loaded()).values()
        assert issubclass(command.flags, flags)


def flags_of(words: tuple[str, ...]) -> type[Flags]:
    """The class of the flags of a command."""
    module, _, name = LEAVES[words].target.partition(":")
    command = getattr(import_module(module), name)
    if isinstance(command, Command):
        return command.flags
    flags: type[Flags] = command.__self__.flag_class  # `main` of a training
    return flags


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_numbers_out_of_bounds_are_refused(words: tuple[str, ...]) -> None:
    """Whatever bounds a flag declares hold, and the error names the flag and the value."""
    flags = flags_of(words)
    for argument in arguments_of(flags):
        if argument.kind not in (int, float):
            continue
        rules = [mark for mark in argument.marks if callable(mark)]
        tried = [argument.kind(value) for value in ("-7", "0", "1000000000000")]
        tried += [math.nan, math.inf] if argument.kind is float else []
        wrong = [value for value in tried if any(rule(value) for rule in rules)]
        assert bool(wrong) == bool(rules), argument.name
        for value in wrong:
            shown = f"{value:g}" if argument.kind is float else value
            start = re.escape(f"{argument.spellings[0]} {shown}: ")
            with pytest.raises(ConfigError, match=f"^{start}"):
                checked(flags, {argument.name: value})


WRITTEN = {"out", "json", "picture", "film", "gif", "mp4", "video", "record", "save_config",
           "save_map", "report"}  # fmt: skip
"""Fields of flags that name a file to write, where their value is no folder or command."""
RUNS = ("train", "sweep", "tune")
"""Commands whose results belong to a run, and are written anew when it goes on."""


def is_allowed(argument: Argument, file: Path) -> bool:
    """Whether a flag takes the name of a file."""
    try:
        argument.check(str(file))
    except AmbuloError:
        return False
    return True


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_existing_files_are_replaced_only_with_force(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    flags = flags_of(words)
    files = [
        tmp_path / f"old{end}"
        for end in (".json", ".png", ".gif", ".npz", ".zip", ".mp4")
    ]
    for argument in arguments_of(flags):
        output = argument.mark(Output)
        folder = argument.arg.metavar in ("FOLDER", "DIR")
        if output is None:
            of_a_run = argument.name == "json" and words[0] in RUNS
            named = argument.name in WRITTEN and words != ("fit",)
            assert not named or folder or of_a_run
            continue
        named = next(file for file in files if is_allowed(argument, file))
        first, *beside = output.files(
            str(named.with_suffix(output.ending or named.suffix))
        )
        for file in (first, *beside):
            file.touch()
            given = {argument.name: str(first)}
            with pytest.raises(RunFolderError, match=f"{file.name}: is there already"):
                checked(flags, given)
            assert checked(flags, {**given, "force": True})
            file.unlink()
        assert checked(flags, {argument.name: str(first)})


def test_every_command_that_writes_has_force() -> None:
    for words in LEAVES:
        arguments = arguments_of(flags_of(words))
        if any(argument.mark(Output) for argument in arguments):
            assert any(argument.name == "force" for argument in arguments), words


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_json_alone_is_standard_output(words: tuple[str, ...]) -> None:
    for argument in arguments_of(flags_of(words)):
        if argument.name == "json":
            assert argument.kind is str
            assert argument.arg.bare == "-"


def test_a_flag_that_took_the_argument_after_it_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code(cli.main, ["body", "check", "--json", "robot.xml"]) == 2
    said = capsys.readouterr().err
    assert "required: BODY; --json took robot.xml: write --json last" in said
    assert not Path("robot.xml").exists()


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="needs times of a process")
@pytest.mark.parametrize("words", [(), ("eval",), ("gait",), ("fit",)], ids=str)
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
