import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, RunFolderError
from ambulo.configs.gait import gait_space
from ambulo.envs.characters.gait_body import gait_body
from ambulo.envs.locomotion.env import locomotion_config
from ambulo.envs.reference.cycles.building import gait_of
from ambulo.envs.reference.cycles.prepare import physical_cycle
from ambulo.envs.reference.reference import Reference, reference_bytes
from ambulo.motion.gaits.scaled_walk import gait_cycle
from ambulo.motion.gaits.shards import read_raw, write_raw
from ambulo.train import rollout_gait
from ambulo.train.gait.rollouts import RolloutPlan, play_job
from ambulo.train.shared.jobs import Workers

SPACE = gait_space("human23")


@pytest.fixture(scope="module")
def plan():
    """Two short episodes a job, without a balance controller, which takes long to make."""
    body = gait_body(SPACE, SPACE.default)
    body.model.opt.timestep = 1.0 / 150.0
    cycle = gait_cycle(SPACE, SPACE.default, body.soles)
    gait = gait_of(physical_cycle(cycle, body.model, body.soles), body, (), None)
    healthy = Reference("healthy gait", "human23", 1.0 / 30.0, (gait,))
    config = locomotion_config("gait", balance_law=False, parameters={"stride": 1.1})
    return RolloutPlan(
        config.model_dump(mode="json"), reference_bytes(healthy), None, 5, 6, 2
    )


@pytest.mark.integration
def test_a_job_is_decided_by_seed_and_number(plan):
    first, again, other = play_job(plan, 3), play_job(plan, 3), play_job(plan, 4)
    np.testing.assert_array_equal(first.shard.motions, again.shard.motions)
    assert not np.array_equal(first.shard.params, other.shard.params)
    assert first.shard.params.shape == (2, 13)
    np.testing.assert_array_equal(first.shard.lengths, [6, 6])
    assert (first.shard.params[:, 0] == 1.1).all()
    # The clock runs at the episode's cadence.
    phase = first.shard.motions[:6, -1]
    steps = np.diff(phase) % 1.0
    np.testing.assert_allclose(steps, steps[0], rtol=1e-6)
    assert first.fell == 0


def test_a_shard_says_where_it_is_from(plan, tmp_path):
    write_raw(tmp_path / "raw.npz", play_job(plan, 0).shard)
    found = read_raw(tmp_path / "raw.npz")
    assert found.names == SPACE.names
    assert found.rate == 30.0
    assert found.source["seed"] == 5
    assert found.source["policy"] == "balance law"
    assert found.source["space"]["name"] == "human23"
    # Places on the way: forward at a walking speed.
    way = found.motions[5, 3] - found.motions[0, 3]
    assert 0.05 < way < 0.5


def test_bad_flags_are_told():
    with pytest.raises(ConfigError, match="NAME=VALUE, VALUE a number"):
        rollout_gait.fixed_parameters("human23", ["stride"])
    with pytest.raises(SystemExit, match="2"):
        rollout_gait.main(["--out", "x", "--engine", "proces"])
    for flags in (["--episodes", "0"], ["--workers", "0"]):
        assert rollout_gait.main(["--out", "x", *flags]) == 2
    assert rollout_gait.main(["--out", "x", "--set", "strid=1"]) == 2
    assert rollout_gait.main(["--out", "x", "--seed", "-1"]) == 2
    assert rollout_gait.main(["--out", "x", "--seconds", "inf"]) == 2


def test_whole_files_stay_and_damaged_ones_do_not(plan, tmp_path):
    path = rollout_gait.shard_file(tmp_path, 0)
    assert not rollout_gait._is_done(path, plan.digest)
    write_raw(path, play_job(plan, 0).shard)
    assert rollout_gait._is_done(path, plan.digest)
    others = [{"seed": 6}, {"steps": 7}, {"per_job": 3}, {"reference": b"other"}]
    for change in others:
        with pytest.raises(RunFolderError, match="other settings, seed or policy"):
            rollout_gait._is_done(path, replace(plan, **change).digest)
    path.write_bytes(path.read_bytes()[:500])
    assert not rollout_gait._is_done(path, plan.digest)


@pytest.mark.slow
def test_nothing_is_lost_when_a_worker_is_killed(plan):
    results = []
    for result in Workers(count=2).as_done(play_job, plan, range(6)):
        results.append(result)
        if len(results) == 1:
            victim = multiprocessing.active_children()[0]
            os.kill(victim.pid, signal.SIGKILL)
    assert sorted(result.job for result in results) == list(range(6))
    for result in results:
        alone = play_job(plan, result.job)
        np.testing.assert_array_equal(result.shard.motions, alone.shard.motions)


@pytest.mark.slow
def test_ray_and_processes_write_the_same_files(plan, tmp_path):
    made = []
    for workers in (Workers(), Workers("ray", 2)):
        results = workers.as_done(play_job, plan, range(3))
        made.append({result.job: result.shard for result in results})
    for job, shard in made[0].items():
        np.testing.assert_array_equal(made[1][job].motions, shard.motions)
        assert made[1][job].source == shard.source


@pytest.mark.slow
def test_the_command_goes_on_where_it_was_stopped(tmp_path, capsys):
    flags = ["--per-file", "2", "--seconds", "0.2", "--workers", "1"]
    flags += ["--seed", "3", "--out", str(tmp_path)]
    assert rollout_gait.main([*flags, "--episodes", "2"]) == 0
    first = read_raw(rollout_gait.shard_file(tmp_path, 0))
    np.testing.assert_array_equal(first.lengths, [6, 6])
    assert rollout_gait.main([*flags, "--episodes", "4"]) == 0
    assert "1 files were there already" in capsys.readouterr().out
    assert rollout_gait.shard_file(tmp_path, 1).is_file()
    # Another seed would mix two sets.
    assert rollout_gait.main([*flags, "--episodes", "4", "--seed", "4"]) == 2
