"""`ambulo rollouts`: episodes of a shipped agent, read by the real Minari."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.cli import main

pytest.importorskip("h5py")
minari = pytest.importorskip("minari")


@pytest.mark.slow
def test_episodes_of_the_navigator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert main(["rollouts", "vr_navigation", "--episodes", "3", "--no-progress"]) == 0
    folder = capsys.readouterr().out.strip()
    assert folder == str(tmp_path / "ambulo" / "vr_navigation-v0" / "data")
    data = minari.load_dataset("ambulo/vr_navigation-v0")
    assert data.total_episodes == 3
    for episode in data.iterate_episodes():
        assert episode.terminations[-1] or episode.truncations[-1]
        assert not (episode.terminations | episode.truncations)[:-1].any()
    env = data.recover_environment()
    assert env.observation_space == data.spec.observation_space
    env.reset(seed=0)
    env.close()
