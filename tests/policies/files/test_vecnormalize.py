"""Statistics of Stable-Baselines3's own wrapper: the same actions, and no pickle runs."""

from __future__ import annotations

import os
import pickle
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import ambulo.envs
from ambulo.configs.errors import ModelFileError
from ambulo.policies.agents.navigation import load_agent
from ambulo.policies.export.export import navigation_graph
from ambulo.policies.files.vecnormalize import find_vecnormalize, read_vecnormalize
from ambulo.train.vr.command import COMMAND

assert ambulo.envs


def trained(folder: Path, saved: str, zipped: str = "model.zip", **kwargs: Any) -> Any:
    """A stock agent and its wrapper after some random steps, saved in `folder`."""
    make = [
        lambda: gymnasium.make(
            "ambulo/VRNavigation-v0", level="clutter", levels_per_family=1
        )
    ]
    env = VecNormalize(DummyVecEnv(make), **kwargs)
    model = PPO("MlpPolicy", env, policy_kwargs={"net_arch": [8]}, device="cpu")
    env.reset()
    for _ in range(20):
        env.step(np.array([env.action_space.sample()]))
    (folder / saved).parent.mkdir(parents=True, exist_ok=True)
    env.save(str(folder / saved))
    model.save(folder / zipped)
    return model, env


@pytest.mark.parametrize(
    ("saved", "zipped"),
    [
        ("vecnormalize.pkl", "model.zip"),
        ("vec_normalize.pkl", "model.zip"),
        ("model/vecnormalize.pkl", "model.zip"),
        ("ambulo-VRNavigation-v0/vecnormalize.pkl", "best_model.zip"),
        ("rl_model_vecnormalize_500_steps.pkl", "rl_model_500_steps.zip"),
    ],
)
def test_statistics_beside_a_stock_zip_are_used(
    tmp_path: Path, saved: str, zipped: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Constant numbers, whose deviation is tiny, are clipped as the wrapper does."""
    model, env = trained(tmp_path, saved, zipped, clip_obs=4.0)
    agent = load_agent(tmp_path / zipped)
    assert f"normalised by {tmp_path / saved}" in caplog.text
    raw = np.random.default_rng(0).normal(0.0, 3.0, (50, 48)).astype(np.float32)
    want = model.predict(env.normalize_obs(raw), deterministic=True)[0]
    np.testing.assert_allclose(agent.act(raw), want, atol=1e-5)
    with pytest.raises(ModelFileError, match=r"vecnormalize\.pkl clip"):
        navigation_graph(agent)
    with pytest.raises(
        ModelFileError, match=r"\.zip: was trained behind VecNormalize;"
    ):
        COMMAND.load_initial(str(tmp_path / zipped), COMMAND.parse([]))
    (tmp_path / saved).unlink()
    assert find_vecnormalize(tmp_path / zipped) is None
    assert load_agent(tmp_path / zipped).statistics is None
    config = (tmp_path / saved).with_name("config.yml")
    config.write_text(PAIRS.format("true"))
    missing = re.escape(f"are missing: {config.with_name('vecnormalize.pkl')}")
    with pytest.raises(ModelFileError, match=missing):
        load_agent(tmp_path / zipped)


PAIRS = """!!python/object/apply:collections.OrderedDict
- - - batch_size
    - 64
  - - normalize
    - {}
  - - policy
    - MlpPolicy
"""
"""What rl_zoo3 writes beside an agent."""


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (PAIRS.format("true"), True),
        (PAIRS.format("false"), False),
        (PAIRS.format("'{''norm_obs'': True, ''norm_reward'': False}'"), True),
        (PAIRS.format("dict(norm_reward=True,\n      norm_obs=False)"), False),
        ("- - - normalize\n    - true\n", True),
        ("normalize: True\nn_steps: 8\n", True),
        ("n_steps: 8\nnormalize: false  # here\n", False),
        ("policy_kwargs:\n  normalize_images: true\n# normalize: true\n", False),
        ("normalize:\nn_steps: 8\n", False),
        ("normalize:\n  norm_obs: true\n  norm_reward: false\n", True),
        ("normalize: # both\n norm_reward: true # here\n norm_obs: true\n", True),
        ("normalize:\n  norm_reward: true\n  norm_obs: false\nn_steps: 8\n", False),
        ("normalize: dict(norm_reward=True,\n  norm_obs=False)\n", False),
        ("a:\n  normalize: false # here\n  n_steps: 8\n", False),
        ("a:\n  normalize:\n    norm_obs: true\n  n_steps: 8\n", True),
        ("\0", False),
        (None, False),
    ],
)
def test_statistics_that_a_config_promises_are_missing(
    tmp_path: Path, text: str | None, refused: bool
) -> None:
    zipped, config = tmp_path / "a.zip", tmp_path / "a" / "config.yml"
    if text is not None:
        config.parent.mkdir()
        config.write_text(text)
    if not refused:
        assert find_vecnormalize(zipped) is None
        return
    with pytest.raises(ModelFileError, match=r"are missing: .*a/vecnormalize\.pkl"):
        find_vecnormalize(zipped)
    (statistics := config.with_name("vecnormalize.pkl")).touch()
    assert find_vecnormalize(zipped) == statistics


def test_a_wrapper_of_rewards_alone_changes_nothing(tmp_path: Path) -> None:
    trained(tmp_path, "vecnormalize.pkl", norm_obs=False)
    assert load_agent(tmp_path / "model.zip").statistics is None


class Hostile:
    """A pickle that makes a file when it runs."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, (str(self.made),)


def test_no_code_of_the_file_runs(tmp_path: Path) -> None:
    _, env = trained(tmp_path, "vecnormalize.pkl")
    made = tmp_path / "made"
    env.evil = Hostile(made)
    env.save(str(tmp_path / "vecnormalize.pkl"))
    assert read_vecnormalize(tmp_path / "vecnormalize.pkl", 48) is not None
    assert not made.exists()
    (tmp_path / "vecnormalize.pkl").write_bytes(pickle.dumps(Hostile(made)))
    with pytest.raises(ModelFileError, match="no statistics of 48"):
        load_agent(tmp_path / "model.zip")
    assert not made.exists()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("wrapper")
    trained(folder, "vecnormalize.pkl")
    return (folder / "vecnormalize.pkl").read_bytes()


@given(data=st.data())
def test_a_damaged_file_is_one_line(
    data: st.DataObject, content: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.pkl"
    at = data.draw(st.integers(0, len(content) - 1))
    cut = data.draw(st.booleans())
    changed = bytearray(content[:at] if cut else content)
    if not cut:
        changed[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(changed)
    message = str(path)
    try:
        read_vecnormalize(path, 48)
    except ModelFileError as error:
        message = str(error)
    assert str(path) in message
    assert "\n" not in message


def test_another_size_is_refused_and_trust_runs_the_pickle(tmp_path: Path) -> None:
    trained(tmp_path, "vecnormalize.pkl")
    path = tmp_path / "vecnormalize.pkl"
    with pytest.raises(ModelFileError, match=r"statistics of 7 .* shape \(48,\)"):
        read_vecnormalize(path, 7)
    big = path.read_bytes() + b"\0" * 2**20
    path.write_bytes(big)
    with pytest.raises(ModelFileError, match="--trust-pickle runs it"):
        read_vecnormalize(path, 48)
    assert read_vecnormalize(path, 48, trust_pickle=True) is not None


def saved_statistics(path: Path, **changes: Any) -> Path:
    """A wrapper's pickle with other attributes; `mean` and `var` are its statistics'."""
    rms = SimpleNamespace(mean=np.zeros(3), var=np.ones(3))
    for key in {"mean", "var"} & changes.keys():
        setattr(rms, key, changes.pop(key))
    given = {"obs_rms": rms, "epsilon": 1e-8, "clip_obs": 10.0, "norm_obs": True}
    path.write_bytes(pickle.dumps(SimpleNamespace(**given | changes), protocol=4))
    return path


def test_numbers_that_float32_cannot_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vecnormalize.pkl"
    assert read_vecnormalize(saved_statistics(path), 3) is not None
    for change in (
        {"epsilon": 10**400},
        {"clip_obs": 10**400},
        {"mean": np.full(3, 1e200)},
        {"var": np.full(3, 1e-200), "epsilon": 0.0},
    ):
        with pytest.raises(ModelFileError, match="no statistics of 3"):
            read_vecnormalize(saved_statistics(path, **change), 3)


def test_lists_of_lists_are_not_unfolded(tmp_path: Path) -> None:
    """8 kB would become 784 MB."""
    rows: list[Any] = [0.0] * 700
    path = saved_statistics(tmp_path / "v.pkl", mean=[[rows] * 700] * 200)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="no arrays"):
        read_vecnormalize(path, 3)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


def test_tuples_of_tuples_are_not_hashed(tmp_path: Path) -> None:
    """200 bytes whose key takes 2^40 steps to hash."""
    key = b"K\x01\x85\x940" + b"".join(b"h%ch%c\x86\x940" % (k, k) for k in range(40))
    path = tmp_path / "v.pkl"
    path.write_bytes(b"\x80\x04" + key + b"}h\x28K\x00s.")
    with pytest.raises(ModelFileError, match="tuples are too large"):
        read_vecnormalize(path, 3)


def test_a_damaged_file_that_is_trusted_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "v.pkl").write_bytes(b"\x80\x04}")
    with pytest.raises(ModelFileError, match="Ran out of input"):
        read_vecnormalize(tmp_path / "v.pkl", 3, trust_pickle=True)
