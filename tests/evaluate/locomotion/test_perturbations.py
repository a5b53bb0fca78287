"""Perturbations and chosen impulses of `ambulo eval`, with real physics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fixtures.standing import STANDING as CONFIG

from ambulo.common.find_model import find_model
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.variants import NOMINAL, Variant
from ambulo.evaluate.command import main
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    bodies,
    recorded,
    stored_references,
    undisturbed,
)
from ambulo.evaluate.locomotion.perturbations import (
    GROUPS,
    Perturbation,
    chosen_groups,
    perturbed,
    suite,
)
from ambulo.evaluate.locomotion.pushes import PushRecovery, chosen_impulses
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion


@pytest.fixture(scope="module")
def walker() -> LocomotionSubject:
    """A shipped policy."""
    file = load_locomotion(find_model("imitate_walk"))
    agent = LocomotionAgent(file)
    references = stored_references(file, "imitate_walk")
    return LocomotionSubject(agent.config, references, agent)


@pytest.mark.integration
def test_a_walker_slips_on_ice_and_not_on_the_floor(walker: LocomotionSubject) -> None:
    ice = Perturbation("ice", [Variant(friction=0.05)])
    for perturbation, survival in ((Perturbation("none"), 1.0), (ice, 0.0)):
        found = perturbed(walker, perturbation, 2, seconds=2.5, seed=0, envs=2)
        assert found is not None
        assert found.metrics["survival_rate"].value == survival


def test_a_late_action_changes_the_episodes(walker: LocomotionSubject) -> None:
    plain = recorded(walker, 3, seconds=0.5, seed=2)
    late = recorded(walker, 3, seconds=0.5, variants=[Variant(delay=0.03)], seed=2)
    assert (late.reward != plain.reward).any()


def test_episodes_are_divided_among_bodies(reference: Reference) -> None:
    who = LocomotionSubject(CONFIG, (reference,))
    each = [Variant(mass=0.5), NOMINAL]
    found = recorded(who, 5, seconds=0.1, variants=each, envs=4)
    assert found.episodes == 5
    alone = [
        recorded(who, 5, seconds=0.1, variants=[one], envs=4).returns for one in each
    ]
    # Chunks of 4 and 1 episodes; of a chunk, those of the first body come first.
    expected = np.array([alone[0][k] if k % 2 == 0 else alone[1][k] for k in range(5)])
    np.testing.assert_allclose(found.returns, expected[[0, 2, 1, 3, 4]], rtol=1e-9)


def test_the_suite_says_what_is_missing() -> None:
    walk, body = LocomotionConfig(), load_character("human23")
    whole = suite(tuple(GROUPS), walk, body)
    assert whole[0] == Perturbation("none")
    assert not any(one.missing for one in whole)
    assert len({one.name for one in whole}) == len(whole)
    masses = {one.name: one for one in suite(["mass"], walk, body)}
    lighter = masses["mass -20 %"].variants[0].applied_to(body.model)
    assert lighter.body_mass.sum() == pytest.approx(60.0)
    segments = masses["segments ±20 %"].variants
    factors = np.array([one.segments for one in segments])
    assert factors.shape == (8, body.model.nbody - 1)
    assert factors.min() >= 0.8
    assert factors.max() <= 1.2
    # Delays are whole substeps, and none comes twice.
    delays = [one.variants[0].delay for one in suite(["delay"], walk, body)[1:]]
    np.testing.assert_allclose(np.array(delays) * 150.0, [2, 3, 4, 6])
    grounds = ("steps", "slopes")
    tracks = suite(grounds, walk.override("environment", task="track"), body)
    stands = suite(grounds, walk.override("environment", task="stand"), body)
    legs = suite(grounds, walk, load_character("myolegs_motors"))
    for rows, words in (
        (tracks, "a clip has its own place"),
        (stands, "a body that stands"),
        (legs, "myolegs_motors stands"),
    ):
        assert [bool(one.missing) for one in rows] == [False] + [True] * 10
        assert words in rows[1].missing
        assert perturbed(None, rows[1], 3, seed=0, envs=1) is None  # type: ignore[arg-type]


def test_a_training_with_variation_is_evaluated_on_the_nominal_body(
    reference: Reference,
) -> None:
    varied = CONFIG.override("variation", mass=(0.8, 1.2), delay=(0.0, 0.04))
    calm = undisturbed(varied, 1.0)
    assert not calm.variation.varies
    batch = bodies(LocomotionSubject(varied, (reference,)), calm, [0, 1], 0)
    assert batch.variant == NOMINAL


@pytest.mark.integration
def test_the_table_and_the_json_hold_every_perturbation(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "report"
    arguments = [str(model), "--episodes", "2", "--seconds", "0.2", "--baselines"]
    arguments += ["open_loop", "--impulses", "400,0", "--push-episodes", "1"]
    perturb = ["--perturb", "start,steps", "--output", str(folder)]
    assert main([*arguments, *perturb]) == 0
    shown = capsys.readouterr().out
    line = next(row for row in shown.splitlines() if "steps up 5 cm" in row)
    assert line.split()[-2:] == ["-", "-"]
    data = json.loads((folder / "evaluation.json").read_text())
    rows = data["groups"]["perturbation"]
    assert list(rows) == [
        "none", "start 0.05 rad, 0.5 rad/s",
        "steps up 2 cm", "steps up 5 cm", "steps down 2 cm", "steps down 5 cm",
    ]  # fmt: skip
    noisy = "start 0.05 rad, 0.5 rad/s"
    survival = rows[noisy]["policy"]["survival_rate"]
    assert survival["value"] == 1.0
    assert survival["low"] == pytest.approx(0.3424, abs=1e-4)
    assert rows["steps up 5 cm"]["open_loop"]["survival_rate"]["value"] is None
    details = data["details"]["perturbations"]
    assert details[noisy]["settings"]["start_velocity_noise"] == 0.5
    assert "comes to no slope" in details["steps up 5 cm"]["missing"]
    assert list(data["groups"]["impulse"]) == ["0 N s", "400 N s"]
    assert (folder / "perturbations.png").is_file()
    page = (folder / "report.html").read_text()
    assert "no steps up 2 cm, steps up 5 cm" in page


def test_chosen_impulses() -> None:
    assert chosen_impulses("10, 40,20") == (10.0, 20.0, 40.0)
    unsure = PushRecovery((10.0, 20.0), (0.5, 0.4), ((0.0, 1.0),) * 2, 10, 75.0)
    assert np.isnan(unsure.impulse_90)  # somewhere below 10


def test_chosen_groups() -> None:
    assert chosen_groups("all") == tuple(GROUPS)
    assert chosen_groups(None) == ()
    assert suite((), LocomotionConfig(), load_character("human23")) == []
    assert chosen_groups("start, delay,start") == ("start", "delay")
    with pytest.raises(ConfigError, match="did you mean 'slopes'"):
        chosen_groups("slope")
