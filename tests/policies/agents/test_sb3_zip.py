"""Stable-Baselines3's own files: they act the same, and their pickles do not run."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.model_files import members_of, tiny_model, write_zip
from gymnasium import Env, spaces
from stable_baselines3 import PPO

from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.task.observation import observation_layout
from ambulo.policies.agents.navigation import load_agent, load_navigation
from ambulo.policies.agents.sb3_zip import PUBLISHED_PARTS
from ambulo.policies.files.model_file import save_model


class _Nothing(Env[Any, Any]):
    """48 numbers and three actions, for making Stable-Baselines3 files."""

    observation_space = spaces.Box(-np.inf, np.inf, (48,))
    action_space = spaces.Box(-1, 1, (3,))


def sb3_zip(path: Path, env: Env[Any, Any] | None = None, **policy: Any) -> PPO:
    """A file of Stable-Baselines3's own, and the model in it."""
    kwargs = {"net_arch": [8, 6], **policy}
    model = PPO("MlpPolicy", env or _Nothing(), policy_kwargs=kwargs, device="cpu")
    model.num_timesteps = 123
    model.save(path)
    return model


@pytest.mark.parametrize("activation", [None, torch.nn.ReLU, torch.nn.ELU])
@pytest.mark.parametrize("trust", [False, True])
def test_published_agents_act_the_same(
    tmp_path: Path, activation: Any, trust: bool
) -> None:
    path = tmp_path / "sb3.zip"
    kwargs = {} if activation is None else {"activation_fn": activation}
    model = sb3_zip(path, **kwargs)
    agent = load_agent(path, trust_pickle=trust)
    obs = np.random.default_rng(0).normal(size=(5, 48)).astype(np.float32)
    want = model.predict(obs, deterministic=True)[0]
    np.testing.assert_allclose(agent.act(obs, deterministic=True), want, atol=1e-6)
    assert agent.metadata.num_timesteps == 123
    assert agent.config.observations.frame == "head"
    world = load_agent(path, stock_frame="world")
    assert world.config.observations.frame == "world"
    again = tmp_path / "ours.zip"
    save_model(again, load_navigation(path))
    np.testing.assert_array_equal(
        load_agent(again).act(obs, deterministic=True),
        agent.act(obs, deterministic=True),
    )


def test_published_parts_are_those_of_the_layout() -> None:
    parts = observation_layout(NavigationConfig()).parts
    assert tuple((p.name, p.size, p.unit) for p in parts) == PUBLISHED_PARTS


def test_other_sb3_policies_are_refused(tmp_path: Path) -> None:
    path, env = tmp_path / "sb3.zip", _Nothing()
    sb3_zip(path, net_arch={"pi": [8], "vf": [9]})
    with pytest.raises(ModelFileError, match="has shape"):
        load_navigation(path)
    sb3_zip(path, activation_fn=torch.nn.Softplus)
    with pytest.raises(ModelFileError, match="activation 'Softplus'"):
        load_navigation(path)
    sb3_zip(path, net_arch=[])
    with pytest.raises(ModelFileError, match="hidden layers"):
        load_navigation(path)
    env.observation_space = spaces.Box(-np.inf, np.inf, (40,))
    sb3_zip(path, env)
    with pytest.raises(ModelFileError, match="40 observations"):
        load_navigation(path)
    env.action_space = spaces.Discrete(3)  # type: ignore[assignment]
    sb3_zip(path, env)
    with pytest.raises(ModelFileError, match="continuous actions"):
        load_navigation(path)


class _Payload:
    """Runs a command when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.target}",)


def torch_bytes(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def test_pickles_in_hostile_files_do_not_run(tmp_path: Path) -> None:
    path, target = tmp_path / "sb3.zip", tmp_path / "owned"
    payload = _Payload(target)
    sb3_zip(path)
    good = members_of(path)
    data = json.loads(good["data"])
    code = base64.b64encode(pickle.dumps(payload)).decode()
    for key in data:
        if isinstance(data[key], dict):
            data[key][":serialized:"] = code
    data["learning_rate"] = {":type:": "x", ":serialized:": code}
    harmless = {**good, "data": json.dumps(data).encode()}
    harmless["pytorch_variables.pth"] = torch_bytes(payload)
    harmless["policy.optimizer.pth"] = torch_bytes(payload)
    load_navigation(write_zip(path, harmless))
    weights = torch.load(io.BytesIO(good["policy.pth"]), weights_only=True)
    for bad in (
        torch_bytes(payload),
        torch_bytes({**weights, "log_std": payload}),
        torch_bytes({**weights, "log_std": 3}),
        torch_bytes({**weights, "log_std": torch.zeros(3).to_sparse()}),
        torch_bytes({**weights, "log_std": torch.zeros(1).expand(3)}),
        torch_bytes([1]),
        pickle.dumps(payload),
        b"",
    ):
        with pytest.raises(ModelFileError, match=r"policy\.pth"):
            load_navigation(write_zip(path, {**harmless, "policy.pth": bad}))
    for name in ("ambulo.json", "policy.safetensors", "training.safetensors"):
        save_model(path, tiny_model())
        with pytest.raises(ModelFileError):
            load_navigation(
                write_zip(path, {**members_of(path), name: pickle.dumps(payload)})
            )
    assert not target.exists()
    with pytest.raises(ModelFileError, match=r"PPO\.load failed"):
        load_navigation(
            write_zip(path, {**harmless, "policy.pth": bad}), trust_pickle=True
        )
    assert target.exists(), "the payload itself works: only trust runs it"
