"""Sizes of the folders that Ambulo fills."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.commands.machine.caches import COMPILED, caches, compiled_code, size_text

ROOT = Path(__file__).resolve().parents[3]


def test_caches_are_measured_where_the_environment_puts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AMBULO_MOTION_CACHE", str(tmp_path / "motion"))
    monkeypatch.delenv("AMBULO_REFERENCE_CACHE", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    home = tmp_path / "home" / "ambulo"
    for file, size in (
        (tmp_path / "motion" / "a" / "clip.npz", 700),
        (home / "references" / "walk.npz", 30),
        (home / "godot-4" / "bin" / "godot", 5000),
        (home / "other" / "file", 11),
        (tmp_path / "numba" / "x.nbi", 3),
        (tmp_path / "numba" / "x.nbc", 4),
        (tmp_path / "numba" / "x.txt", 99),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(bytes(size))
    measured = {row.name: (row.files, row.bytes) for row in caches()}
    assert measured == {
        "prepared motion": (1, 700),
        "feasible references": (1, 30),
        "Godot engine": (1, 5000),
        "rest of the cache folder": (1, 11),
        "compiled kernels": (2, 7),
    }


def test_caches_that_do_not_exist_are_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    for name in ("AMBULO_MOTION_CACHE", "AMBULO_REFERENCE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert [row.files for row in caches()][:4] == [0, 0, 0, 0]
    assert not (tmp_path / "none").exists()


def test_compiled_code_is_looked_for_in_all_subpackages_that_have_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    folders = [path for path in ROOT.iterdir() if (path / "__init__.py").is_file()]
    holders = {
        folder.name
        for folder in folders
        for file in folder.rglob("*.py")
        if "cache=True" in file.read_text(encoding="utf-8") and folder.name != "tests"
    }
    assert holders - {"benchmarks", "tools"} == set(COMPILED)
    assert compiled_code().path.name == COMPILED[0]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 30, "3.0 GiB")],
)
def test_sizes_have_units(size: int, text: str) -> None:
    assert size_text(size) == text
