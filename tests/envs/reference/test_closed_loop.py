"""The closed-loop cycle out of a roll-out with known deviations."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import MotionError
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.reference.closed_loop import RollOut, closed_loop_cycle, roll_out
from ambulo.envs.reference.reference_table import ReferenceTable


@pytest.fixture(scope="module")
def body() -> Character:
    return human23()


@pytest.fixture
def table(body: Character) -> ReferenceTable:
    """Standing still, carried forward by a metre a second."""
    qpos = np.tile(body.model.qpos0, (64, 1))
    qpos[:, 0] = np.arange(64) / 64
    qvel = np.zeros((64, body.model.nv))
    qvel[:, 0] = 1.0
    return ReferenceTable(
        1.0, np.array([1.0, 0.0, 0.0]), qpos, qvel, np.zeros_like(qvel)
    )


def made(body: Character, steps: int, standing: bool = True) -> RollOut:
    """A roll-out that drifts by 0.1 m/s with its first hinge 0.05 sin(phase) off."""
    nv, dt, count = body.model.nv, 1.0 / 30.0, 3
    out = RollOut(dt, np.full(count, steps * dt))
    for k in range(steps):
        phase = np.full(count, (k + 1) * dt % 1.0)
        gone = np.zeros((count, 2 * nv))
        gone[:, 0] = 0.1 * k * dt
        gone[:, 9] = 0.05 * np.sin(2.0 * np.pi * phase)
        out.phase.append(phase)
        out.deviation.append(gone)
        out.torque.append(np.full((count, nv - 6), 7.0))
        out.standing.append(np.full(count, standing))
    return out


def test_drift_deviation_and_torque_become_the_reference(
    body: Character, table: ReferenceTable
) -> None:
    found = closed_loop_cycle(body, table, made(body, 150))
    assert found.speed == pytest.approx(1.1, abs=1e-6)
    np.testing.assert_allclose(found.torque[:, 6:], 7.0, atol=1e-6)
    np.testing.assert_allclose(found.torque[:, :6], 0.0)
    moved = found.qpos - table.qpos
    hinge = int(body.model.jnt_qposadr[body.model.dof_jntid[9]])
    expected = 0.05 * np.sin(2.0 * np.pi * np.arange(64) / 64)
    np.testing.assert_allclose(moved[:, hinge], expected, atol=1e-6)
    np.testing.assert_allclose(np.delete(moved, [0, hinge], axis=1), 0.0, atol=1e-9)


def test_early_falls_are_refused(body: Character, table: ReferenceTable) -> None:
    with pytest.raises(MotionError, match="fall before"):
        closed_loop_cycle(body, table, made(body, 150, standing=False))


def test_without_a_law_a_standing_body_falls(
    body: Character, table: ReferenceTable
) -> None:
    rolled = roll_out(body, table, None, 2, 2.0, control_dt=1.0 / 30.0)
    assert rolled.share(2.0) == 0.0
    assert (rolled.survived < 2.0).all()
    assert rolled.activation == 0.0
