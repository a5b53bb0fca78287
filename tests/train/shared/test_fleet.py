"""Trainings over the workers of a real Ray cluster."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ambulo.common.console import Display
from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.agents.navigation import load_navigation
from ambulo.train.shared.cluster import Cluster
from ambulo.train.shared.fleet import Fleet
from ambulo.train.shared.rl_run import RLRun
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.training import NavigationTraining

pytestmark = pytest.mark.integration

ENVS, STEPS = 8, 16
ROLLOUT = ENVS * STEPS
Weights = dict[str, torch.Tensor]


def config_of(rollouts: int, *, stages: bool = False) -> NavigationConfig:
    config = NavigationConfig()
    settings: dict[str, dict[str, Any]] = {
        "network": {"net_arch": (8, 8)},
        "ppo": {"n_steps": STEPS, "batch_size": 32, "n_epochs": 2, "target_kl": 0.05},
        "environment": {
            "levels": ("open",),
            "levels_per_family": 6,
            "level_refresh": 2,
            "max_episode_steps": 20,
            "num_environments": ENVS,
        },
        "training": {
            "total_timesteps": rollouts * ROLLOUT,
            "save_freq": 2 * ROLLOUT,
            "eval_freq": 0,
            "seed": 3,
            "use_curriculum": stages,
        },
    }
    if stages:
        stage = {"success_threshold": None, "max_goal_distance": 3.0}
        settings["training"]["curriculum_stages"] = [
            {"name": "near", "levels": ["open"], "timesteps": ROLLOUT, **stage},
            {"name": "far", "levels": ["pillars"], "timesteps": ROLLOUT, **stage},
        ]
    for group, values in settings.items():
        config = config.override(group, **values)
    return config


def train(
    config: NavigationConfig,
    path: Path,
    cluster: Cluster | None = None,
    workers: int = 0,
    resume: Path | None = None,
) -> Weights:
    """Train in the folder `path` without a cluster or with workers; the last weights."""
    folder = NavigationRunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    for part in (folder.logs, folder.checkpoints, folder.best_model.parent):
        part.mkdir(exist_ok=True)
    checkpoint = None if resume is None else load_navigation(resume)
    task = NavigationTraining(config, folder, checkpoint, remote=workers > 0)
    host = Fleet(cluster, task, workers) if cluster and workers else None
    run = RLRun(task, folder, checkpoint, None, host)
    try:
        run.train(Display(), StopRequest())
    finally:
        run.close()
    return load_navigation(folder.final_model).weights


def same(first: Weights, other: Weights) -> bool:
    return all(torch.equal(first[name], other[name]) for name in first)


def worker_pids() -> list[int]:
    """Processes of this user's workers, by what Ray writes over their command lines."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(b"ray::RolloutWorker"):
                found.append(int(folder.name))
    return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("ray")
    from ambulo.train.shared.cluster import joined

    with joined(2) as made:
        yield made


def test_one_worker_does_what_no_worker_does(cluster: Cluster, tmp_path: Path) -> None:
    config = config_of(3, stages=True)
    alone = train(config, tmp_path / "alone")
    with_one = train(config, tmp_path / "one", cluster, 1)
    assert same(alone, with_one)
    rows = [(tmp_path / n / "metrics.csv").read_text() for n in ("alone", "one")]
    columns = [[row.split(",") for row in text.splitlines()] for text in rows]
    timed = {columns[0][0].index("seconds"), columns[0][0].index("time/fps")}
    for row, other in zip(*columns, strict=True):
        kept = [i for i in range(len(row)) if i not in timed]
        assert [row[i] for i in kept] == [other[i] for i in kept]


@pytest.mark.slow
def test_two_workers_repeat_themselves_and_resume(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = config_of(4)
    first = train(config, tmp_path / "a", cluster, 2)
    assert same(first, train(config, tmp_path / "b", cluster, 2))
    assert not same(first, train(config, tmp_path / "c"))
    checkpoint = NavigationRunFolder(tmp_path / "a").checkpoint(2 * ROLLOUT)
    again = train(config, tmp_path / "d", cluster, 2, checkpoint)
    assert same(first, again)
    # Another number of workers, or none, goes on with new episodes.
    for workers in (1, 0):
        other = train(config, tmp_path / f"e{workers}", cluster, workers, checkpoint)
        assert not same(first, other)
        assert all(bool(w.isfinite().all()) for w in other.values())


@pytest.mark.slow
def test_a_run_survives_the_death_of_its_workers(
    cluster: Cluster, tmp_path: Path
) -> None:
    killed = []

    def kill() -> None:
        deadline = time.monotonic() + 60.0
        while len(killed) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
            for pid in worker_pids()[:1]:
                if pid not in killed and (tmp_path / "a" / "metrics.csv").exists():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        weights = train(config_of(300), tmp_path / "a", cluster, 2)
    finally:
        thread.join()
    assert len(killed) == 2
    assert all(bool(w.isfinite().all()) for w in weights.values())
    rows = (tmp_path / "a" / "metrics.csv").read_text().splitlines()
    assert len(rows) == 301
    folder = NavigationRunFolder(tmp_path / "a")
    for file in sorted(folder.checkpoints.iterdir()):
        assert load_navigation(file).training is not None


@pytest.mark.slow
def test_learners_that_cannot_meet_try_again(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else takes the port on which the first one wants to listen."""
    taken: list[socket.socket] = []
    call = Cluster.call

    def late(self: Cluster, worker: Any, method: str, *args: Any) -> Any:
        if method == "meet" and not taken:
            taken.append(socket.create_server(("", int(args[2].rpartition(":")[2]))))
        return call(self, worker, method, *args)

    monkeypatch.setattr(Cluster, "call", late)
    weights = train(config_of(3), tmp_path / "a", cluster, 2)
    assert all(bool(w.isfinite().all()) for w in weights.values())
    assert len((tmp_path / "a" / "metrics.csv").read_text().splitlines()) == 4
    taken[0].close()


def recurrent(rollouts: int) -> NavigationConfig:
    config = config_of(rollouts).override("network", recurrent=6)
    return config.override("ppo", sequence=8, burn_in=3)


def test_a_recurrent_policy_learns_where_its_states_are(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = recurrent(3)
    alone = train(config, tmp_path / "alone")
    assert same(alone, train(config, tmp_path / "one", cluster, 1))


@pytest.mark.slow
def test_workers_with_recurrent_policies_resume(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = recurrent(4)
    first = train(config, tmp_path / "a", cluster, 2)
    checkpoint = NavigationRunFolder(tmp_path / "a").checkpoint(2 * ROLLOUT)
    again = train(config, tmp_path / "b", cluster, 2, checkpoint)
    assert same(first, again)


def test_numbers_that_cannot_be_divided_are_refused(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = config_of(1)
    with pytest.raises(ConfigError, match="--workers 9: must be 1 to 8"):
        train(config, tmp_path / "a", cluster, 9)
    with pytest.raises(ConfigError, match="must divide the 8 environments"):
        train(config, tmp_path / "b", cluster, 3)
