import json

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, GaitParameterError
from ambulo.configs.gait import GaitSpace, gait_space
from ambulo.envs.tasks.gait.manager import FELL, RUNNING, TIME_OVER, EnvManager

SPACE = gait_space("human23")


@pytest.fixture
def manager(config, reference):
    made = EnvManager(config, reference=reference, seed=1, step_limit=40)
    made.reset()
    yield made
    made.close()


def test_an_episode(manager):
    assert manager.is_eoe() == RUNNING
    manager.set_action(np.zeros(manager.get_num_action()))
    manager.step()
    assert manager.get_reward() > 1.0
    assert manager.get_state().shape == (manager.batch.layout.size,)
    while manager.is_eoe() == RUNNING:
        manager.step()
    assert manager.is_eoe() in (FELL, TIME_OVER)


def test_a_fall_is_told_from_the_end_of_time(config, reference):
    made = EnvManager(config, reference=reference, seed=1, step_limit=2)
    made.reset()
    made.step()
    made.step()
    assert made.is_eoe() == TIME_OVER
    made.close()


def test_parameters(manager):
    values = SPACE.vector(stride=1.1, femur_length_left=0.92)
    manager.set_param_state(values)
    manager.reset()
    np.testing.assert_array_equal(manager.get_param_state(), values)
    normal = manager.get_normalized_param_state()
    np.testing.assert_allclose(normal, SPACE.normalize(values))
    np.testing.assert_allclose(manager.get_param_state_from_normalized(normal), values)
    np.testing.assert_allclose(
        manager.get_normalized_param_state_from_param(values), normal
    )
    mirrored = manager.get_mirror_param_state(normal)
    np.testing.assert_allclose(mirrored, SPACE.normalize(SPACE.mirror(values)))
    assert manager.get_num_known_param() == 13
    np.testing.assert_array_equal(manager.get_param_min(), SPACE.low)
    np.testing.assert_array_equal(manager.get_param_max(), SPACE.high)
    sample = manager.get_normalized_param_sample()
    assert ((sample >= 0.0) & (sample <= 1.0)).all()
    with pytest.raises(GaitParameterError):
        manager.set_param_state(2.0 * values)
    manager.update_param_state()
    drawn = manager.get_param_state()
    assert not np.array_equal(drawn, values)


def test_parameters_that_are_fixed_are_not_drawn(config, reference):
    made = EnvManager(config, reference=reference, seed=1, parameters={"stride": 1.1})
    stride = SPACE.index("stride")
    first = made.get_param_state()
    made.update_param_state()
    second = made.get_param_state()
    made.close()
    assert first[stride] == second[stride] == 1.1
    assert not np.array_equal(first, second)


def test_poses_lead_back(manager):
    positions = manager.get_positions()
    assert positions.shape == (56,)
    sixdof = manager.pos_to_sixdof(positions)
    assert sixdof.shape == (101,)
    np.testing.assert_allclose(manager.sixdof_to_pos(sixdof), positions, atol=1e-9)
    mirrored = manager.get_mirror_positions(positions)
    assert mirrored[4] == pytest.approx(-positions[4])
    np.testing.assert_allclose(
        manager.get_mirror_positions(mirrored), positions, atol=1e-9
    )


def test_only_the_own_clock_is_warped(manager):
    start = manager.get_normalized_phase()
    assert manager.get_world_phase() == pytest.approx(start)
    action = np.zeros(manager.get_num_action())
    action[-1] = 1.0
    manager.set_action(action)
    manager.step()
    own = (manager.get_normalized_phase() - start) % 1.0
    world = (manager.get_world_phase() - start) % 1.0
    assert own == pytest.approx(1.1 * world)


def test_a_body_with_motors_has_no_muscles(manager):
    assert not manager.get_use_muscle()
    assert manager.get_num_muscles() == 0
    assert manager.get_num_actuator_action() == manager.get_num_action() - 1
    with pytest.raises(ConfigError, match="no muscles"):
        manager.get_random_muscle_tuple()


def test_metadata_holds_settings_and_space(manager):
    told = json.loads(manager.get_metadata())
    assert told["config"]["environment"]["task"] == "gait"
    assert GaitSpace.from_json(told["space"]) == SPACE
