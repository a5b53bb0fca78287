"""The shipped policies walk: loaded by name, without the clips that they learned from."""

from __future__ import annotations

import pytest

from ambulo.common.find_model import find_model
from ambulo.evaluate.locomotion.evaluation import stored_references
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion
from ambulo.train.locomotion.bodies import make_bodies
from ambulo.train.locomotion.validation import play

SECONDS = 4.0


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "speed", "error"),
    [
        ("imitate_walk", 1.19, 3.0),
        ("imitate_walk_network", 1.19, 3.0),
        ("imitate_walk_pure", 1.19, 6.0),
        ("imitate_run", 2.41, 3.0),
        ("muscle_walk", 1.03, 3.0),
    ],
)
def test_a_shipped_policy_walks_at_the_speed_of_its_card(
    name: str, speed: float, error: float
) -> None:
    model = load_locomotion(find_model(name))
    config = model.metadata.config
    steps = round(SECONDS * config.environment.control_rate)
    calm = config.override(
        "environment", push_impulse=(0.0, 0.0), max_episode_steps=steps
    )
    bodies = make_bodies(calm, 4, stored_references(model, name), seed=7)
    scores = play(LocomotionAgent(model), bodies, steps)
    bodies.close()
    assert scores["survival_rate"] == 1.0
    assert scores["speed"] == pytest.approx(speed, abs=0.1)
    assert scores["joint_error_deg"] < error


@pytest.mark.integration
def test_the_shipped_walker_goes_at_the_speed_that_it_is_told() -> None:
    model = load_locomotion(find_model("locomote"))
    config = model.metadata.config
    steps = round(SECONDS * config.environment.control_rate)
    calm = config.override(
        "environment", speed=(1.0, 1.0), turn=(0.0, 0.0), max_episode_steps=steps
    )
    bodies = make_bodies(calm, 4, stored_references(model, "locomote"), seed=7)
    scores = play(LocomotionAgent(model), bodies, steps)
    bodies.close()
    assert scores["survival_rate"] == 1.0
    assert scores["speed"] == pytest.approx(1.0, abs=0.15)
