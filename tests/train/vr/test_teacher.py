"""A planner that teaches a policy before reinforcement learning."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fixtures.run_files import table

from ambulo.common.signals import StopRequest
from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig, NavigationTeacherConfig
from ambulo.envs.vr.planners.planners import make_planner
from ambulo.envs.vr.task.build import make_batch
from ambulo.policies.learner import learn_until
from ambulo.train.shared.dagger import CriticFirst
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.planner_labels import PlannerLabels
from ambulo.train.vr.training import NavigationTraining

TEACHER = NavigationTeacherConfig(
    samples=4096, rounds=2, epochs=4, last_epochs=8, batch_size=256, critic_updates=1
)
CONFIG = (
    VR_PRESETS.load("embodied_quick")
    .override("environment", levels=("open",), levels_per_family=4, num_environments=16)
    .override("observations", memory="plan")
    .override("training", init_from=None, teacher=TEACHER)
)


@pytest.fixture
def training(tmp_path):
    made = NavigationTraining(CONFIG, NavigationRunFolder(tmp_path))
    yield made
    made.close()


def actor_of(training):
    names = training.learner.policy.state_dict()
    return {
        k: v.clone() for k, v in names.items() if ".actor." in k or "action_net" in k
    }


@pytest.mark.integration
def test_the_policy_acts_as_its_teacher(training):
    with StopRequest() as stop:
        assert training.begin(stop, initialised=False)
    rows = table(training.folder.path / "teacher.csv")
    assert [int(row["samples"]) for row in rows] == [2048, 4096]
    batch, envs = make_batch(CONFIG, 16, seed=5), np.arange(16)
    batch.reset(envs)
    labels, errors, sizes = PlannerLabels("planner", 16), [], []
    agent = training.agent()
    for _ in range(20):
        wanted = labels.actions(batch)
        errors.append(agent.act(batch.obs) - wanted)
        sizes.append(wanted)
        batch.step(wanted)
    assert np.sqrt(np.mean(np.square(errors))) < 0.5 * np.std(sizes)


@pytest.mark.integration
def test_a_run_that_begins_with_a_model_is_not_taught(training):
    before = actor_of(training)
    with StopRequest() as stop:
        assert not training.begin(stop, initialised=True)
    after = actor_of(training)
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.integration
def test_a_recurrent_policy_is_taught_sequences(tmp_path):
    config = CONFIG.override("network", recurrent=16)
    training = NavigationTraining(config, NavigationRunFolder(tmp_path))
    before = actor_of(training)
    with StopRequest() as stop:
        assert training.begin(stop, initialised=False)
    errors = [float(row["error"]) for row in table(tmp_path / "teacher.csv")]
    assert max(errors) < 0.45
    taught = actor_of(training)
    assert all(not torch.equal(taught[name], before[name]) for name in before)
    first = CriticFirst(TEACHER.critic_updates, config.environment.num_environments)
    rollout = config.ppo.n_steps * config.environment.num_environments
    learn_until(training.learner, rollout, first, log_interval=None)
    after = actor_of(training)
    assert all(torch.equal(taught[name], after[name]) for name in before)
    training.close()


@pytest.mark.integration
def test_the_first_updates_leave_the_taught_actor_alone(training):
    assert CONFIG.ppo.route_coef > 0.0
    first = CriticFirst(TEACHER.critic_updates, CONFIG.environment.num_environments)
    before = actor_of(training)
    rollout = CONFIG.ppo.n_steps * CONFIG.environment.num_environments
    learn_until(training.learner, rollout, first, log_interval=None)
    for name, value in actor_of(training).items():
        assert torch.equal(value, before[name]), name
    learn_until(training.learner, 2 * rollout, first, log_interval=None)
    now = actor_of(training)
    assert not torch.equal(now["action_net.weight"], before["action_net.weight"])


def test_a_planner_forgets_episodes_that_have_ended():
    batch, envs = make_batch(CONFIG, 2), np.arange(2)
    labels, planner = PlannerLabels("planner", 2), make_planner("planner", 2)
    batch.reset(envs)
    for _ in range(12):
        batch.step(labels.actions(batch))
    batch.reset(envs)
    planner.reset(envs, envs)
    np.testing.assert_array_equal(labels.actions(batch), planner.act(batch))


def test_planners_teach_no_discrete_actions():
    taught = NavigationConfig().override("training", teacher=TEACHER)
    with pytest.raises(ConfigError, match=r"teacher needs actions\.mode = continuous"):
        taught.override("actions", mode="discrete")
