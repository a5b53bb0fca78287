"""What `ambulo play` and `ambulo watch` refuse: one line, exit code 2."""

from pathlib import Path

import numpy as np
import pytest

from ambulo.commands.viewing.flags import PlayFlags, play, watch
from ambulo.commands.viewing.kinds import check_flags
from ambulo.commands.viewing.run_curves import RunCurves
from ambulo.commands.viewing.run_follower import newest_model
from ambulo.commands.viewing.serving import playable
from ambulo.common.find_model import find_model
from ambulo.common.run_folder import RunFolder
from ambulo.configs.errors import ConfigError
from ambulo.train.shared.watching import check_watch, watched


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["walk_comands"], "no such model file or shipped model"),
        (["muscle_nn_myolegs"], "has nothing to show"),
        (["vr_navigation", "--levels", "a", "--level-file", "b"], "exclude each other"),
    ],
)
def test_bad_input(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("viser", reason="needs ambulo[viewer]")
    assert play(arguments) == 2
    assert text in refused(capsys)


def test_what_a_model_does_not_use_is_refused() -> None:
    check_flags(find_model("track"), PlayFlags(model="track", seed=3, clips=("a.bvh",)))
    with pytest.raises(
        ConfigError, match="--clips: is for models of kind track_policy"
    ):
        check_flags(
            find_model("imitate_walk"),
            PlayFlags(model="imitate_walk", clips=("a.bvh",)),
        )
    with pytest.raises(
        ConfigError, match=r"--level-file: is for .* vr_navigation, not"
    ):
        check_flags(find_model("ik_net"), PlayFlags(model="ik_net", level_file="a"))


def test_a_missing_viser_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "viser", None)
    assert play(["imitate_walk"]) == 2
    assert "pip install 'ambulo[viewer]'" in refused(capsys)
    with pytest.raises(ImportError):
        check_watch(0)


def test_no_run_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch([str(tmp_path)]) == 2
    assert "is not the folder of a run" in refused(capsys)


def test_playable_models_have_stages() -> None:
    names = playable()
    assert "imitate_walk" in names
    assert "muscle_nn_myolegs" not in names


def test_without_watch_nothing_starts(tmp_path: Path) -> None:
    check_watch(None)
    with watched(RunFolder(tmp_path), None):
        pass


def test_curves_are_read_again_when_files_have_changed(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    read = RunCurves(run)
    assert list(read()) == []
    run.metrics.write_text(
        "timesteps,time/fps,rollout/ep_rew_mean,rollout/success_rate\n10,9,1.5,\n20,9,30,0.5\n"
    )
    curves = read()
    assert read() is curves
    series = {name: values for curve in curves for name, values in curve.series.items()}
    assert series.keys() == {"ep_rew_mean", "success_rate"}
    np.testing.assert_array_equal(series["ep_rew_mean"], [1.5, 30.0])
    np.testing.assert_array_equal(series["success_rate"], [np.nan, 0.5])
    np.testing.assert_array_equal(curves[0].steps, [10.0, 20.0])
    run.evaluations.write_text('[{"timesteps": 5, "return_mean": 2.0}]')
    assert any(curve.title.startswith("evaluation") for curve in read())


def test_half_a_file_keeps_the_curves(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.metrics.write_text("step,loss\n1,0.5\n")
    read = RunCurves(run)
    curves = read()
    assert len(curves) == 1
    run.evaluations.write_text('[{"timest')
    assert list(read()) == list(curves)


def test_newest_model(tmp_path: Path) -> None:
    import os

    run = RunFolder(tmp_path)
    assert newest_model(run) is None
    run.checkpoints.mkdir()
    for age, name in (
        (30, "a_10_steps.zip"),
        (10, "a_20_steps.zip"),
        (20, "a_30_steps.zip"),
    ):
        file = run.checkpoints / name
        file.write_bytes(b"")
        os.utime(file, (1000 - age, 1000 - age))
    newest = newest_model(run)
    assert newest is not None
    assert newest.name == "a_20_steps.zip"
