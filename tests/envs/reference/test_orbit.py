"""The orbit next to standing: the pose that the simulation keeps."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.characters.character import Character
from ambulo.envs.reference.orbit import OrbitSearch
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.stabilize import sole_balls

DT = 1.0 / 30.0


@pytest.fixture(scope="module")
def searched(character: Character, standing: Reference) -> tuple[float, OrbitSearch]:
    """The first gap, [J], and two rounds from the standing pose."""
    found = OrbitSearch(character, standing.table, DT)
    before = found.gap
    for _ in range(2):
        if not found.advance(found.linearized()):
            break
    return before, found


@pytest.fixture
def search(searched: tuple[float, OrbitSearch]) -> OrbitSearch:
    return searched[1]


def test_the_gap_closes(searched: tuple[float, OrbitSearch]) -> None:
    before, search = searched
    assert 0.0 < search.gap < 0.2 * before


def test_the_pose_stays_near_the_reference(
    search: OrbitSearch, standing: Reference
) -> None:
    assert search.moved < 0.05
    table, before = search.table, standing.table
    assert len(table.qpos) == 5  # one sample a physics step
    assert table.period == pytest.approx(DT)
    np.testing.assert_allclose(table.qpos[:, 2], before.qpos[0, 2], atol=0.01)
    np.testing.assert_allclose(np.linalg.norm(table.qpos[:, 3:7], axis=1), 1.0)


def test_torque_of_the_root_is_none(search: OrbitSearch) -> None:
    np.testing.assert_array_equal(search.table.torque[:, :6], 0.0)
    assert np.abs(search.table.torque[:, 6:]).max() > 1.0


def test_soles_are_on_the_bodies_of_the_feet(character: Character) -> None:
    balls = sole_balls(character)
    names = [character.model.body(body).name for body, _, _ in balls]
    assert len(balls) == 12
    assert set(names) == {
        f"{part}{side}" for part in ("Talus", "FootPinky", "FootThumb") for side in "LR"
    }
    assert {radius for _, _, radius in balls} == {0.02}
