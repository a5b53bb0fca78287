"""Doors, sweeping walls and people of a user's own scene, in lockstep."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch

ENVS = 2
SPEED = 1.5
"""Of the sweeping wall, [m/s]."""
Pose = tuple[float, float, float]


@pytest.fixture
def street(
    in_scene: Callable[[str], dict[str, str]],
) -> Iterator[Callable[[Pose, Pose], NavigationBatch]]:
    """Makes a batch in the street with bodies at two places, x, y, yaw each."""
    made: list[NavigationBatch] = []
    config = NavigationConfig().override("environment", **in_scene("street"))

    def make(*poses: Pose) -> NavigationBatch:
        batch = make_batch(config, ENVS, split="heldout")
        made.append(batch)
        batch.reset(np.arange(ENVS))
        rows = np.array([[*pose, 0.0] for pose in poses])
        batch.world.reset(np.arange(ENVS), np.zeros(ENVS, np.int64), rows)
        return batch

    yield make
    for batch in made:
        batch.close()


def stand(batch: NavigationBatch, steps: int) -> dict[str, np.ndarray]:
    """What bodies that stand still go through, step by step."""
    rows: dict[str, list[np.ndarray]] = {
        name: []
        for name in ("position", "rays", "collisions", "people_collisions", "fault")
    }
    for _ in range(steps):
        state = batch.world.step(np.zeros((ENVS, 3)))
        for name, found in rows.items():
            found.append(getattr(state, name).copy())
    return {name: np.array(found) for name, found in rows.items()}


def test_an_animated_gate_is_seen_where_its_time_has_it(street) -> None:
    """It stands at engine x = 6 for a second, slides to 9 in one, and back in another."""
    batch = street((4.0, -6.0, 0.0), (4.0, -7.1, 0.0))
    seen = stand(batch, 80)["rays"][:, :, 0]
    shut = seen < 2.5
    np.testing.assert_allclose(seen[shut], 1.9, atol=0.01)
    assert (seen[~shut] == 5.0).all()
    # Of each 4 s it is 1.67 s in the way of the first body, 1.33 s in that of the second.
    assert shut[:40, 0].sum() == pytest.approx(16.7, abs=1.1)
    assert shut[:40, 1].sum() == pytest.approx(13.3, abs=1.5)
    np.testing.assert_array_equal(shut[:40], shut[40:])


def test_a_sweeping_wall_pushes_and_is_never_walked_through(street) -> None:
    """It comes towards the first body, which runs against it, and pushes it back."""
    batch = street((0.0, 5.0, np.pi / 2), (0.0, -4.3, 0.0))
    faces, places, touched = [], [], 0
    for _ in range(60):
        state = batch.world.step(np.tile([0.0, 1.0, 0.0], (ENVS, 1)))
        faces.append(state.position[0, 1] + state.rays[0, 0])
        places.append(state.position[0, 1])
        touched += int(state.collisions[0])
    # Who runs at 2 m/s meets a wall that comes at 1.5 m/s; from then on they go together.
    assert touched >= 1
    gap = np.array(faces) - np.array(places)
    assert gap.min() > BODY_RADIUS - 0.02
    held = gap < BODY_RADIUS + 0.1
    assert held.sum() > 30
    assert np.diff(np.array(places)[held]) == pytest.approx(-0.1 * SPEED, abs=0.01)


def test_who_is_pressed_against_a_wall_is_not_pushed_through_it(street) -> None:
    batch = street((0.0, -4.3, 0.0), (3.0, -8.0, 0.0))
    there = stand(batch, 110)["position"][:, 0]
    assert there[:, 1].min() > -4.85 + BODY_RADIUS - 0.1
    assert np.isfinite(there).all()


def test_people_are_counted_as_such_and_walls_are_not(street) -> None:
    batch = street((-6.0, 0.0, 0.0), (0.0, -4.3, 0.0))
    there = stand(batch, 100)
    assert not there["fault"].any()
    # The walker comes by the first body; nothing else touches it.
    people = there["people_collisions"][:, 0].sum()
    assert people >= 1
    assert there["collisions"][:, 0].sum() == people
    # The sweeping wall comes by the second.
    assert there["collisions"][:, 1].sum() >= 1
    assert there["people_collisions"][:, 1].sum() == 0


def test_a_node_in_the_group_people_counts_with_all_below_it(street) -> None:
    batch = street((6.0, 5.0, np.pi / 2), (6.0, -9.0, 0.0))
    people = np.zeros(ENVS, np.int64)
    for _ in range(12):
        state = batch.world.step(np.tile([0.0, 1.0, 0.0], (ENVS, 1)))
        people += state.people_collisions
    assert people.tolist() == [1, 0]
    assert np.hypot(*(state.position[0, :2] - [6.0, 6.0])) >= 2 * BODY_RADIUS - 0.01
