"""Weak and short muscles: in the table as in the model."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.muscle.conditions import condition, model_with, table_with
from ambulo.muscle.muscles import MuscleLayer, gain_and_bias, muscle_table

Load = Callable[[str], mujoco.MjModel]


@pytest.mark.integration
@pytest.mark.parametrize("name", ["myolegs", "myofullbody"])
def test_table_and_model_agree(packaged: Load, name: str) -> None:
    model = packaged(name)
    table = muscle_table(model)
    rng = np.random.default_rng(0)
    state = condition(table.names, {"*_r": 0.3}, {"soleus_*": 0.9})
    here = table_with(table, state)
    there = muscle_table(model_with(model, state))
    np.testing.assert_allclose(here.packed(), there.packed(), rtol=1e-12)
    length = table.tendon_length + rng.uniform(0.7, 1.4, (1, table.size)) * (
        table.optimal_length
    )
    speed = rng.normal(0.0, 0.1, (1, table.size))
    healthy, _ = gain_and_bias(table, length, speed)
    weak, _ = gain_and_bias(here, length, speed)
    right = np.array([n.endswith("_r") and "soleus" not in n for n in table.names])
    np.testing.assert_allclose(weak[:, right], 0.3 * healthy[:, right])


def test_contracture_stretches_the_fibre_and_pulls_earlier(packaged: Load) -> None:
    model = packaged("myolegs")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    layer = MuscleLayer(model)
    state = condition(layer.table.names, length={"soleus_r": 0.85})
    short = MuscleLayer(model_with(model, state))
    soleus = layer.table.names.index("soleus_r")
    # Less length, more pull (negative), in the same pose.
    assert short.at(data).bias[0, soleus] < layer.at(data).bias[0, soleus] - 1.0


def test_the_healthy_model_is_left_alone(packaged: Load) -> None:
    model = packaged("myoelbow")
    before = muscle_table(model).packed()
    model_with(model, condition(muscle_table(model).names, {"*": 0.1}, {"*": 0.9}))
    np.testing.assert_array_equal(before, muscle_table(model).packed())


def test_later_rules_win_and_bad_ones_are_named() -> None:
    names = ("soleus_r", "soleus_l", "psoas_r")
    state = condition(names, {"soleus_*": 0.5, "*_l": 0.0})
    assert state.force.tolist() == [0.5, 0.0, 1.0]
    assert state.length.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(MuscleError, match=r"'solus_r' \(did you mean 'soleus_r'\?\)"):
        condition(names, {"solus_r": 0.5})
    with pytest.raises(MuscleError, match=r"'psoas_r': expected 0 to 2, got -1"):
        condition(names, {"psoas_r": -1.0})
    with pytest.raises(MuscleError, match=r"expected 0\.1 to 2, got 0"):
        condition(names, length={"psoas_r": 0.0})
