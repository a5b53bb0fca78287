from __future__ import annotations

import pytest

from ambulo.cli import main as ambulo
from ambulo.commands.motion_data import main


def test_the_command_is_one_of_ambulo(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        ambulo(["data", "--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert all(action in out for action in main.actions)


@pytest.mark.parametrize("action", main.actions)
def test_every_action_has_help(action: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([action, "--help"])
    assert left.value.code == 0
    assert f"ambulo data {action}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["draw"], ["info"], ["fetch", "lafan"]])
def test_wrong_usage_is_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
