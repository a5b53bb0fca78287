"""Locomotion runs that begin with a teacher or another model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.locomotion_runs import (
    BODIES,
    ROLLOUT,
    TEACHER,
    TINY,
    motion_network,
    run,
    settings,
)
from fixtures.run_files import weights

from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.policies.agents.locomotion import load_locomotion, load_locomotion_agent
from ambulo.policies.networks.locomotion_policy import make_policy
from ambulo.train.locomotion.bodies import make_bodies, references_for
from ambulo.train.locomotion.teachers import ControllerTeacher, PolicyTeacher
from ambulo.train.shared.dagger import teach
from ambulo.train.train_locomotion import main as train


@pytest.mark.integration
def test_the_network_learns_what_the_law_does(reference: Path) -> None:
    config = LocomotionConfig.model_validate(TINY).override(
        "environment", reference=str(reference), balance_law=False, push_impulse=(5, 20)
    )
    teacher = {"samples": 1200, "rounds": 4, "epochs": 10, "last_epochs": 40}
    config = config.override("training", teacher=teacher)
    references = references_for(config)
    batch = make_bodies(config, BODIES, references, seed=1)
    torch.manual_seed(0)
    policy = make_policy(config.network, batch.layout, batch.action_size)
    assert config.training.teacher is not None
    with StopRequest() as stop:
        rounds = teach(
            policy,
            batch,
            config.training.teacher,
            ControllerTeacher(),
            seed=0,
            stop=stop,
        )
    assert [row.samples for row in rounds] == [300, 600, 900, 1200]
    assert rounds[-1].error < 0.8 * rounds[0].error
    batch.reset(np.arange(BODIES))
    for _ in range(15):
        batch.step(np.zeros((BODIES, batch.action_size)))
    wanted = batch.teacher_actions()
    with torch.inference_mode():
        played = policy.means(torch.as_tensor(batch.obs)).numpy()
    assert np.square(played - wanted).mean() < 0.25 * np.square(wanted).mean()


@pytest.mark.integration
def test_a_trained_policy_teaches_the_sum_of_law_and_residual(
    reference: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path / "c.json", reference)
    folder = run(config, "master", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    agent = load_locomotion_agent(folder.final_model)
    theirs = agent.config.override("environment", action_scale=0.4)
    agent.config = theirs.override("environment", reference=str(reference))
    references = references_for(agent.config)
    twins = [
        make_bodies(
            agent.config.override(
                "environment", balance_law=controller, action_scale=scale
            ),
            BODIES,
            references,
            seed=3,
        )
        for controller, scale in ((True, 0.4), (False, 0.8))
    ]
    played, student = twins
    teacher = PolicyTeacher(agent, student)
    for batch in twins:
        batch.reset(np.arange(BODIES))
    for _ in range(
        12
    ):  # the student does as it is told: the same walk without a controller
        played.step(agent.act(played.obs))
        wanted = teacher.actions(student)
        assert np.abs(wanted).max() < 1.0
        student.step(wanted)
    np.testing.assert_allclose(
        student.simulation.qpos, played.simulation.qpos, rtol=0.0, atol=1e-6
    )
    assert np.abs(played.balance_offsets).max() > 0.01
    other = student.config.override("environment", joints=("Femur?", "Tibia?"))
    legs = make_bodies(other, 1, references, seed=3)
    with pytest.raises(ConfigError, match="joints that the actions do not move"):
        PolicyTeacher(agent, legs)


@pytest.mark.integration
def test_a_taught_run_follows_its_teachers_reference(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = settings(tmp_path / "c.json", reference)
    master = run(config, "master", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    config = settings(
        tmp_path / "t.json",
        reference,
        training={"teacher": TEACHER},
        environment={"reference": None},
    )
    student = run(
        config, "student", "--teacher", str(master.path), "--timesteps", str(ROLLOUT)
    )
    model = load_locomotion(student.final_model)
    assert model.attachments == load_locomotion(master.best_model).attachments
    teacher = model.metadata.config.training.teacher
    assert teacher is not None
    assert teacher.model == "best_model.zip"  # no folder of this machine
    rows = json.loads(student.evaluations.read_text())
    assert [row["timesteps"] for row in rows] == [0, ROLLOUT]
    more = ["--config", str(config), "--no-progress", "--teacher", str(master.path)]
    assert train([*more, "--reference", str(tmp_path / "other.npz")]) == 2
    assert "follows s.npz, not other.npz" in capsys.readouterr().err


@pytest.mark.integration
def test_a_run_from_a_model_follows_what_it_followed(
    reference: Path, tmp_path: Path
) -> None:
    config = settings(tmp_path / "c.json", reference)
    first = run(config, "first", "--timesteps", str(ROLLOUT), "--eval-freq", "0")
    config = settings(tmp_path / "d.json", reference, environment={"reference": None})
    more = ["--timesteps", str(ROLLOUT), "--eval-freq", "0", "--init-from"]
    second = run(config, "second", *more, str(first.final_model))
    before, after = (load_locomotion(f.final_model) for f in (first, second))
    assert after.attachments == before.attachments


@pytest.mark.integration
def test_what_the_teacher_made_is_the_best_unless_learning_betters_it(
    reference: Path, tmp_path: Path
) -> None:
    teacher = {**TEACHER, "critic_updates": 1}
    config = settings(
        tmp_path / "c.json",
        reference,
        training={"teacher": teacher},
        environment={"balance_law": False},
    )
    # Steps so large that nothing is left of what was learned.
    folder = run(config, "spoiled", "--set", "ppo.learning_rate=5")
    rows = json.loads(folder.evaluations.read_text())
    assert rows[0]["timesteps"] == 0
    assert rows[0]["return_mean"] > rows[-1]["return_mean"]
    assert weights(folder.best_model) == weights(folder.checkpoint(0))


@pytest.mark.integration
@pytest.mark.parametrize("with_prior", [False, True])
def test_critic_first_leaves_the_actor_as_the_teacher_made_it(
    reference: Path, tmp_path: Path, with_prior: bool
) -> None:
    teacher = {**TEACHER, "critic_updates": 100}
    network: dict[str, Any] = {}
    if with_prior:
        prior = {"model": str(motion_network(tmp_path / "motion.zip")), "frames": 2}
        network = {"policy": "prior", "prior": prior}
    config = settings(
        tmp_path / "c.json",
        reference,
        training={"teacher": teacher},
        environment={"balance_law": False},
        network=network,
    )
    folder = run(config, "taught")
    before = load_locomotion(folder.checkpoint(0)).weights
    after = load_locomotion(folder.final_model).weights
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(n.startswith(("mlp_extractor.critic", "value_net")) for n in changed)
