"""Bodies that lie, and what counts as having risen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks import get_up as module
from ambulo.envs.tasks.get_up import STANDING, GetUpBatch, fallen_states

Make = Callable[..., LocomotionBatch]


@pytest.mark.integration
def test_falls_end_on_the_ground_and_at_rest_and_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMBULO_REFERENCE_CACHE", str(tmp_path))
    qpos, qvel = fallen_states("human23", 1.0 / 150.0, 16, 3)
    assert len(qpos) >= 15
    assert qpos[:, 2].max() < 0.5
    assert np.median(np.abs(qvel)) < 0.1
    np.testing.assert_allclose(qpos[:, :2], 0.0, atol=1e-9)
    fallen_states.cache_clear()
    with monkeypatch.context() as patch:  # what is read is not simulated again
        patch.setattr(module, "dropped_states", None)
        again, _ = fallen_states("human23", 1.0 / 150.0, 16, 3)
    np.testing.assert_array_equal(qpos, again)
    (entry,) = tmp_path.glob("*.npz")
    entry.write_bytes(b"damaged")
    fallen_states.cache_clear()
    made, _ = fallen_states("human23", 1.0 / 150.0, 16, 3)
    np.testing.assert_array_equal(qpos, made)


def test_most_episodes_begin_on_the_ground(make: Make) -> None:
    batch = make("get_up", 64)
    assert isinstance(batch, GetUpBatch)
    assert 0 < batch.standing.sum() < 3 * STANDING * 64
    lying = batch.state.height < 0.5
    assert (lying == ~batch.standing).all()
    assert (
        np.abs(batch.state.deviation[:, :2]).max() < 1e-9
    )  # the frame is under the root


def test_only_what_stands_at_the_end_is_a_success(make: Make) -> None:
    batch = make("get_up", 32, max_episode_steps=12)
    assert isinstance(batch, GetUpBatch)
    action = np.zeros((32, batch.action_size))
    for _ in range(11):
        _, reward, ended, timeout, _ = batch.step(action)
        assert not (ended | timeout).any()
    standing = batch.standing
    assert (reward[standing].min()) > reward[~standing].max()
    *_, ended, timeout, info = batch.step(action)
    assert timeout.all()
    assert not ended.any()
    np.testing.assert_array_equal(info["is_success"], batch.standing)
    assert standing.any()


def test_the_lift_fades(make: Make) -> None:
    batch = make("get_up", 8, assist=0.8)

    def lift() -> float:
        batch.step(np.zeros((8, batch.action_size)))
        return float(batch.simulation.push[:, :, 2].max() / batch.weight)

    assert lift() == 0.0  # outside of trainings
    batch.set_progress(0.0)
    assert 0.6 < lift() <= 0.8
    batch.set_progress(0.25)
    assert 0.3 < lift() <= 0.4
    batch.set_progress(0.5)
    assert lift() == 0.0


def test_settings_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValidationError, match="get_up needs character = human23"):
        LocomotionEnvironmentConfig(task="get_up", character="myolegs")
    with pytest.raises(ValidationError, match="assist needs task = get_up"):
        LocomotionEnvironmentConfig(task="stand", assist=0.5)
