"""Where results go: the folder of a report, JSON to a file or the screen, wide tables."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ambulo.common.files import write_or_print
from ambulo.common.tables import MIN_WIDTH, widen
from ambulo.configs.errors import RunFolderError
from ambulo.evaluate.shared.output_folder import made_folder


def test_a_report_folder_goes_again_when_the_work_fails(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "evaluation"
    with pytest.raises(ValueError, match="work"), made_folder(folder):
        raise ValueError("work")
    assert not folder.exists()
    with made_folder(folder):
        (folder / "report.html").touch()
    with pytest.raises(ValueError, match="work"), made_folder(folder):
        raise ValueError("work")
    assert [file.name for file in folder.iterdir()] == ["report.html"]


def test_a_report_folder_that_cannot_be_made_is_told_before_the_work(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(RunFolderError, match="choose another folder with --output"),
        made_folder(tmp_path / "file" / "evaluation"),
    ):
        pytest.fail("the work began")


def test_json_goes_where_it_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_or_print(None, "1\n")
    assert capsys.readouterr().out == ""
    write_or_print("-", "2\n")
    assert capsys.readouterr().out == "2\n"
    write_or_print(str(tmp_path / "scores.json"), "3\n")
    assert (tmp_path / "scores.json").read_text() == "3\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("terminal", "width", "wanted"),
    [(False, 80, MIN_WIDTH), (False, 200, 200), (True, 80, 80)],
)
def test_tables_get_room_where_no_terminal_sets_the_width(
    terminal: bool, width: int, wanted: int
) -> None:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=width)
    widen(console)
    assert console.width == wanted
