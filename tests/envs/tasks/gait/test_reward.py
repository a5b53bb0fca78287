import numpy as np
import pytest

from ambulo.configs.gait_env import GaitConfig
from ambulo.envs.tasks.gait.group import GaitErrors, gait_factors


def factors(**changes):
    still = {
        "head_change": np.zeros((1, 3)),
        "head_turn": np.zeros(1),
        "velocity": np.zeros((1, 2)),
        "step": np.zeros((1, 3)),
        "effort": np.zeros(1),
    }
    return gait_factors(GaitErrors(**{**still, **changes}), GaitConfig())


def test_no_errors_give_the_full_reward():
    assert all(value[0] == 1.0 for value in factors().values())


def test_published_constants():
    head = factors(head_change=np.array([[0.3, 0.0, 0.0]]))["head"][0]
    assert head == pytest.approx(np.exp(-4.0 * 0.09 / 3.0))
    turned = factors(head_turn=np.array([0.5]))["head"][0]
    assert turned == pytest.approx(np.exp(-1.0))
    slow = factors(velocity=np.array([[-0.3, 0.1]]))["average"][0]
    assert slow == pytest.approx(np.exp(-6.0 * 0.1))
    effort = factors(effort=np.array([0.125]))["metabolic"][0]
    assert effort == pytest.approx(np.exp(-1.0))


def test_steps_have_a_tolerance_along_each_axis():
    assert factors(step=np.array([[0.075, -0.07, 0.0]]))["step"][0] == 1.0
    off = factors(step=np.array([[0.175, 0.0, 0.0]]))["step"][0]
    assert off == pytest.approx(np.exp(-2.0 * 0.64 / 3.0))
