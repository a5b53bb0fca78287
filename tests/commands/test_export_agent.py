"""`ambulo export`: targets by kind, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ambulo.commands.export_agent import main
from ambulo.policies.registry import function_of, model_kinds


@pytest.mark.parametrize("kind", sorted(model_kinds()))
def test_exporters_exist(kind: str) -> None:
    spec = model_kinds()[kind]
    for name in (*filter(None, [spec.graph]), *spec.writers.values()):
        assert callable(function_of(name))


@pytest.mark.integration
def test_a_walker_is_written_and_what_it_lacks_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "walk.onnx"
    assert main(["imitate_walk_pure", "--out", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{file}\n"
    assert err.startswith("not in the file: the body:")
    assert len(err.splitlines()) == 1


@pytest.mark.slow
def test_a_navigator_is_written_with_its_body(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.ambulo"
    assert main(["vr_navigation", "--out", str(file), "--body", "gait_net"]) == 0
    body = tmp_path / "agent_body.ambulo"
    assert capsys.readouterr().out.splitlines() == [str(file), str(body)]
    assert body.read_bytes().startswith(b"AMBULOC1")
    assert main(["gait_net", "--out", str(file)]) == 0
    assert file.read_bytes() == body.read_bytes()


def test_a_character_is_written_as_mjcf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["human23", "--mjcf", "--out", str(tmp_path / "body")]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["human23.xml", "README.md"]
    assert main(["human23", "--mjcf", "--out", str(tmp_path / "body")]) == 2
    assert "exists already; give a new folder" in capsys.readouterr().err


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert main(["gait_walk", "--out", str(tmp_path / "w.onnx")]) == 2
    err = capsys.readouterr().err
    assert "package onnxscript" in err
    assert "ambulo[train]" in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
