"""Parts of workers that need no cluster."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from ambulo.configs.errors import ObservationError, RewardError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.ppo import FastPPO
from ambulo.train.shared.fleet import most_workers, result_of, worker_spec
from ambulo.train.shared.rl_task import WorkerSpec
from ambulo.train.shared.rollout_worker import (
    RolloutStart,
    RolloutWorker,
    copy_of,
    own_folder,
)
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.training import NavigationTraining

KILLED = """
import os, signal
from ambulo.train.shared.rollout_worker import own_folder
folder, lock = own_folder()
print(folder, flush=True)
(folder / "left.txt").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def learner(tmp_path: Path) -> FastPPO:
    """A learner of 12 environments that takes steps of 32 samples."""
    config = NavigationConfig().override("environment", num_environments=12)
    config = config.override("ppo", batch_size=32).override("network", net_arch=(8, 8))
    return NavigationTraining(
        config, NavigationRunFolder(tmp_path), remote=True
    ).learner


def test_as_many_workers_as_the_learner_divides_between(learner: FastPPO) -> None:
    """Without a number, no cluster is too large."""
    assert [most_workers(learner, n) for n in (0, 1, 3, 5, 64)] == [1, 1, 2, 4, 4]
    for cpus in range(1, 20):
        count = most_workers(learner, cpus)
        assert worker_spec(learner, count).num_envs * count == learner.n_envs


def test_an_error_of_a_workers_environments_names_the_worker() -> None:
    class Failing:
        def result(self, reference: Exception) -> None:
            raise reference

    for kind in (ObservationError, RewardError):
        with pytest.raises(kind, match=r"^worker 3: environment 0: nan"):
            result_of(Failing(), 3, kind("environment 0: nan"))  # type: ignore[arg-type]


def test_a_copy_of_a_learner_stays_as_it_is(learner: FastPPO) -> None:
    """Also its optimiser, whose tensors may be on a GPU that workers do not have."""

    def step(value: float) -> None:
        for weight in learner.policy.parameters():
            weight.grad = torch.full_like(weight, value)
        learner.policy.optimizer.step()

    step(1.0)
    copy = copy_of(learner)
    before = {k: v.copy() for k, v in copy.optimizer.items()}
    assert before
    step(2.0)
    assert all(np.array_equal(before[k], v) for k, v in copy.optimizer.items())


def test_what_a_replaced_worker_saves_can_be_restored(tmp_path: Path) -> None:
    """It may be asked before its first roll-out, when the former one died in an update."""
    config = NavigationConfig().override("network", net_arch=(8, 8))
    config = config.override("ppo", n_steps=8, batch_size=8).override(
        "environment", num_environments=4, levels=("open",), levels_per_family=4
    )
    task = NavigationTraining(config, NavigationRunFolder(tmp_path), remote=True)
    settings = task.learner_settings()
    given = (task.factory(), WorkerSpec(4, 8, 1, 8), 64, settings, logging.WARNING)
    replaced, resumed = RolloutWorker(*given), RolloutWorker(*given)
    resumed.restore(replaced.capture())
    given_learner = (RolloutStart(5, 64, 0.5), copy_of(task.learner), True)
    first, second = (w.collect_and_update(*given_learner) for w in (replaced, resumed))
    assert first.learner is not None
    assert second.learner is not None
    for name, weights in first.learner.policy.items():
        assert torch.equal(weights, second.learner.policy[name])
    replaced.close()
    resumed.close()


@pytest.mark.integration
def test_folders_of_killed_workers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    alive, lock = own_folder()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, check=False
    )
    left = Path(killed.stdout.strip())
    assert (left / "left.txt").exists()
    another, other_lock = own_folder()
    assert sorted(tmp_path.iterdir()) == sorted([alive, another])
    lock.release()
    other_lock.release()
