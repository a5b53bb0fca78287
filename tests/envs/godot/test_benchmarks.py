"""The benchmarks of the bridge fail when what they measure is not as it must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixtures.benchmark_scripts import load

SOAKED = {
    "exit_code": 0,
    "orphans": 0,
    "kills": 4,
    "faults_logged": 3,
    "checkpoints": [10_240, 20_480, 30_208],
    "damaged": [],
    "memory_growth": 0.01,
    "decisions": 100_000,
}


def broken(**changes: Any) -> list[str]:
    found: list[str] = load("godot_soak").broken(SOAKED | changes, 30_000, 5_000, 512)
    return found


def test_a_good_soak_is_good() -> None:
    assert broken() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exit_code", 2),
        ("orphans", 1),
        ("kills", 3),
        ("faults_logged", 0),
        ("checkpoints", [10_240, 30_208]),
        ("checkpoints", [10_240, 20_480, 25_088, 30_208]),
        ("checkpoints", []),
        ("damaged", ["vr_nav_model_10240_steps.zip"]),
        ("memory_growth", 0.06),
        ("memory_growth", float("nan")),
    ],
)
def test_a_bad_soak_is_bad(name: str, value: object) -> None:
    assert len(broken(**{name: value})) == 1


def test_soak_reads_checkpoints(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (folder / "vr_nav_model_512_steps.zip").write_bytes(b"half")
    (folder / ".vr_nav_model_1024_steps.zip.1.tmp").write_bytes(b"")
    saved, damaged = load("godot_soak").checkpoints(tmp_path)
    assert saved == []
    assert damaged == sorted(file.name for file in folder.iterdir())


GOOD = (0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("measured", "envs", "missed"),
    [
        (GOOD, (3, 3), 0),
        (GOOD, (2, 18), 1),
        (GOOD, (18, 2), 1),
        ((0.02, 0.06, 0.16, 0.03, 0.03), (3, 3), 5),
        ((float("nan"), 0.0, 0.0, 0.0, 0.0), (3, 3), 1),
    ],
)
def test_parity_counts_what_is_missed(
    measured: tuple[float, ...], envs: tuple[int, int], missed: int, capsys: Any
) -> None:
    counts = dict(zip(("free", "contact"), envs, strict=True))
    assert load("godot_parity").report(measured, counts) == missed
    output = capsys.readouterr().out
    assert output.count("MISSED") == missed
    assert f"free: envs: {envs[0]} (at least 3)" in output
