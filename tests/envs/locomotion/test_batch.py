"""N bodies at once: the contract, endings, faults and exact repetition."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from fixtures.bodies import WALKING
from gymnasium.error import ResetNeeded

from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.locomotion.faults import load_fault
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.simulation import NOT_FINITE, TOO_FAST
from ambulo.motion.formats.npz import unpacked

Make = Callable[..., LocomotionBatch]


def zeros(batch: LocomotionBatch) -> np.ndarray:
    return np.zeros((batch.num_envs, batch.action_size))


def test_starts_on_the_reference_at_random_phases(make: Make) -> None:
    batch = make(count=16, start_position_noise=0.0, start_velocity_noise=0.0)
    assert np.ptp(batch.phase) > 0.5
    assert np.abs(batch.state.deviation).max() < 1e-9
    assert np.abs(batch.state.rate).max() < 1e-9
    first = make(count=4, start="first")
    np.testing.assert_array_equal(first.phase, 0.0)
    assert 1e-3 < np.abs(first.state.deviation[:, 6:]).max() < 0.06


def test_the_reference_earns_the_full_reward(make: Make) -> None:
    batch = make(count=4, start_position_noise=0.0, start_velocity_noise=0.0)
    terms = batch._terms(np.zeros(4), zeros(batch))
    weights = batch.config.rewards
    for name in ("pose", "velocity", "end_effector", "root", "com"):
        np.testing.assert_allclose(terms[name], getattr(weights, name), rtol=1e-6)


def test_feed_forward_holds_the_body_up(make: Make) -> None:
    calm = {"start_position_noise": 0.0, "start_velocity_noise": 0.0, "start": "first"}
    errors = []
    for feed_forward in (True, False):
        batch = make(feed_forward=feed_forward, **calm)
        for _ in range(6):
            batch.step(zeros(batch))
        errors.append(np.abs(batch.state.deviation[:, 6:]).mean())
    assert errors[0] < 0.85 * errors[1]


def test_actions_move_the_named_joints(make: Make) -> None:
    batch = make(joints=("Tibia?",), action_scale=0.5)
    assert batch.action_size == 2
    offsets = batch._offsets(np.ones((3, 2)))
    assert np.flatnonzero(offsets[0]).tolist() == batch.dofs.tolist()
    np.testing.assert_allclose(offsets[:, batch.dofs], 0.5)
    with pytest.raises(ConfigError, match=r"no joint matches 'Tibai\?'"):
        make(joints=("Tibai?",))


def test_falls_terminate_and_the_limit_truncates(make: Make) -> None:
    batch = make(count=2, max_episode_steps=3)
    batch.simulation.qpos[0, 2] += 0.4
    _, _, terminated, truncated, info = batch.step(zeros(batch))
    assert terminated.tolist() == [True, False]
    assert info["fell"].tolist() == [True, False]
    batch.reset(np.array([0]))
    assert batch.episode.steps.tolist() == [0, 1]
    batch.step(zeros(batch))
    _, _, terminated, truncated, info = batch.step(zeros(batch))
    assert truncated.tolist() == [False, True]
    assert info["is_success"].tolist() == [False, True]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("qpos", np.nan, NOT_FINITE),
        ("qvel", np.nan, NOT_FINITE),
        ("qvel", np.inf, NOT_FINITE),
        ("qvel", 4000.0, TOO_FAST),
    ],
)
def test_a_fault_ends_one_body_and_poisons_none(
    make: Make,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    field: str,
    value: float,
    code: int,
) -> None:
    batch, clean = make(fault_folder=str(tmp_path)), make()
    getattr(batch.simulation, field)[1, 20] = value
    with caplog.at_level(logging.WARNING):
        obs, reward, terminated, _, info = batch.step(zeros(batch))
    clean.step(zeros(clean))
    assert terminated.tolist() == [False, True, False]
    assert info["fault"].tolist() == [0, code, 0]
    assert not info["fell"].any()
    assert reward[1] == 0.0
    assert np.isfinite(obs).all()
    np.testing.assert_array_equal(obs[[0, 2]], clean.obs[[0, 2]])
    assert "body 1" in caplog.text
    (path,) = tmp_path.iterdir()
    kept = {f"state.{name}" for name in batch.state_dict()}
    members = {"header", "qpos", "qvel", "action", *kept}
    saved = unpacked(path, path.read_bytes(), members, "fault")
    assert json.loads(saved["header"].tobytes())["reason"] in caplog.text
    bad = saved[field][20]
    assert bad == value or not np.isfinite(bad)
    batch.step(zeros(batch))  # not reset: stays at rest
    assert np.isfinite(batch.obs).all()
    batch.reset(np.array([1]))
    batch.step(zeros(batch))
    assert not batch.simulation.fault.any()


@pytest.mark.parametrize("force", [1e9, 1e15, np.nan, np.inf])
def test_an_explosion_within_a_step_is_a_fault_and_no_new_start(
    make: Make, force: float
) -> None:
    """MuJoCo would put the body back to its rest, and go on."""
    batch, clean = make(), make()
    batch.simulation.push[1, 1, 0] = force
    obs, reward, terminated, _, info = batch.step(zeros(batch))
    clean.step(zeros(clean))
    assert terminated.tolist() == [False, True, False]
    assert info["fault"][1] in (NOT_FINITE, TOO_FAST)
    assert reward[1] == 0.0
    assert np.isfinite(obs).all()
    np.testing.assert_array_equal(obs[[0, 2]], clean.obs[[0, 2]])


def test_a_fault_that_cannot_be_kept_stops_no_body(
    make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "deep" / "faults"
    batch = make(fault_folder=str(folder))
    folder.rmdir()  # it was made with the batch
    folder.write_text("no folder any more")
    batch.simulation.qvel[1, 20] = np.nan
    with caplog.at_level(logging.WARNING):
        _, _, terminated, _, _ = batch.step(zeros(batch))
    assert terminated.tolist() == [False, True, False]
    assert "its state was not kept" in caplog.text


@pytest.mark.parametrize("threads", [1, 2])
def test_warnings_of_mujoco_are_logged_and_leave_no_file(
    standing: Reference,
    threads: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(None)
    try:
        config = LocomotionConfig().override("environment", task="stand")
        batch = make_batch(config, 4, reference=standing, threads=threads)
        batch.reset(np.arange(4))
        batch.simulation.push[:, 1, 0] = 1e15
        with caplog.at_level(logging.DEBUG, logger="ambulo"):
            batch.step(zeros(batch))
    finally:
        mujoco.set_mju_user_warning(before)
    told = [r for r in caplog.records if r.getMessage().startswith("MuJoCo: Nan")]
    assert told
    assert {record.levelno for record in told} == {logging.DEBUG}
    assert "unstable" not in "".join(capfd.readouterr())
    assert list(tmp_path.iterdir()) == []


def test_a_step_needs_a_reset_of_each_body(standing: Reference) -> None:
    config = LocomotionConfig().override("environment", task="stand")
    batch = make_batch(config, 3, reference=standing)
    with pytest.raises(ResetNeeded, match="body 0"):
        batch.step(zeros(batch))
    batch.reset(np.array([0, 2]))
    with pytest.raises(ResetNeeded, match="body 1"):
        batch.step(zeros(batch))
    batch.reset(np.array([1]))
    assert not batch.step(zeros(batch))[2].any()


@pytest.mark.parametrize("task", WALKING)
def test_a_kept_fault_can_be_played_again(
    make: Make, tmp_path: Path, task: str
) -> None:
    pushes = {"push_impulse": (1e7, 1e7), "push_interval": (0.1, 0.1)}
    settings = {"fault_folder": str(tmp_path), "target_noise": 0.01, **pushes}
    batch = make(task, 3, **settings)
    rng = np.random.default_rng(3)
    while not batch.simulation.fault.all():
        batch.step(rng.uniform(-1.0, 1.0, (3, batch.action_size)))
        assert batch.episode.steps.max() < 10
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3
    again = make(task, 1, seed=9, **(settings | {"fault_folder": None}))
    for path in kept:
        env = int(path.name.partition("_body")[2].partition("_")[0])
        again.reset(np.array([0]))
        _, _, terminated, _, info = again.step(load_fault(path, again))
        assert terminated.tolist() == [True]
        assert info["fault"][0] == batch.simulation.fault[env]
        for one, two in zip(
            again.simulation.fault_state[0],
            batch.simulation.fault_state[env],
            strict=True,
        ):
            np.testing.assert_array_equal(one, two)


def test_faults_of_other_batches_are_refused(make: Make, tmp_path: Path) -> None:
    batch = make(count=1, fault_folder=str(tmp_path))
    batch.simulation.qvel[0, 20] = np.nan
    batch.step(zeros(batch))
    (path,) = tmp_path.iterdir()
    with pytest.raises(MotionFileError, match="no fault of this batch"):
        load_fault(path, make(count=1, joints=("Tibia?",)))
    (tmp_path / "text.npz").write_text("nothing")
    with pytest.raises(MotionFileError, match=r"text\.npz"):
        load_fault(tmp_path / "text.npz", batch)


def test_pushes_come_in_time_and_of_the_asked_size(make: Make) -> None:
    batch = make(
        "stand", 1, push_impulse=(8.0, 8.0), push_interval=(0.2, 0.2), push_duration=0.1
    )
    impulse = 0.0
    for _ in range(9):  # 0.3 s: one push
        batch.step(zeros(batch))
        force = batch.simulation.push[0, 1, :2]
        impulse += np.hypot(*force) * batch.simulation.dt
    assert impulse == pytest.approx(8.0)


def test_the_law_is_asked_in_units_of_action(make: Make) -> None:
    batch = make("stand", 2, action_scale=0.5)
    wanted = batch.teacher_actions()
    assert wanted.shape == (2, batch.action_size)
    moved = np.zeros((2, batch.simulation.model.nv))
    moved[:, batch.dofs] = 0.5 * wanted
    np.testing.assert_allclose(
        moved[:, batch.gaits.controller_dofs], batch.balance_offsets
    )
    with pytest.raises(ConfigError, match="no balance controller"):
        make().teacher_actions()


def test_observation_parts_switch_on_and_off(make: Make) -> None:
    every = {"last_action": True}
    none = {"joint_state": False, "feet": False, "law": False}
    full = make("locomote", observations=every, terrain="rough")
    names = [part.name for part in full.layout.parts]
    assert {"phase", "command", "ground", "last_action", "soles"} <= set(names)
    bare = make("stand", observations=none)
    assert not {"phase", "soles", "law", "command"} & set(bare.layout.slices())
    assert full.layout.table().count("\n") == len(names) + 1


def test_stands_for_two_seconds(make: Make) -> None:
    batch = make("stand", 4)
    for _ in range(60):
        _, _, terminated, _, info = batch.step(zeros(batch))
    assert not terminated.any()
    assert np.abs(info["speed"]).max() < 0.05
    assert batch.state.contacts.all()


@pytest.mark.integration
def test_the_default_gait_stays_up() -> None:
    """Without a policy, from any phase; the walk of textbook angles fell within 4 s."""
    batch = make_batch(LocomotionConfig(), 8, seed=0)
    batch.reset(np.arange(8))
    for _ in range(210):  # 7 s
        _, _, terminated, _, _ = batch.step(zeros(batch))
        assert not terminated.any()
    assert batch.reference.name == "healthy gait"
    batch.close()
