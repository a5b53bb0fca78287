"""A cycle is a clip that closes: what a body makes of it repeats."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.fit import fit
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.reference.reference import Reference

DT = 1.0 / 30.0
JOINTS = LocomotionEnvironmentConfig().joints


@pytest.mark.slow
def test_standing_is_a_cycle_of_one_step(
    character: Character, standing: Reference
) -> None:
    dofs = matching_dofs(character, JOINTS)
    found = fit(character, standing.table, control_dt=DT, dofs=dofs)
    assert found.table.periodic
    assert found.table.period == pytest.approx(DT)
    assert found.gap < 1e-3
    assert found.controller.gains.shape == (1, len(dofs), 2 * character.model.nv)
    np.testing.assert_array_equal(found.controller.dofs, dofs)
    assert np.abs(found.table.qpos[0, 2] - standing.table.qpos[0, 2]) < 0.01


@pytest.mark.slow
def test_the_plain_walk_keeps_its_stride(
    character: Character, plain: Reference
) -> None:
    """It takes longer than three cycles to settle: its gap is 0.07, captured walks' 0.002."""
    dofs = matching_dofs(character, JOINTS)
    found = fit(character, plain.table, control_dt=DT, dofs=dofs)
    steps = found.table.period / DT
    assert steps == pytest.approx(round(steps))
    assert found.table.speed == pytest.approx(plain.table.speed, rel=0.05)
    assert found.gap < 0.15
