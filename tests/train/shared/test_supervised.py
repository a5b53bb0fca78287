"""The supervised run, on a small task: a network that learns a line."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from fixtures.run_files import table
from torch import Tensor, nn

from ambulo.common.console import Display
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import DivergedError, ModelFileError
from ambulo.policies.files.headers import FileHeader
from ambulo.policies.files.model_file import ModelFile, TrainingState
from ambulo.train.shared.fit_settings import FitSettings
from ambulo.train.shared.supervised import (
    MAX_BAD_GRADIENTS,
    FitProgress,
    SupervisedRun,
    SupervisedTask,
)

EPOCHS, EPOCH_STEPS = 4, 5
CPU = torch.device("cpu")
SETTINGS = FitSettings(EPOCHS, 0.02, warmup_steps=3, ema=0.9)


class LineTask(SupervisedTask[Tensor]):
    """y = 2 x + 1 from random x; its last checkpoint is kept in memory."""

    device = CPU

    def __init__(self, stop_at: int = 0, broken_from: int = 10**9) -> None:
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(1, 4), nn.Dropout(0.1), nn.Linear(4, 1))
        self.optimizer = torch.optim.AdamW(self.network.parameters())
        self.total_steps, self.stop = EPOCHS * EPOCH_STEPS, StopRequest()
        self.states: dict[int, tuple[dict[str, Tensor], TrainingState]] = {}
        self.errors = iter(())  # type: Iterator[float]
        self._stop_at, self._broken_from = stop_at, broken_from

    def batches(self, epoch: int, step: int) -> Iterator[Tensor]:
        for number in range(step, (epoch + 1) * EPOCH_STEPS):
            torch.manual_seed(number)
            yield torch.rand(8, 1)

    def loss(self, batch: Tensor, step: int) -> Mapping[str, Tensor]:
        if step + 1 == self._stop_at:
            self.stop.signal_number = signal.SIGINT
        error = (self.network(batch) - 2.0 * batch - 1.0).square().mean()
        return {"loss": error * (math.nan if step >= self._broken_from else 1.0)}

    def validate(self, network: nn.Module) -> tuple[float, dict[str, float]]:
        x = torch.linspace(0.0, 1.0, 9)[:, None]
        error = float((network(x) - 2.0 * x - 1.0).detach().abs().mean())
        return next(self.errors, error), {"error": error}

    def save(
        self, path: Path, network: nn.Module, progress: FitProgress,
        state: TrainingState | None,
    ) -> None:  # fmt: skip
        weights = {k: v.clone() for k, v in network.state_dict().items()}
        safetensors.torch.save_file(weights, path)
        if state is not None:
            self.states[progress.step] = weights, state


def new_folder(parent: Path, name: str) -> RunFolder:
    return RunFolder.create(str(parent), name, "line", 0, force=False)


def train(
    task: LineTask,
    folder: RunFolder | None,
    settings: FitSettings = SETTINGS,
    checkpoint: tuple[dict[str, Tensor], TrainingState] | None = None,
) -> SupervisedRun[Tensor]:
    task.settings = settings
    model = None if checkpoint is None else ModelFile(FileHeader(), *checkpoint)
    run = SupervisedRun(task, folder, model)
    run.train(Display(), task.stop)
    return run


def test_a_run_learns_and_writes_its_files(tmp_path: Path) -> None:
    folder = new_folder(tmp_path, "a")
    run = train(LineTask(), folder)
    assert (run.progress.epoch, run.progress.step) == (EPOCHS, EPOCHS * EPOCH_STEPS)
    rows = table(folder.metrics)
    errors = [float(row["validation/error"]) for row in rows]
    assert errors[-1] < 0.8 * errors[0]
    assert run.progress.best == pytest.approx(min(errors), rel=1e-5)
    assert run.progress.scores == {"error": run.progress.best}
    assert float(rows[-1]["train/loss"]) < float(rows[0]["train/loss"])
    assert float(rows[-1]["learning_rate"]) == pytest.approx(0.01 * 0.02)
    final = safetensors.torch.load_file(folder.final_model)
    for name, weight in run.ema.state_dict().items():
        assert torch.equal(final[name], weight)
    assert any(
        not torch.equal(final[name], weight)
        for name, weight in run.network.state_dict().items()
    )


def test_without_a_folder_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = LineTask()
    run = train(task, None)
    assert run.finished
    assert not task.states
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", [2 * EPOCH_STEPS, 2 * EPOCH_STEPS + 2])
def test_resumed_run_equals_an_uninterrupted_one(tmp_path: Path, step: int) -> None:
    """From the end of an epoch, and from within one, where the user stopped it."""
    whole, cut = new_folder(tmp_path, "whole"), new_folder(tmp_path, "cut")
    straight = train(LineTask(), whole)
    stopped = LineTask(stop_at=step)
    with pytest.raises(Interrupted):
        train(stopped, cut)
    assert not cut.final_model.exists()
    assert max(stopped.states) == step
    resumed = train(LineTask(), cut, checkpoint=stopped.states[step])
    assert cut.final_model.read_bytes() == whole.final_model.read_bytes()
    assert cut.best_model.read_bytes() == whole.best_model.read_bytes()
    for name, weight in straight.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], weight)
    assert table(cut.metrics) == table(whole.metrics)


def test_checkpoints_within_epochs_are_written_when_due(tmp_path: Path) -> None:
    task = LineTask()
    settings = FitSettings(2, 0.02, save_every=4)
    train(task, new_folder(tmp_path, "a"), settings)
    assert sorted(task.states) == [4, 5, 8, 10]


def test_training_ends_when_validation_gets_no_better(tmp_path: Path) -> None:
    task, folder = LineTask(), new_folder(tmp_path, "a")
    task.errors = iter([3.0, 2.0, 2.5, 2.0])
    run = train(task, folder, FitSettings(9, 0.02, patience=2))
    assert (run.progress.epoch, run.progress.best, run.progress.waited) == (4, 2.0, 2)
    best = safetensors.torch.load_file(folder.best_model)
    weights, _ = task.states[2 * EPOCH_STEPS]
    assert all(torch.equal(best[name], weight) for name, weight in weights.items())


@pytest.mark.parametrize("scaled", [False, True])
def test_gradients_that_are_not_finite_are_skipped_then_an_error(scaled: bool) -> None:
    task = LineTask(broken_from=7)
    task.settings = FitSettings(99, 0.02)
    run = SupervisedRun(task, None)
    run._scaler = torch.amp.GradScaler("cpu", enabled=scaled)
    with pytest.raises(DivergedError, match=r"gradients in a row.*--learning-rate"):
        run.train(Display(), StopRequest())
    assert run.progress.step == 7 + MAX_BAD_GRADIENTS - 1
    weights = [p.detach().numpy() for p in run.network.parameters()]
    assert all(np.isfinite(weight).all() for weight in weights)


def test_validation_that_is_not_finite_is_an_error() -> None:
    task = LineTask()
    task.errors = iter([1.0, math.inf])
    with pytest.raises(DivergedError, match="epoch 2"):
        train(task, None)


def test_a_checkpoint_of_another_network_is_refused(tmp_path: Path) -> None:
    task, other = LineTask(), LineTask()
    train(task, new_folder(tmp_path, "a"))
    other.network = nn.Linear(1, 1)
    other.optimizer = torch.optim.AdamW(other.network.parameters())
    with pytest.raises(ModelFileError, match="does not fit this configuration"):
        train(other, None, checkpoint=task.states[EPOCH_STEPS])
