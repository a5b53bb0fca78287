"""The registered environments keep Gymnasium's contract."""

from __future__ import annotations

import copy

import gymnasium
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.envs.json_spec import json_spec
from ambulo.envs.locomotion.env import locomotion_config
from ambulo.envs.reference.reference import Reference, reference_bytes
from ambulo.muscle.muscle_nn import find_muscle_nn, muscle_nn_bytes

IDS = ("ambulo/Imitate-v0", "ambulo/Locomote-v0", "ambulo/Stand-v0")


@pytest.mark.filterwarnings("ignore:.*render modes.*")
def test_the_checker_draws_pictures(gl: None) -> None:
    """By the back end that works here, whatever MuJoCo's own choice would be."""
    env = gymnasium.make(IDS[2], balance_law=False, render_mode="rgb_array").unwrapped
    check_env(env)
    assert env.render().std() > 5.0
    env.close()


def test_an_agents_environment_is_made_again_from_json(plain: Reference) -> None:
    """As Minari does it: settings of several bodies are left out, files become text."""
    network = find_muscle_nn("muscle_nn_myolegs")
    config = locomotion_config("imitate", balance_law=False)
    made = gymnasium.make_vec(
        IDS[0],
        2,
        config=config,
        follow=reference_bytes(plain),
        muscles=network,
        threads=2,
    )
    spec = json_spec(made.spec)
    assert spec is not None
    env = gymnasium.make(EnvSpec.from_json(spec.to_json())).unwrapped
    assert env.config == config
    assert env.observation_space == made.single_observation_space
    assert reference_bytes(env.batch.reference) == reference_bytes(plain)
    assert muscle_nn_bytes(env._made_with["muscles"]) == muscle_nn_bytes(network)
    made.close()
    env.close()
    with pytest.raises(ConfigError, match=r"follow = 'walk\.npz': must be the content"):
        gymnasium.make(IDS[0], follow="walk.npz")


def test_every_reset_draws_the_varied_body() -> None:
    """Of the environment's generator; a copy has the same body, and N bodies their seed's."""
    ranges = {
        "mass": (0.7, 1.3), "friction": (0.5, 1.0), "segment_mass": (0.9, 1.1),
        "delay": (0.0, 0.1),
    }  # fmt: skip
    env = gymnasium.make("ambulo/Stand-v0", balance_law=False, **ranges).unwrapped
    drawn = []
    for seed in (1, None, 1, 2):
        env.reset(seed=seed)
        drawn.append(env.batch.variant.numbers())
        weight = env.model.body_mass.sum() * 9.81
        assert env.batch.weight == pytest.approx(weight)
    assert drawn[2] == drawn[0]
    for name in drawn[0]:
        assert len({str(one[name]) for one in drawn}) == 3, name
    assert copy.deepcopy(env).batch.variant.numbers() == drawn[-1]
    env.close()
    several = gymnasium.make_vec("ambulo/Stand-v0", 2, balance_law=False, **ranges)
    masses = []
    for seed in (1, None, 1, 2):
        several.reset(seed=seed)
        masses.append(
            tuple(one.variant.mass for one in several.unwrapped.batch.batches)
        )
    assert masses[0] == masses[1] == masses[2] != masses[3]
    several.close()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"charcter": "human23"}, "did you mean 'character'"),
        ({"character": "robot9"}, "unknown character 'robot9'"),
        ({"control_rate": 0}, "control_rate = 0"),
        ({"speed": (2.0, 1.0)}, "speed must be"),
        ({"actuation": "steam"}, "actuation"),
        ({"actuation": "muscle"}, "human23 has no muscles"),
        ({"character": "myolegs_motors"}, "set character = myolegs and actuation"),
        ({"conditions": [{"muscles": "*", "force": 0.5}]}, "need actuation = muscle"),
        ({"conditions": [{"muscles": "soleus_r"}]}, "a force or a length"),
        ({"num_envs": 3}, "gymnasium.make_vec makes several"),
        ({"fault_folder": "/proc/nope"}, "fault_folder = /proc/nope: cannot be"),
    ],
)
def test_wrong_settings_are_one_clear_line(settings: dict, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        gymnasium.make("ambulo/Stand-v0", **settings)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300  # Gymnasium adds the keywords to a TypeError
    assert not str(error.value).startswith("override")


def test_a_number_of_bodies_is_whole() -> None:
    with pytest.raises(ConfigError, match=r"num_envs = 2\.5: must be a whole number"):
        gymnasium.make_vec("ambulo/Stand-v0", num_envs=2.5)  # type: ignore[arg-type]


def test_an_environment_does_not_pass_over_further_references() -> None:
    with pytest.raises(ConfigError, match="more_references is for ambulo train walk"):
        gymnasium.make("ambulo/Imitate-v0", more_references=("run.amc",))


def test_a_clip_that_is_not_there() -> None:
    with pytest.raises(MotionFileError, match=r"nowhere\.amc"):
        gymnasium.make("ambulo/Imitate-v0", reference="nowhere.amc")


def test_settings_find_their_group() -> None:
    config = locomotion_config("stand", feet=False, pose=0.5, step_limit=7)
    assert not config.observations.feet
    assert config.rewards.pose == 0.5
    assert config.environment.max_episode_steps == 7
    assert locomotion_config("gait", time_warp=0.2).gait.time_warp == 0.2
    assert locomotion_config("stand", config.model_dump(mode="json")) == config
