"""Where results go: the folder of a report, JSON to a file or the screen, wide tables."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from ambulo.commands.sweeps.kinds import Training
from ambulo.commands.sweeps.scores import final_scores
from ambulo.common.console import Display
from ambulo.common.files import write_or_print
from ambulo.common.tables import new_table, print_table
from ambulo.configs.errors import RunFolderError
from ambulo.evaluate.shared.report import made_folder
from ambulo.evaluate.shared.result import (
    Breakdown,
    ModelEvaluation,
    rate_metric,
)
from ambulo.train.shared.callbacks import MIN_SHOWN, Metrics
from ambulo.train.shared.final_evaluation import write_scores
from ambulo.train.shared.rl_results import training_facts
from ambulo.train.shared.run_folders import NavigationRunFolder


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


@pytest.mark.parametrize(("terminal", "width"), [(False, 20), (True, 20), (True, 200)])
def test_tables_lose_no_text(terminal: bool, width: int) -> None:
    text = io.StringIO()
    table = new_table("a title")
    cells = [f"{k:02}{'x' * 8}" for k in range(12)]
    for cell in cells:
        table.add_column(f"head{cell}", no_wrap=True)
    table.add_row(*cells)
    print_table(Console(file=text, force_terminal=terminal, width=width), table)
    lines = text.getvalue().splitlines()
    assert all(text.getvalue().count(cell) == 2 for cell in cells[1:])
    assert (len(lines) > len(cells)) == (terminal and width == 20)


class _Shown(Display):
    score: float | None = None

    def update(self, *values: Any) -> None:
        self.score = values[2]


def test_no_score_is_shown_of_the_few_episodes_that_end_first(tmp_path: Path) -> None:
    shown, env = _Shown(), SimpleNamespace(num_envs=3)
    metrics = Metrics(tmp_path / "metrics.csv", shown)
    model = SimpleNamespace(num_timesteps=9, get_env=lambda: env)
    metrics.model = model  # type: ignore[assignment]
    metrics.on_training_start({}, {})
    won: dict[str, Any] = {"episode": {"r": 1.0, "l": 2}, "is_success": True}
    for count, score in ((MIN_SHOWN - 1, None), (1, 1.0)):
        metrics.locals["terminal"] = SimpleNamespace(infos=[won] * count)
        metrics.on_step()
        metrics._episode_means()
        metrics._episodes = []
        metrics._show(0.0)
        assert shown.score == score


def _evaluation(agents: Any, *breakdowns: Breakdown) -> ModelEvaluation:
    return ModelEvaluation("m.zip", "k", 90, 0, "", "", agents, (), (), breakdowns)


def test_scores_of_a_training_are_an_evaluation_and_are_compared(
    tmp_path: Path,
) -> None:
    families = {"maze": {"policy": {"success_rate": rate_metric(40, 45)}}}
    levels = {"maze-7": {"policy": {"success_rate": rate_metric(1, 1)}}}
    evaluation = _evaluation(
        {"policy": {"success_rate": rate_metric(90, 90)}},
        Breakdown("family", families),
        Breakdown("level", levels),
    )
    run: Any = SimpleNamespace(
        folder=NavigationRunFolder(tmp_path), num_timesteps=128, seconds=1.5
    )
    data = write_scores(run.folder, evaluation, training_facts(run)).to_dict()
    assert json.loads(run.folder.scores.read_text(encoding="utf-8")) == data
    assert data["details"]["training"] == {
        "run": str(tmp_path), "timesteps": 128, "seconds": 1.5,
    }  # fmt: skip
    best = str(run.folder.best_model)
    assert data == {**evaluation.to_dict(), "model": best, "details": data["details"]}
    training = Training("vr")
    score = training.kind.score("success_rate")
    read = final_scores(tmp_path, training, score)
    assert read.tasks == {"maze": 40 / 45}
    assert (read.episodes, read.count) == ({"maze-7": 1.0}, 90)

    write_scores(run.folder, _evaluation(evaluation.agents), {})
    assert final_scores(tmp_path, training, score).tasks == {"all": 1.0}
    with pytest.raises(RunFolderError, match=r"scores\.json: has no score spl"):
        final_scores(tmp_path, training, training.kind.score("spl"))
    run.folder.scores.write_text('{"agents": {"policy": {"success_rate": 1.0}}}')
    with pytest.raises(RunFolderError, match=r"--resume .* evaluates the run again"):
        final_scores(tmp_path, training, score)


@pytest.mark.parametrize(
    "damage",
    [
        {"groups": None}, {"groups": {"family": []}}, {"groups": {"family": {"a": 1}}},
        {"agents": 3}, {"agents": {"policy": [1]}}, {"episodes": [1]}, {"episodes": "many"},
    ],
)  # fmt: skip
def test_scores_that_are_damaged_are_one_line(tmp_path: Path, damage: Any) -> None:
    agents = {"policy": {"success_rate": rate_metric(1, 2)}}
    data = _evaluation(agents).to_dict() | damage
    (tmp_path / "scores.json").write_text(json.dumps(data), encoding="utf-8")
    training = Training("vr")
    score = training.kind.score("success_rate")
    with pytest.raises(RunFolderError, match=r"scores\.json: is damaged; --resume"):
        final_scores(tmp_path, training, score)
