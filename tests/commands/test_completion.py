"""`ambulo completion`: the scripts work in the shells themselves."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from ambulo import cli
from ambulo.command_table import AMBULO, TRAIN
from ambulo.commands.completion import SHELLS, command_tree
from ambulo.configs.presets import preset_folders
from ambulo.configs.trainings import folder_of

CASES = {
    "ambulo tr": {"train", "track", "track-server"},
    "ambulo train tr": {"track", "trackers"},
    "ambulo train vr --preset qu": {"quick_test"},
    "ambulo eval vr_": {"vr_comfort", "vr_navigation"},
    "ambulo data c": {"convert"},
    "ambulo completion ": set(SHELLS),
    "ambulo eval vr_navigation --level-s": {"--level-set"},
}
"""A command line and what its last word completes to."""
BASH = """
source "$1"
COMP_WORDS=($2)
[[ $2 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
function=$(complete -p ambulo | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = 'source $argv[1]; complete -C "$argv[2]"'


@pytest.fixture(scope="module")
def tree() -> argparse.ArgumentParser:
    return command_tree()


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The script of each shell, made by the command."""
    pytest.importorskip("shtab", reason="needs the extra completion")
    folder = tmp_path_factory.mktemp("completion")
    files = {shell: folder / f"ambulo.{shell}" for shell in SHELLS}
    for shell, file in files.items():
        with pytest.MonkeyPatch.context() as patch, file.open("w") as stream:
            patch.setattr("sys.stdout", stream)
            assert cli.main(["completion", shell]) == 0
    return files


def shell_program(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"no {name} on this machine")
    return program


def answer(command: list[str]) -> set[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {line.split("\t")[0].strip() for line in done.stdout.splitlines() if line}


def test_tree_holds_every_command_with_its_flags(tree: argparse.ArgumentParser) -> None:
    (rows,) = (a for a in tree._actions if isinstance(a, argparse._SubParsersAction))
    assert list(rows.choices) == list(AMBULO.rows)
    (kinds,) = (
        action
        for action in rows.choices["train"]._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert list(kinds.choices) == list(TRAIN.rows)
    for name, parser in kinds.choices.items():
        flags = {flag for action in parser._actions for flag in action.option_strings}
        assert {"--preset", "--resume", "--set"} <= flags, name
        (preset,) = (a for a in parser._actions if a.dest == "preset")
        assert preset.choices == list(preset_folders()[folder_of(name) or ""])


def test_making_the_tree_runs_no_command(
    tree: argparse.ArgumentParser, capsys: pytest.CaptureFixture[str]
) -> None:
    command_tree()
    assert capsys.readouterr() == ("", "")
    assert cli.main(["presets"]) == 0  # and afterwards commands run again
    assert "vr/quick_test" in capsys.readouterr().out


@pytest.mark.parametrize(("line", "expected"), CASES.items())
def test_bash_completes(
    line: str, expected: set[str], scripts: dict[str, Path], tmp_path: Path
) -> None:
    program = tmp_path / "ask.sh"
    program.write_text(BASH, encoding="utf-8")
    bash = shell_program("bash")
    assert answer([bash, str(program), str(scripts["bash"]), line]) == expected


@pytest.mark.parametrize(("line", "expected"), CASES.items())
def test_fish_completes(
    line: str, expected: set[str], scripts: dict[str, Path]
) -> None:
    fish = shell_program("fish")
    assert answer([fish, "-N", "-c", FISH, str(scripts["fish"]), line]) == expected


def test_zsh_reads_its_script(scripts: dict[str, Path]) -> None:
    subprocess.run([shell_program("zsh"), "-n", str(scripts["zsh"])], check=True)
