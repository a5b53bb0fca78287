"""A body of the user's own walks as commanded, on its controllers alone."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.own_bodies import humanoid_xml

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference import walk_gaits
from ambulo.envs.reference.legs import legs_of
from ambulo.envs.simulation.disturbance import Pushes
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject
from ambulo.evaluate.locomotion.trials import run_course

STEPS = ((-0.35, 0.18), (0.0, 0.18), (0.5, 0.15), (3.0, 0.14))


@pytest.fixture(scope="module")
def walkers(tmp_path_factory: pytest.TempPathFactory) -> WalkingBatch:
    file = tmp_path_factory.mktemp("body") / "walker.xml"
    file.write_text(humanoid_xml())
    settings = {"task": "walk_commands", "character": str(file)}
    settings["push_impulse"] = (10.0, 20.0)
    config = LocomotionConfig.model_validate(
        {"environment": settings, "walk": {"stand_start": 1.0}}
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk_gaits, "STEPS", STEPS)
        patch.setattr(walk_gaits, "PERIODS", (0.8,))
        batch = make_batch(config, 6, seed=0)
    assert isinstance(batch, WalkingBatch)
    return batch


@pytest.mark.integration
def test_speeds_end_with_the_fastest_gait_that_holds(walkers: WalkingBatch) -> None:
    pace = legs_of(walkers.character).pace
    names = [gait.name for gait in walkers.reference.gaits]
    assert sorted(names[1:3]) == ["0.00", "stand"]
    assert (names[0], names[3:]) == (f"{-0.35 * pace:.2f}", [f"{0.5 * pace:.2f}"])
    assert walkers.reference.gaits[-1].report["held"] >= 0.5
    walkers.reset(np.arange(6))
    walkers.set_command(np.arange(6), np.full(6, 3.0), np.zeros(6), np.full(6, 1.0))
    assert walkers.clamped.all()
    np.testing.assert_allclose(walkers.goal[:, 0], 0.5 * pace, rtol=1e-3)
    np.testing.assert_allclose(walkers.goal[:, 2], 0.3 * pace)


@pytest.mark.integration
def test_it_walks_turns_and_stops_without_a_policy(walkers: WalkingBatch) -> None:
    walkers.reset(np.arange(6))
    walkers.pushes.start[:] = np.inf
    still = np.zeros((6, walkers.action_size))
    speed = np.array([0.4, 0.3, 0.0, 0.0, -0.1, 0.4])
    turning = np.deg2rad([0.0, 20.0, 30.0, 0.0, 0.0, 0.0])
    side = np.array([0.0, 0.0, 0.0, 0.1, 0.0, 0.0])
    walkers.set_command(np.arange(6), speed, turning, side)
    fell, moved = np.zeros(6, np.bool_), []
    for step in range(210):
        if step == 150:
            walkers.set_command(np.array([5]), np.zeros(1), np.zeros(1))
        fell |= walkers.step(still)[2]
        if 90 <= step < 150:
            moved.append(walkers.state.heading[:, 0].copy())
    assert not fell.any()
    np.testing.assert_allclose(np.mean(moved, axis=0), speed, atol=0.1)
    assert walkers.standing.tolist() == [False] * 5 + [True]


@pytest.mark.integration
def test_pushes_go_by_its_mass(walkers: WalkingBatch) -> None:
    pushes: Pushes = walkers.pushes
    pushes.begin(np.arange(6), walkers.rngs)
    impulse = np.linalg.norm(pushes.force, axis=1) * 0.2
    mass = float(walkers.character.model.body_mass.sum())
    assert (impulse >= 10.0 * mass / 70.0).all()
    assert (impulse <= 20.0 * mass / 70.0).all()
    pushes.plan(np.zeros(6), 14.0, np.zeros(6))
    np.testing.assert_allclose(pushes.force, [[mass, 0.0]] * 6)


@pytest.mark.integration
def test_trials_command_alike_gaits_up_to_the_fastest(walkers: WalkingBatch) -> None:
    subject, goals = LocomotionSubject(walkers.config, (walkers.reference,)), []
    course = run_course(
        subject,
        np.array([(0.5, 0.0, 0.1), (0.6, 0.0, 0.1)]),
        0.1,
        seed=0,
        event=lambda batch, _: goals.append(batch.goal.copy()),
    )
    pace = legs_of(walkers.character).pace
    np.testing.assert_allclose(goals[0][0], [0.5 * pace, 0.0, 0.1 * pace], rtol=1e-3)
    assert course.taken.tolist() == [True, False]
