"""Bodies of the user's own stand, and step where standing alone does not hold them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.own_bodies import humanoid_xml

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.gaits import STAND, Gaits
from ambulo.envs.tasks.stand import StandBatch, SteppingStandBatch

BODIES, SECONDS = 8, 5.0


@pytest.fixture(scope="module")
def balls(tmp_path_factory: pytest.TempPathFactory) -> SteppingStandBatch:
    """Bodies whose feet are a ball each."""
    file: Path = tmp_path_factory.mktemp("body") / "balls.xml"
    file.write_text(humanoid_xml(feet="ball"))
    config = LocomotionConfig.model_validate(
        {"environment": {"task": "stand", "character": str(file)}}
    )
    batch = make_batch(config, BODIES, seed=0)
    assert isinstance(batch, SteppingStandBatch)
    return batch


def played(batch: SteppingStandBatch) -> tuple[np.ndarray, np.ndarray]:
    """Which bodies fell with an action of 0, and how far they went, [m]."""
    fell = np.zeros(BODIES, np.bool_)
    start = batch.simulation.qpos[:, :2].copy()
    for _ in range(round(SECONDS / batch.simulation.dt)):
        ended = batch.step(np.zeros((BODIES, batch.action_size)))[2]
        fell |= ended
    return fell, np.linalg.norm(batch.simulation.qpos[:, :2] - start, axis=1)


@pytest.mark.integration
def test_ball_feet_step_on_the_spot(balls: SteppingStandBatch) -> None:
    names = [gait.name for gait in balls.reference.gaits]
    assert {STAND, "0.00"} <= set(names)
    balls.reset(np.arange(BODIES))
    balls.pushes.start[:] = np.inf
    fell, went = played(balls)
    assert not fell.any()
    assert went.max() < 0.5


@pytest.mark.integration
def test_pushed_ball_feet_stay_up(balls: SteppingStandBatch) -> None:
    balls.reset(np.arange(BODIES))
    pushes = balls.pushes
    pushes._impulse, pushes._interval = (1.0, 1.0), (1e3, 1e3)
    pushes.plan(np.full(BODIES, 1.0), 15.0, np.arange(BODIES) / BODIES * 2.0 * np.pi)
    fell, _ = played(balls)
    assert fell.mean() <= 0.25


@pytest.mark.integration
def test_it_takes_no_commands_and_shows_where_it_is_in_its_steps(
    balls: SteppingStandBatch,
) -> None:
    with pytest.raises(ConfigError, match="walk_commands"):
        balls.set_command(np.arange(2), np.ones(2), np.zeros(2))
    names = [part.name for part in balls.layout.parts]
    assert {"phase", "standing"} <= set(names)


@pytest.mark.integration
def test_tasks_of_users_and_bodies_without_controller_keep_their_batch(
    balls: SteppingStandBatch,
) -> None:
    class Mine(StandBatch):
        """A user's own way to stand."""

    config, reference = balls.config, balls.reference
    natural = Gaits(reference, balls.character).natural(1)
    assert reference.gaits[int(natural.slower[0])].name == STAND
    assert Mine.of_own(config, reference) is Mine
    assert StandBatch.of_own(config, reference) is SteppingStandBatch
    plain = config.override("environment", balance_law=False)
    assert StandBatch.of_own(plain, reference) is StandBatch


@pytest.mark.integration
def test_steps_continue_from_a_saved_state(balls: SteppingStandBatch) -> None:
    balls.reset(np.arange(BODIES))
    still = np.zeros((BODIES, balls.action_size))
    for _ in range(10):
        balls.step(still)
    saved = balls.state_dict()
    first = [balls.step(still)[0].copy() for _ in range(5)]
    balls.load_state_dict(saved)
    again = [balls.step(still)[0].copy() for _ in range(5)]
    np.testing.assert_array_equal(first, again)
