"""The preset of `make train`: its table, learning curve, film and report."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.presets import VR_PRESETS
from ambulo.envs.vr.families.level_sets import SPLIT_OFFSETS
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.map_film import shown_episodes
from ambulo.evaluate.vr.subjects import planner_subject
from ambulo.train.train_vr_navigation import main as train
from ambulo.train.vr.results import BASELINES, NAIVE

FIRST_RUN = ["--preset", "first_run", "--run-name", "first"]
TINY = [
    *FIRST_RUN, "--num-envs", "8", "--timesteps", "256", "--episodes", "6",
    "--eval-freq", "128", "--eval-episodes", "3",
    "--set", "ppo.n_steps=16", "--set", "environment.max_episode_steps=40",
    "--set", "environment.levels_per_family=3",
]  # fmt: skip
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_make_train_uses_it() -> None:
    assert "--preset first_run $(ARGS)" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_it_ends_with_table_curve_film_and_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import imageio.v2 as imageio

    assert train(TINY) == 0
    output, progress = capsys.readouterr()
    rows = {line.split()[0]: line for line in output.splitlines() if line.split()}
    assert {"policy", *BASELINES} <= rows.keys()
    assert {"stand", "random", "straight"} < set(NAIVE) < set(BASELINES)
    assert "best naive baseline" in output
    for stage in ("building", "compiling", "evaluating", "drawing"):
        assert stage in progress
    assert "256/256" in progress

    folder = Path("runs/first").resolve()
    curve, film = folder / "learning_curve.png", folder / "film.mp4"
    page = (folder / "report.html").read_text(encoding="utf-8")
    for file in (curve, film):
        assert base64.b64encode(file.read_bytes()).decode() in page
    for file in (curve, film, folder / "report.html"):
        assert file.as_uri() in output
    assert film.stat().st_size < 2_000_000
    with imageio.get_reader(film) as reader:
        data = reader.get_meta_data()
        frames = [frame.astype(int) for frame in reader]
    assert 1.0 < data["duration"] <= 10.0
    assert np.abs(frames[0] - frames[-1]).max() > 100  # the agents move

    levels = json.loads((folder / "scores.json").read_text())["groups"]["level"]
    seeds = [int(name.rpartition("-")[2]) for name in levels]
    assert len(seeds) == 6
    assert min(seeds) >= SPLIT_OFFSETS["heldout"]


@pytest.mark.integration
def test_the_film_shows_where_walking_straight_fails() -> None:
    config = VR_PRESETS.load("first_run")
    one = {"straight": planner_subject("straight", config)}
    records = evaluate(one, LevelSource(config), 12)
    played = records["straight"].episodes
    shown = shown_episodes(records)
    families = [played[i].level.family for i in shown]
    assert sorted(families) == sorted(config.environment.levels)
    for i, family in zip(shown, families, strict=True):
        assert not played[i].success
        earlier = [e.success for e in played[:i] if e.level.family == family]
        assert all(earlier)


@pytest.mark.slow
def test_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    assert train([*FIRST_RUN, "--no-progress", "--json"]) == 0
    agents = json.loads(capsys.readouterr().out)["agents"]
    rates = {name: scores["success_rate"]["value"] for name, scores in agents.items()}
    assert rates["policy"] >= 0.25 + max(rates[name] for name in NAIVE)
