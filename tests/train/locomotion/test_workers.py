"""Walkers that are trained over the workers of a real Ray cluster."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.locomotion_runs import (
    BODIES,
    ROLLOUT,
    TEACHER,
    run,
    settings,
)
from fixtures.run_files import weights

from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.base import load_json
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.train.locomotion.callbacks import Schedules
from ambulo.train.locomotion.training import LocomotionTraining, read_parts
from ambulo.train.shared.fleet import started
from ambulo.train.shared.rl_task import WorkerSpec
from ambulo.train.shared.run_folders import LocomotionRunFolder
from ambulo.train.train_locomotion import main


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    pytest.importorskip("ray")
    from ambulo.train.shared.cluster import joined

    with joined(2):  # which the commands below find and use
        yield


@pytest.mark.slow
@pytest.mark.parametrize("teacher", [None, TEACHER])
@pytest.mark.usefixtures("cluster")
def test_one_worker_does_what_no_worker_does(
    reference: Path, tmp_path: Path, teacher: dict[str, Any] | None
) -> None:
    changes = {"environment": {"balance_law": teacher is None}}
    file = settings(
        tmp_path / "tiny.json", reference, training={"teacher": teacher}, **changes
    )
    alone = run(file, "alone")
    worker = ["--engine", "ray", "--schedule", "gradients", "--workers"]
    with_one = run(file, "one", *worker, "1")
    assert weights(alone.final_model) == weights(with_one.final_model)
    two = run(file, "two", *worker, "2")
    assert weights(alone.final_model) != weights(two.final_model)
    if teacher is not None:
        table = (alone.path / "teacher.csv").read_bytes()
        assert (with_one.path / "teacher.csv").read_bytes() == table
        assert (two.path / "teacher.csv").is_file()
    # A run without workers goes on with what two workers saved.
    more = ["--timesteps", "384", "--no-progress", "--episodes", "2"]
    assert main(["--resume", str(two.path), *more]) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_stop_request_reaches_a_policy_that_is_prepared(
    reference: Path, tmp_path: Path
) -> None:
    """Teaching takes minutes; nobody waits for its end."""
    file = settings(tmp_path / "tiny.json", reference, training={"teacher": TEACHER})
    config = load_json(LocomotionConfig, file)
    folder = LocomotionRunFolder(tmp_path / "run")
    task = LocomotionTraining(
        config, folder, read_parts(config, folder, None), remote=True
    )
    stop = StopRequest()
    stop.signal_number = signal.SIGINT
    fleet = started(task, 1, None)
    try:
        with pytest.raises(Interrupted):
            fleet.begin(stop, initialised=False)
    finally:
        fleet.close()


def test_workers_teach_the_critic_alone_for_as_long(
    reference: Path, tmp_path: Path
) -> None:
    teacher = {**TEACHER, "critic_updates": 3}
    file = settings(tmp_path / "tiny.json", reference, training={"teacher": teacher})
    config = load_json(LocomotionConfig, file)
    folder = LocomotionRunFolder(tmp_path / "run")
    driver = LocomotionTraining(
        config, folder, read_parts(config, folder, None), remote=True
    )
    spec = WorkerSpec(BODIES // 2, 8, seed=1, all_envs=BODIES)
    worker = driver.factory()(spec, tmp_path)
    for task in (driver, worker):
        found = task.environment_callbacks()
        schedules = next(c for c in found if isinstance(c, Schedules))
        schedules.init_callback(task.learner)
        seen = []
        for update in range(5):
            task.learner.num_timesteps = update * ROLLOUT
            schedules.on_rollout_start()
            seen.append(task.learner.critic_only)
        assert seen == [True, True, True, False, False]
