"""The page of measurements: every file of results becomes a section."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The page that is made of the files of docs/results."""
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "docs"))
    importlib.import_module("_results").write(ROOT / "docs" / "results", tmp_path)
    return (tmp_path / "benchmarks.md").read_text(encoding="utf-8")


def test_every_file_of_results_has_a_table(page: str) -> None:
    sections = page.split("\n## ")[1:]
    files = sorted((ROOT / "docs" / "results").glob("*.json"))
    assert len(sections) == len(files)
    for file, section in zip(files, sections, strict=True):
        assert f"(results/{file.name})" in section
        assert section.count("\n| ") > 1, file.name


def test_rows_of_a_file_are_rows_of_its_table(page: str) -> None:
    file = ROOT / "docs" / "results" / "viewer.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    section = page.partition("## viewer\n")[2].partition("\n## ")[0]
    assert section.count("| imitate_walk |") == 3
    assert f"| {rows[0]['updates']:.4g} |" in section


def test_files_of_results_name_no_folder_of_a_machine() -> None:
    for file in (ROOT / "docs" / "results").glob("*.json"):
        text = file.read_text(encoding="utf-8")
        assert not any(folder in text for folder in ("/tmp/", "/home/")), file.name
