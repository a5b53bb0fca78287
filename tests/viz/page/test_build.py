"""Building the page: what is refused, and what the lock holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.exits import refusal

from ambulo.commands.page import main
from ambulo.viz.page.build import MARK, PageError, check_folder, write_data
from ambulo.viz.page.bundle import SOURCES, run_tool


def test_lock_pins_all_packages_and_names_no_host() -> None:
    text = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text
    package = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    for group in ("dependencies", "devDependencies"):
        for version in package[group].values():
            assert version[0].isdigit()
    packages = json.loads(text)["packages"]
    for name, row in packages.items():
        assert name == "" or {"version", "integrity"} <= row.keys(), name


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(PageError, match="holds other files"):
        check_folder(tmp_path)
    (tmp_path / MARK).write_text("{}", encoding="utf-8")
    check_folder(tmp_path)


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--out", "{}/none/page"], "no such folder"),
        (["--out", "{}/file"], "is a file"),
        (["--out", "{}/page", "--pages", "navigatr"], "--pages navigatr: unknown page"),
        ([], "--out"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    flags: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    arguments = ["build", *(flag.format(tmp_path) for flag in flags)]
    assert line in refusal(main, arguments, capsys, alone=False)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_without_node_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["build", "--out", str(tmp_path / "page")]) == 2
    assert "Node.js 20 or newer" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_failing_tool_is_named_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="sh failed: boom"):
        run_tool(["/bin/sh", "-c", "echo first >&2; echo boom >&2; exit 3"], tmp_path)


def test_equal_data_give_equal_files(tmp_path: Path) -> None:
    for name in ("a.js", "b.js"):
        write_data(tmp_path / name, {"x": b"\x00\x01" * 100})
    assert (tmp_path / "a.js").read_bytes() == (tmp_path / "b.js").read_bytes()
