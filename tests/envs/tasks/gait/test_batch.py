import numpy as np
import pytest

import ambulo.envs  # noqa: F401
from ambulo.configs.errors import GaitParameterError
from ambulo.configs.gait import gait_space
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.configured import configured_character
from ambulo.envs.tasks.gait.batch import GaitBatch
from ambulo.envs.tasks.gait.group import PARAMETERS

SPACE = gait_space("human23")


@pytest.fixture
def batch(config, reference):
    made = make_batch(config, 4, seed=0, reference=reference)
    yield made
    made.close()


def play(batch, steps, action=0.0):
    actions = np.full((batch.num_envs, batch.action_size), action)
    return [batch.step(actions) for _ in range(steps)]


def test_groups_have_bodies_of_their_own(batch):
    batch.reset(np.arange(4))
    values = batch.parameters
    assert np.array_equal(values[0], values[1])
    assert np.array_equal(values[2], values[3])
    assert not np.array_equal(values[0], values[2])
    told = batch.obs[:, batch.layout.slices()[PARAMETERS]]
    np.testing.assert_allclose(told, SPACE.normalize(values), rtol=1e-6)
    masses = [group.simulation.model.body_mass.sum() for group in batch.groups]
    wanted = [75.0 * SPACE.named(group.values)["global"] ** 3 for group in batch.groups]
    np.testing.assert_allclose(masses, wanted, rtol=0.05)


def test_reward_is_the_sum_of_its_terms_and_the_published_product(batch):
    batch.reset(np.arange(4))
    _, reward, _, _, info = play(batch, 2)[-1]
    terms = [value for name, value in info.items() if name.startswith("reward/")]
    np.testing.assert_allclose(reward, np.sum(terms, axis=0))
    product = 2.0 * info["factor/head"] * info["factor/average"] * info["factor/step"]
    np.testing.assert_allclose(info["reward/gait"], product)
    assert (reward > 1.0).all()  # near the reference


@pytest.mark.integration
def test_a_life_ends_with_new_bodies(config, reference):
    short = config.override("gait", lifetime=3)
    made = make_batch(short, 4, seed=0, reference=reference)
    made.reset(np.arange(4))
    before = made.parameters
    for step in range(3):
        _, _, terminated, truncated, _ = play(made, 1)[0]
        assert truncated.all() == (step == 2)
    assert not terminated.any()
    made.reset(np.arange(4))
    assert not np.array_equal(made.parameters, before)
    made.close()


def test_the_clock_follows_its_action(batch):
    batch.reset(np.arange(4), phases=np.zeros(4))
    actions = np.zeros((4, batch.action_size))
    actions[1, -1], actions[2, -1] = 1.0, -1.0
    batch.step(actions)
    ahead = batch.phase
    assert ahead[1] / ahead[0] == pytest.approx(1.1)
    assert ahead[2] / ahead[3] == pytest.approx(0.9)


def test_given_parameters_stay(config, reference):
    values = np.stack([SPACE.default, SPACE.vector(stride=0.9)])
    character = configured_character(config.environment)
    made = GaitBatch(config, reference, character, num_envs=2, parameters=values)
    for _ in range(2):
        made.reset(np.arange(2))
        np.testing.assert_array_equal(made.parameters, values)
    made.set_parameters(1, SPACE.vector(stride=1.1))
    made.reset(np.array([1]))
    assert SPACE.named(made.parameters[1])["stride"] == 1.1
    with pytest.raises(GaitParameterError, match="stride"):
        made.set_parameters(0, 2.0 * SPACE.default)
    made.close()


def test_fixed_parameters_do_not_vary(config, reference):
    fixed = config.override("gait", parameters={"stride": 1.1, "global": 0.9})
    made = make_batch(fixed, 4, seed=0, reference=reference)
    made.reset(np.arange(4))
    assert (made.parameters[:, SPACE.index("stride")] == 1.1).all()
    assert len(np.unique(made.parameters[:, SPACE.index("cadence")])) == 2
    made.close()
    wrong = config.override("gait", parameters={"strde": 1.1})
    with pytest.raises(GaitParameterError, match="stride"):
        make_batch(wrong, 2, reference=reference)
