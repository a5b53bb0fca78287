"""A training that was stopped and resumed gives the bits of one that was not."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.envs.vr.task.bank import GOALS
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.agents.navigation import load_navigation
from ambulo.policies.files.model_file import ModelFile, TrainingState, save_model
from ambulo.policies.learner import learn_until, make_learner, model_of
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.learner_state import load_weights
from ambulo.train.shared.rl_run import extra_of
from ambulo.train.shared.run_folders import NavigationRunFolder
from ambulo.train.vr.training_state import capture, restore

NUM_ENVS, STEPS, LEVELS = 8, 16, 12
ROLLOUT = NUM_ENVS * STEPS

CASES: dict[str, dict[str, dict[str, Any]]] = {
    "plain": {},
    "map": {"observations": {"memory": "map"}},
    "path": {"observations": {"memory": "path"}},
    "moving": {
        "environment": {
            "levels": ("doors", "crowd"),
            "max_episode_steps": 60,
            "level_refresh": 2,
        },
        "observations": {"memory": "navigator", "comfort": True},
        "actions": {"max_acceleration": 2.0},
        "ppo": {"plan_coef": 0.5, "plan_coef_final": 0.1},
    },
    "tasks": {
        "environment": {"tasks": ("navigate", "follow", "reach", "patrol")},
        "observations": {"memory": "visits"},
    },
    "refresh": {"environment": {"level_refresh": 2}},
    "everything": {
        "environment": {"level_refresh": 2, "tasks": ("navigate", "patrol")},
        "observations": {"memory": "map", "comfort": True},
        "actions": {"max_acceleration": 2.0, "comfort_speed": 1.2},
        "rewards": {"comfort_cost": 0.1},
        "ppo": {"route_coef": 0.1, "target_kl": 0.02},
    },
    "discrete": {"actions": {"mode": "discrete"}},
    "priors": {
        "observations": {"motion": "motion_nn"},
        "rewards": {"posture_bonus": 2.0, "novelty_cost": 0.1},
    },
    "blind": {"network": {"privileged_critic": False}},
    "recurrent": {
        "network": {"recurrent": 6},
        "ppo": {"sequence": 8, "burn_in": 5, "batch_size": 48},
    },
    "shared levels": {
        "environment": {
            "agents": 4,
            "level_refresh": 2,
            "tasks": ("navigate", "patrol"),
        },
        "observations": {"memory": "map"},
    },
    "mujoco": {
        "environment": {"world": "mujoco", "level_refresh": 2},
        "observations": {"num_ray_sensors": 4},
    },
}


def config_of(case: str) -> NavigationConfig:
    settings: dict[str, dict[str, Any]] = {
        "network": {"net_arch": (8, 8)},
        "ppo": {"n_steps": STEPS, "batch_size": 40, "learning_rate_final": 1e-5},
        "environment": {
            "levels": ("rooms", "open"),
            "levels_per_family": LEVELS // 2,
            "max_episode_steps": 20,
            "designed_start": 0.5,
        },
    }
    config = NavigationConfig()
    for changes in (settings, CASES[case]):
        for group, values in changes.items():
            config = config.override(group, **values)
    return config


def training_of(config: NavigationConfig) -> tuple[NavigationBatch, FastPPO]:
    batch = make_batch(config, NUM_ENVS, privileged=True, seed=5)
    return batch, make_learner(config, Sb3BatchEnv(batch, action_space(config)))


class Keeper(BaseCallback):
    """Replaces levels before each roll-out, and saves once before that."""

    def __init__(
        self, config: NavigationConfig, save_at: int = -1, path: Path | None = None
    ):
        super().__init__()
        self.config, self.save_at, self.path = config, save_at, path
        self.count = 0

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        env = self.training_env
        assert isinstance(env, Sb3BatchEnv)
        batch: Any = env.batch
        if self.count == self.save_at and self.path is not None:
            assert isinstance(self.model, FastPPO)
            state = capture(self.model, batch, {"count": self.count})
            model = model_of(self.model, self.config)
            save_model(self.path, dataclasses.replace(model, training=state))
        free = sorted(set(range(LEVELS)) - set(batch.task.slot.tolist()))
        for slot in free[: self.config.environment.level_refresh]:
            level = generate("rooms", 50 + 10 * self.count + slot)
            batch.bank.replace(
                slot, level, np.random.default_rng([9, self.count, slot])
            )
            batch.world.set_levels([slot], [level])
        self.count += 1


def everything(batch: NavigationBatch, learner: FastPPO) -> dict[str, Any]:
    """All that two equal trainings share."""
    env = learner.get_env()
    assert isinstance(env, Sb3BatchEnv)
    state = capture(learner, batch, {})
    values = {**state.values, "learner": dict(state.values["learner"])}
    del values["learner"]["_num_timesteps_at_start"]
    weights = {k: v.numpy().copy() for k, v in learner.policy.state_dict().items()}
    bank = batch.bank
    fields = {
        f"field {slot}": np.concatenate(
            [bank.fields.view(slot, g) for g in range(GOALS)]
        )
        for slot in range(len(bank))
    }
    return {**values, **state.arrays, **weights, **fields}


def resume(
    learner: FastPPO, batch: NavigationBatch, model: ModelFile
) -> dict[str, Any]:
    """The policy and the state of `model` in a new training, as a run restores them."""
    assert model.training is not None
    load_weights(learner, model)
    return restore(learner, batch, model.training)


def differences(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    assert first.keys() == second.keys()
    return [
        name
        for name, value in first.items()
        if not (
            np.array_equal(value, second[name])
            if isinstance(value, np.ndarray)
            else value == second[name]
        )
    ]


def straight(case: str, path: Path) -> dict[str, Any]:
    """Four roll-outs, with a checkpoint in the middle."""
    config = config_of(case)
    batch, learner = training_of(config)
    learn_until(learner, 4 * ROLLOUT, Keeper(config, 2, path))
    return everything(batch, learner)


def resumed(case: str, path: Path) -> dict[str, Any]:
    """The two roll-outs after the checkpoint, in fresh objects."""
    config = config_of(case)
    batch, learner = training_of(config)
    model = load_navigation(path)
    assert model.metadata.config == config
    random.random()
    torch.randn(3)
    keeper = Keeper(config)
    keeper.count = resume(learner, batch, model)["count"]
    assert learner.num_timesteps == 2 * ROLLOUT
    learn_until(learner, 4 * ROLLOUT, keeper)
    return everything(batch, learner)


# Parts of "everything" are no cases of their own here.
@pytest.mark.integration
@pytest.mark.parametrize("case", sorted(CASES.keys() - {"plain", "map", "refresh"}))
def test_a_resumed_training_ends_in_the_same_bits(tmp_path: Path, case: str) -> None:
    path = tmp_path / "checkpoint.zip"
    whole = straight(case, path)
    assert differences(whole, resumed(case, path)) == []
    if config_of(case).environment.level_refresh:
        names = {level.name for level in training_of(config_of(case))[0].bank.levels}
        assert set(whole["levels"]) != names


_OTHER_PROCESS = """
import importlib.util, sys
import numpy as np, torch
torch.set_num_threads(1)
spec = importlib.util.spec_from_file_location("test_training_state", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
from pathlib import Path
found = module.resumed("everything", Path(sys.argv[2]))
arrays = {k: v for k, v in found.items() if isinstance(v, np.ndarray)}
np.savez(sys.argv[3], **arrays)
"""


@pytest.mark.integration
def test_another_process_ends_in_the_same_bits(tmp_path: Path) -> None:
    path, result = tmp_path / "checkpoint.zip", tmp_path / "result.npz"
    whole = straight("everything", path)
    subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS, __file__, str(path), str(result)],
        check=True,
        timeout=120,
    )
    with np.load(result) as file:
        other = dict(file)
    arrays = {k: v for k, v in whole.items() if isinstance(v, np.ndarray)}
    assert differences(arrays, other) == []


def test_every_random_generator_continues() -> None:
    config = config_of("plain")
    batch, learner = training_of(config)
    learn_until(learner, ROLLOUT)
    state = capture(learner, batch, {})

    def draws() -> list[float]:
        return [
            random.random(),
            random.gauss(0, 1),
            float(np.random.rand()),  # noqa: NPY002
            float(np.random.randn()),  # noqa: NPY002
            float(torch.rand(())),
            float(learner.action_space.sample()[0]),
            *(float(rng.random()) for rng in batch.rngs),
        ]

    first = draws()
    assert draws() != first
    restore(learner, batch, state)
    assert draws() == first


def test_captured_state_does_not_change_with_the_training() -> None:
    config = config_of("map")
    batch, learner = training_of(config)
    learn_until(learner, ROLLOUT)
    state = capture(learner, batch, {})
    before = {name: array.copy() for name, array in state.arrays.items()}
    learn_until(learner, 2 * ROLLOUT)
    assert differences(before, state.arrays) == []


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> ModelFile:
    path = tmp_path_factory.mktemp("run") / "checkpoint.zip"
    straight("plain", path)
    return load_navigation(path)


@pytest.mark.parametrize(
    ("group", "changes", "message"),
    [
        ("network", {"net_arch": (9, 8)}, "the policy does not fit"),
        ("environment", {"levels_per_family": 3}, "12 levels, not 6"),
        ("environment", {"levels": ("open", "pits")}, None),
        ("observations", {"memory": "map"}, "the policy does not fit"),
    ],
)
def test_other_configurations_are_refused(
    checkpoint: ModelFile, group: str, changes: dict[str, Any], message: str | None
) -> None:
    batch, learner = training_of(config_of("plain").override(group, **changes))
    if message is None:  # the levels of the checkpoint are generated again
        resume(learner, batch, checkpoint)
        names = [level.name for level in batch.bank.levels]
        assert checkpoint.training is not None
        assert names == checkpoint.training.values["levels"]
        return
    with pytest.raises(ModelFileError, match=message) as caught:
        resume(learner, batch, checkpoint)
    assert "\n" not in str(caught.value)


def test_models_without_training_state_are_refused(checkpoint: ModelFile) -> None:
    bare = dataclasses.replace(checkpoint, training=None)
    with pytest.raises(ModelFileError, match="no checkpoint"):
        extra_of(bare.training, set(), NavigationRunFolder("a"))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("batch.task.slot", np.full(NUM_ENVS, 99), r"task\.slot is not within 0\.\.11"),
        ("batch.world.slot", np.full(NUM_ENVS, -1), r"world\.slot is not within"),
        ("batch.task.index", np.full(NUM_ENVS, 2), r"task\.index is not within 0\.\.1"),
        ("batch.world.position", np.full((NUM_ENVS, 3), np.nan), "not numbers"),
        ("batch.world.position", np.zeros((1, 3)), r"shape \(1, 3\), not \(8, 3\)"),
        ("batch.world.position", None, "KeyError"),
        ("bank.goals", np.zeros((1, 2, 2)), "12 levels, not 12|levels"),
        ("bank.fingerprints", np.zeros(LEVELS, np.int64), "cannot be had again"),
        ("optimizer.exp_avg.log_std", np.zeros(4, np.float32), r"shape \(4,\)"),
        ("optimizer.exp_avg.nothing", np.zeros(4, np.float32), "KeyError"),
        ("random.torch", np.zeros(3, np.uint8), "RNG state"),
        ("starts.slot", np.zeros(3, np.int64), "ValueError"),
    ],
)
def test_damaged_states_are_refused(
    checkpoint: ModelFile, name: str, value: Any, message: str
) -> None:
    batch, learner = training_of(config_of("plain"))
    assert checkpoint.training is not None
    arrays = dict(checkpoint.training.arrays)
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    with pytest.raises(ModelFileError, match=message):
        restore(learner, batch, TrainingState(arrays, checkpoint.training.values))


def test_level_files_that_changed_are_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "levels"
    folder.mkdir()
    for seed in (1, 2):
        save_level(generate("open", seed), folder / f"{seed}.json")
    config = config_of("plain").override("environment", level_file=str(folder))
    batch, learner = training_of(config)
    learn_until(learner, ROLLOUT)
    state = capture(learner, batch, {"note": "ä"})
    again, other = training_of(config)
    assert restore(other, again, state) == {"note": "ä"}
    changed = dataclasses.replace(generate("rooms", 3), name="open-2")
    save_level(changed, folder / "2.json")
    restore(*reversed(training_of(config)), state)  # generated again: the same level
    state.values["levels"][1] = "my level"
    with pytest.raises(ModelFileError, match="'my level' of the checkpoint"):
        restore(*reversed(training_of(config)), state)
