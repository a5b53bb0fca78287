"""Which engine draws which views, and what cannot be filmed."""

from __future__ import annotations

from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest
from fixtures.untrained import untrained_navigator

from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.command import main
from ambulo.evaluate.vr.films import FilmSettings, filmed_episode
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords
from ambulo.policies.files.model_file import save_model

PLAY = ["--level-set", "open", "--episodes", "1", "--baselines", "none", "--no-report"]


def embodied(body: str) -> NavigationConfig:
    """Settings of an agent on `body`."""
    return VR_PRESETS.load("embodied_quick").override(
        "environment", body=body, world="mujoco"
    )


@pytest.mark.parametrize(
    ("film_with", "views", "settings"),
    [
        (None, None, FilmSettings(("mujoco",), ("chase", "top"))),
        ("godot", "eyes", FilmSettings(("godot",), ("eyes",))),
        ("both", "eyes,chase", FilmSettings(("mujoco", "godot"), ("eyes", "chase"))),
    ],
)
def test_flags_choose_engines_and_views(film_with, views, settings):
    assert FilmSettings.of(embodied("human23"), film_with, views) == settings


def test_the_filmed_episode_is_chosen():
    """Failures are worse the farther they end from the goal, successes the lower their SPL."""

    def one(path: float, left: float) -> EpisodeRecord:
        fields = dict.fromkeys(EpisodeRecord.__dataclass_fields__)
        known = {"success": left == 0.0, "optimal": 10.0, "path": path, "left": left}
        return EpisodeRecord(**{**fields, **known})

    rows = [one(20.0, 0.0), one(11.0, 0.0), one(10.0, 2.0), one(50.0, 6.0)]
    records = EpisodeRecords(tuple(rows), 2.0)
    assert filmed_episode(records, "worst") is rows[3]
    assert filmed_episode(records, "best") is rows[1]
    assert filmed_episode(records, 2) is rows[2]
    solved = EpisodeRecords(tuple(rows[:2]), 2.0)
    assert filmed_episode(solved, "worst") is rows[0]
    config = NavigationConfig()
    assert FilmSettings.of(config, None, None, "8", 9).episode == 8
    assert FilmSettings.of(config, None, None, "best").episode == "best"


def test_godot_draws_what_was_played_in_godot():
    config = NavigationConfig().override("environment", world="godot")
    assert FilmSettings.of(config, None, None).engines == ("godot",)


@pytest.mark.parametrize(
    ("body", "film_with", "views", "message"),
    [
        (
            "human23",
            "gdot",
            None,
            "--film-with: unknown 'gdot' (did you mean 'godot'?)",
        ),
        ("human23", None, "chase,eye", "--views: unknown 'eye' (did you mean 'eyes'?)"),
        ("human23", None, "top,top", "--views top,top: names a view twice"),
        ("twin", "both", None, "--film-with both: body = twin is a disc without poses"),
        ("twin", None, "eyes", "--views eyes: body = twin is a disc without poses"),
        ("myolegs", "godot", None, "--film-with godot: is for the body human23"),
    ],
)
def test_what_cannot_be_filmed_is_refused(body, film_with, views, message):
    with pytest.raises(ConfigError) as caught:
        FilmSettings.of(embodied(body), film_with, views)
    assert message in str(caught.value)


def test_both_engines_need_one_that_draws_before_anything_is_played(
    blind: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "walk.mp4"
    flags = ["--video", str(file), "--film-with", "both", "--godot-bin", str(blind)]
    assert (
        main(["none", *PLAY[:4], "--baselines", "oracle", "--no-report", *flags]) == 2
    )
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "godot/install_engine.sh --with-gl" in said.err
    assert "success" not in said.out
    assert not file.exists()


@pytest.mark.slow
def test_a_body_is_filmed_by_both_engines_from_behind_and_through_its_eyes(
    drawing: None, gl: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The walker stands and sways for a second: both show it, in front of the same wall."""
    config = VR_PRESETS.load("embodied_quick").override(
        "environment", max_episode_steps=10
    )
    save_model(tmp_path / "agent.zip", untrained_navigator(config))
    file = tmp_path / "walk.gif"
    flags = ["--video", str(file), "--film-with", "both", "--views", "chase,eyes"]
    assert main([str(tmp_path / "agent.zip"), *PLAY, *flags]) == 0
    assert f"video: {file}" in capsys.readouterr().out
    frames = [np.asarray(frame)[..., :3] for frame in imageio.mimread(file)]
    assert len(frames) == 20  # 1 s, and 0.6 s of its end, at 12.5 frames a second
    assert frames[0].shape == (720, 960, 3)
    for rows in (slice(0, 360), slice(360, 720)):
        for columns in (slice(0, 480), slice(480, 960)):
            first, last = (frames[k][rows, columns].astype(int) for k in (0, 11))
            assert first.std() > 5
            assert (np.abs(first - last).max(axis=2) > 8).mean() > 0.002
