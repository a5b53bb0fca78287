"""The batch: commands, standing, touches, and what its info tells.

The gaits have no balance controllers here: what is tested happens before anybody falls.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pydantic import ValidationError

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.touch import PARKED
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.tasks.walk_commands.stepping import START_HOLD

Make = Callable[..., LocomotionBatch]


def made(make: Make, count: int, **walk: object) -> WalkCommandsBatch:
    batch = make("walk_commands", count, walk={"stand_start": 1.0, **walk})
    assert isinstance(batch, WalkCommandsBatch)
    return batch


def still(batch: WalkCommandsBatch) -> np.ndarray:
    return np.zeros((batch.num_envs, batch.action_size))


def everybody(batch: WalkCommandsBatch, *command: float) -> None:
    n = batch.num_envs
    batch.set_command(np.arange(n), *(np.full(n, part) for part in command))


def test_orders_outside_the_envelope_are_clamped_and_told(make: Make) -> None:
    batch = made(make, 3)
    batch.set_command(
        np.arange(3), np.array([0.3, 5.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, -1.0])
    )
    np.testing.assert_allclose(batch.goal, [[0.3, 0, 0], [1.6, 0, 0], [0, 0, -0.3]])
    *_, info = batch.step(still(batch))
    assert info["clamped"].tolist() == [False, True, True]
    assert np.isinf(batch.next_command).all()
    batch.reset(np.array([1]))
    assert not batch.clamped[1]
    with pytest.raises(ConfigError, match="not finite"):
        batch.set_command(np.array([0]), np.array([np.inf]), np.zeros(1))


def test_the_clock_stands_until_a_command_and_steps_begin_on_the_spot(
    make: Make,
) -> None:
    batch = made(make, 2, trip=False)
    everybody(batch, 0.0, 0.0)
    begin = batch.phase.copy()
    *_, info = batch.step(still(batch))
    np.testing.assert_array_equal(batch.phase, begin)
    assert info["standing"].all()
    np.testing.assert_allclose(batch.blend.speed, 0.0)
    everybody(batch, 0.4, 0.0)
    batch.step(still(batch))
    assert not batch.standing.any()
    dt = batch.simulation.dt
    for _ in range(round(0.3 / dt)):
        batch.step(still(batch))
    np.testing.assert_allclose(batch.command, 0.0, atol=1e-9)  # held on the spot
    assert START_HOLD > 0.3
    assert (batch.phase != begin).all()


def test_orders_are_followed_whatever_commands_are_drawn(make: Make) -> None:
    """Bodies in levels begin as slowly as they can: their drawn speed is 0."""
    batch = make("walk_commands", 1, speed=(0.0, 0.0))
    assert isinstance(batch, WalkCommandsBatch)
    everybody(batch, 0.3, 0.0)
    batch.standing[:], batch.command[:, 0] = False, 0.3
    batch.step(still(batch))
    assert batch.blend.speed[0] == pytest.approx(0.3, abs=0.02)


def test_a_shove_makes_a_standing_body_step(make: Make) -> None:
    batch = made(make, 3)
    everybody(batch, 0.0, 0.0)
    batch.simulation.qvel[1, 1] = 0.6
    batch.simulation.qvel[2, 1] = -0.6
    batch.step(still(batch))
    batch.step(still(batch))
    assert batch.standing.tolist() == [True, False, False]
    mid = batch._steering.mid_stance[0]
    # To the left the left foot bears first: its mid-stance comes a quarter of a cycle on.
    gone = (batch.phase - mid) % 1.0
    assert 0.7 < gone[1] < 0.9
    assert 0.2 < gone[2] < 0.4


def test_a_wall_is_felt_slows_down_and_costs(make: Make) -> None:
    batch = made(make, 2, obstacles=1.0)
    batch.boxes.park(np.arange(2))
    everybody(batch, 0.4, 0.0)
    batch.standing[:], batch.command[:, 0] = False, 0.4
    batch.boxes.place[1, 2] = 0.18, 0.0, 0.0
    batch.boxes.show()
    for _ in range(6):
        *_, info = batch.step(still(batch))
    assert info["touched"].tolist() == [False, True]
    assert info["reward/touch"][0] == 0.0
    assert batch.command[1, 0] < batch.command[0, 0] - 0.05
    slices = batch.layout.slices()
    assert batch.obs[1, slices["touch"]][2] == 1.0
    assert batch.obs[1, slices["touch"]][0] < 0.0  # pressed backwards
    assert batch.obs[0, slices["touch"]].tolist() == [0.0, 0.0, 0.0]


def test_boxes_are_there_for_training_alone(make: Make) -> None:
    batch = made(make, 1)
    with pytest.raises(ConfigError, match="obstacles"):
        batch.boxes.park(np.array([0]))
    trained = made(make, 16, obstacles=0.5)
    near = (trained.boxes.place[..., 0] < PARKED / 2).any(axis=1)
    assert 2 <= near.sum() <= 14
    gap = np.linalg.norm(trained.boxes.place[near, :, :2], axis=-1)
    assert gap[gap < PARKED / 2].min() > 0.6


def test_obstacles_stay_while_commands_change(make: Make) -> None:
    batch = made(make, 6, obstacles=1.0, moving_share=0.0, scene_interval=(0.5, 0.5))
    batch.next_command[:] = 0.0
    goal, place = batch.goal.copy(), batch.boxes.place.copy()
    batch.step(still(batch))
    assert not np.array_equal(batch.goal, goal)
    np.testing.assert_array_equal(batch.boxes.place, place)
    for _ in range(15):
        batch.step(still(batch))
    assert (batch.boxes.place != place).any(axis=(1, 2)).all()
    everybody(batch, 0.3, 0.0)
    assert np.isinf(batch.next_scene).all()


def test_a_saved_state_goes_on_bit_for_bit(make: Make) -> None:
    def fresh() -> WalkCommandsBatch:
        walk = {"obstacles": 1.0, "moving_share": 1.0, "stand_start": 0.5}
        return made(make, 4, **walk, scene_interval=(0.65, 0.75))

    first, second = fresh(), fresh()
    first._fades = second._fades = True
    for _ in range(18):  # into the time in which the policy fades out of who stands
        first.step(still(first) + 0.02)
    assert ((first.stood > 0.5) & (first.stood < 1.0)).any()
    first.given[0] = [0.1, 0.0, -0.1]
    second.load_state_dict(first.state_dict())
    for env, rng in enumerate(first.rngs):
        second.rngs[env] = np.random.default_rng()
        second.rngs[env].bit_generator.state = rng.bit_generator.state
    for _ in range(6):
        one = first.step(still(first) + 0.1)
        two = second.step(still(second) + 0.1)
        np.testing.assert_array_equal(first.stood, second.stood)
        np.testing.assert_array_equal(first.given, second.given)
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[1], two[1])


def test_settings_that_do_not_fit_are_refused(steps: Reference) -> None:
    config = LocomotionConfig()
    for settings, text in (
        ({"speed": (0.0, 2.0)}, "takes on"),
        ({"turn": (-200.0, 0.0)}, "takes on"),
        ({"terrain": "rough"}, "needs terrain = flat"),
    ):
        with pytest.raises((ConfigError, ValidationError), match=text):
            config.override("environment", task="walk_commands", **settings)
    with pytest.raises((ConfigError, ValidationError), match="side"):
        config.override("walk", side=(-0.5, 0.5))
    one = config.override("environment", task="walk_commands", balance_law=False)
    other = Reference("one", "human23", 1 / 30, steps.gaits[:1])
    with pytest.raises(ConfigError, match="no gaits that stand and step"):
        make_batch(one, 1, reference=other)


def test_standing_is_timed_and_a_policy_moves_nothing_after_a_second(
    make: Make,
) -> None:
    one, other = made(make, 1, trip=False), made(make, 1, trip=False)
    for batch in (one, other):
        everybody(batch, 0.0, 0.0, 0.0)
        batch._fades = True  # as with the balance controller, which is left out here
    for k in range(40):
        kick = 0.1 if k > 32 else 0.0
        one.step(still(one) + kick)
        other.step(still(other))
        assert one.stood[0] == pytest.approx((k + 1) * one.simulation.dt)
    np.testing.assert_array_equal(one.simulation.qpos, other.simulation.qpos)
    for batch in (one, other):
        everybody(batch, 0.3, 0.0, 0.0)
        batch.step(still(batch))
    assert not one.standing[0]
    assert one.stood[0] == 0.0
    one.step(still(one) + 0.1)
    other.step(still(other))
    assert np.abs(one.simulation.qpos - other.simulation.qpos).max() > 1e-3


def test_without_the_controller_the_actions_of_a_standing_body_stay(make: Make) -> None:
    one, other = made(make, 1, trip=False), made(make, 1, trip=False)
    for batch, kick in ((one, 0.1), (other, 0.0)):
        everybody(batch, 0.0, 0.0, 0.0)
        batch.stood[:] = 60.0
        batch.step(still(batch) + kick)
    assert np.abs(one.simulation.qpos - other.simulation.qpos).max() > 1e-3


def test_a_pressed_body_steps_away_along_its_own_frame_until_a_reset(
    make: Make,
) -> None:
    batch = made(make, 2)
    everybody(batch, 0.0, 0.0, 0.0)
    batch.reference_frame[:, 2] = 0.5 * np.pi  # the frame looks along the world's Y
    batch.state.yaw[:] = -0.4  # a body that is turned from it changes nothing
    batch.force[0], batch.touched_until[0] = [0.0, -60.0], np.inf
    batch.felt = batch.force.copy  # what presses goes on to press
    batch.step(still(batch))
    assert not batch.standing[0]
    assert batch.given[0, 0] < -0.1
    assert abs(batch.given[0, 2]) < 0.02
    np.testing.assert_array_equal(batch.given[1], 0.0)
    assert (batch._followed_command()[0] <= 0.0).all()
    batch.reset(np.array([0]))
    np.testing.assert_array_equal(batch.given, 0.0)
