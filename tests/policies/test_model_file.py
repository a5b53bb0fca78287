"""Model files: round trip, damage, hostile contents, full disks and killed writers."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from gymnasium import Env, spaces
from stable_baselines3 import PPO

from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import RLConfig
from ambulo.envs.vr.observation import observation_layout
from ambulo.policies.agent import Agent, load_agent
from ambulo.policies.archive import MAX_BYTES
from ambulo.policies.model_file import (
    ModelFile,
    TrainingState,
    describe,
    load_model,
    save_model,
)
from ambulo.policies.networks import NavigationPolicy
from ambulo.policies.stock_model import PUBLISHED_PARTS

Members = dict[str, bytes]


def tiny_model(
    mode: str = "continuous", width: int = 8, privileged: bool = True
) -> Any:
    """A random policy on 48 numbers, with a small training state."""
    config = RLConfig().override(
        "network", net_arch=(width, width), privileged_critic=privileged
    )
    config = config.override("actions", mode=mode)
    layout = observation_layout(config)
    actions: spaces.Space[Any] = spaces.Box(-1, 1, (3,))
    if mode == "discrete":
        actions = spaces.Discrete(7)
    torch.manual_seed(0)
    policy = NavigationPolicy(
        spaces.Box(-np.inf, np.inf, (layout.full_size,)),
        actions,
        lambda _: 1e-3,
        scales=layout.scales(),
        actor_size=layout.size,
        widths=(width, width),
        activation="relu",
    )
    state = TrainingState(
        {
            "empty": np.zeros((0, 4), np.uint16),
            "flags": np.array([True, False]),
            "many": np.arange(12, dtype=np.int64).reshape(3, 4),
            "one": np.array(2.5),
        },
        {"big": 2**127 + 1, "text": "ä", "none": None, "float": 0.1},
    )
    metadata = describe(
        config, layout, num_timesteps=7, command="train", extra={"a": 1}
    )
    return ModelFile(metadata, dict(policy.state_dict()), state)


def members_of(path: Path) -> Members:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(path: Path, members: Members) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    save_model(path, tiny_model())
    return path


@pytest.mark.parametrize("mode", ["continuous", "discrete"])
def test_what_is_saved_is_loaded(tmp_path: Path, mode: str) -> None:
    model, path = tiny_model(mode), tmp_path / "model.zip"
    save_model(path, model)
    loaded = load_model(path)
    assert loaded.metadata == model.metadata
    assert loaded.metadata.versions["torch"] == torch.__version__
    assert loaded.policy.keys() == model.policy.keys()
    assert all(torch.equal(loaded.policy[k], v) for k, v in model.policy.items())
    assert loaded.training is not None
    assert loaded.training.values == model.training.values
    for name, array in model.training.arrays.items():
        assert loaded.training.arrays[name].dtype == array.dtype
        assert loaded.training.arrays[name].shape == array.shape
        np.testing.assert_array_equal(loaded.training.arrays[name], array)
    assert os.listdir(tmp_path) == ["model.zip"]


PLACES = {
    "godot_url": "http://10.0.0.1:8080",
    "godot_bin": "/home/somebody/godot",
    "godot_project": "/home/somebody/game",
}


def test_where_engines_are_is_not_saved(tmp_path: Path) -> None:
    model = tiny_model()
    config = model.metadata.config.override("environment", godot_engines=2, **PLACES)
    config = config.override("training", output="/home/somebody/runs")
    metadata = describe(config, observation_layout(config))
    save_model(tmp_path / "model.zip", dataclasses.replace(model, metadata=metadata))
    header = members_of(tmp_path / "model.zip")["ambulo.json"].decode()
    assert "somebody" not in header
    assert "10.0.0.1" not in header
    assert load_agent(tmp_path / "model.zip").config.environment.godot_engines == 2


def test_where_engines_are_is_not_taken_from_a_file(saved: Path) -> None:
    members = members_of(saved)
    header = json.loads(members["ambulo.json"])
    header["config"]["environment"] |= PLACES
    members["ambulo.json"] = json.dumps(header).encode()
    environment = load_model(write_zip(saved, members)).metadata.config.environment
    assert [getattr(environment, name) for name in PLACES] == [None] * 3


def test_a_model_without_training_state_is_smaller(saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "best.zip"
    save_model(path, dataclasses.replace(tiny_model(), training=None))
    assert load_model(path).training is None
    assert path.stat().st_size < saved.stat().st_size


def test_a_file_cut_off_anywhere_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for tenth in range(10):
        saved.write_bytes(data[: len(data) * tenth // 10])
        with pytest.raises(ModelFileError, match=r"model\.zip: truncated, damaged or"):
            load_model(saved)


def test_flipped_bits_are_refused_or_harmless(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    for at in range(0, len(data), 97):
        data[at] ^= 0xFF
        saved.write_bytes(data)
        with contextlib.suppress(ModelFileError):
            load_model(saved)
        data[at] ^= 0xFF


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"none\.zip: no such model file"):
        load_model(tmp_path / "none.zip")
    with pytest.raises(ModelFileError):
        load_model(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be written"):
        save_model(tmp_path / "no" / "model.zip", tiny_model())


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_devices_are_refused() -> None:
    with pytest.raises(ModelFileError, match="not a regular file"):
        load_model("/dev/zero")


Edit = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda h: h.update(format="other"), "format is not"),
        (lambda h: h.update(version=2), "version 2 is newer than 1"),
        (lambda h: h.update(version=0), "version = 0"),
        (lambda h: h.update(kind="walk"), "kind"),
        (lambda h: h.update(surprise=1), "unknown key 'surprise'"),
        (lambda h: h.pop("config"), "config"),
        (lambda h: h["config"]["network"].update(net_arch=[8, 9]), "has shape"),
        (lambda h: h["config"]["network"].update(net_arch=[2**40]), "has shape"),
        (lambda h: h["config"]["network"].update(net_arch=[8]), "unexpected weight"),
        (lambda h: h["config"]["network"].update(net_arch=[]), "net_arch"),
        (lambda h: h.update(observation_size=47), "the parts make 48"),
        (lambda h: h["observation"].pop(), "the parts make 45"),
        (lambda h: h["observation"][3].update(start=0), "has a gap"),
        (lambda h: h["action"].update(size=4), "action does not fit"),
    ],
)
def test_headers_that_do_not_fit_are_refused(
    saved: Path, edit: Edit, message: str
) -> None:
    members = members_of(saved)
    header = json.loads(members["ambulo.json"])
    edit(header)
    members["ambulo.json"] = json.dumps(header).encode()
    write_zip(saved, members)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(saved)
    assert str(saved) in str(caught.value)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff", b'{"a": NaN}', b"[" * 100_000, b"9" * 5000]
)
def test_headers_that_are_not_json_are_refused(saved: Path, text: bytes) -> None:
    write_zip(saved, {**members_of(saved), "ambulo.json": text})
    with pytest.raises(ModelFileError, match=r"ambulo\.json"):
        load_model(saved)


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("ambulo.json", "not a model file"),
        ("policy.safetensors", "no policy.safetensors"),
        ("training.json", "half a checkpoint"),
        ("training.safetensors", "half a checkpoint"),
    ],
)
def test_missing_members_are_named(saved: Path, left_out: str, message: str) -> None:
    members = members_of(saved)
    del members[left_out]
    write_zip(saved, members)
    with pytest.raises(ModelFileError, match=message):
        load_model(saved)


def with_policy(saved: Path, name: str, tensor: torch.Tensor | None) -> None:
    members = members_of(saved)
    policy = safetensors.torch.load(members["policy.safetensors"])
    if tensor is None:
        del policy[name]
    else:
        policy[name] = tensor
    members["policy.safetensors"] = safetensors.torch.save(policy)
    write_zip(saved, members)


@pytest.mark.parametrize(
    ("name", "tensor", "message"),
    [
        ("log_std", torch.tensor([0.0, torch.nan, 0.0]), "not finite"),
        ("log_std", torch.full((3,), torch.inf), "not finite"),
        ("log_std", torch.zeros(4), r"shape \(4,\), expected \(3,\)"),
        ("log_std", torch.zeros(3, dtype=torch.float64), "torch.float64"),
        ("log_std", None, "'log_std' is missing"),
        ("mlp_extractor.scales", None, "scales"),
        ("more", torch.zeros(1), "unexpected weight 'more'"),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    saved: Path, name: str, tensor: torch.Tensor | None, message: str
) -> None:
    with_policy(saved, name, tensor)
    with pytest.raises(ModelFileError, match=message):
        load_model(saved)


def test_weights_that_are_not_finite_are_not_saved(saved: Path) -> None:
    before, model = saved.read_bytes(), tiny_model()
    model.policy["log_std"][0] = torch.nan
    with pytest.raises(ModelFileError, match="not finite"):
        save_model(saved, model)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "C:x", "\\x"])
def test_unsafe_member_names_are_refused(saved: Path, name: str) -> None:
    write_zip(saved, {**members_of(saved), name: b""})
    with pytest.raises(ModelFileError, match="unsafe member name"):
        load_model(saved)


def test_repeated_members_are_refused(saved: Path) -> None:
    with warnings.catch_warnings(), zipfile.ZipFile(saved, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("policy.safetensors", b"")
    with pytest.raises(ModelFileError, match="occurs twice"):
        load_model(saved)


def declare_size(path: Path, size: int) -> None:
    """Change the unpacked size that the zip's directory tells of its first member."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2") + 24
    data[at : at + 4] = size.to_bytes(4, "little")
    path.write_bytes(data)


def test_zip_bombs_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    block = bytes(2**24)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("part", block)
    declare_size(path, MAX_BYTES + 1)
    with pytest.raises(ModelFileError, match="unpacks to"):
        load_model(path)
    declare_size(path, 10)
    with pytest.raises(ModelFileError, match="damaged"):
        load_model(path)
    write_zip(path, {f"m{i}": b"" for i in range(1001)})
    with pytest.raises(ModelFileError, match="1001 members"):
        load_model(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", b"a")
    with pytest.raises(ModelFileError, match="compression not allowed"):
        load_model(path)


class _Nothing(Env[Any, Any]):
    """48 numbers and three actions, for making Stable-Baselines3 files."""

    observation_space = spaces.Box(-np.inf, np.inf, (48,))
    action_space = spaces.Box(-1, 1, (3,))


def stock_file(path: Path, env: Env[Any, Any] | None = None, **policy: Any) -> PPO:
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
    path = tmp_path / "stock.zip"
    kwargs = {} if activation is None else {"activation_fn": activation}
    model = stock_file(path, **kwargs)
    agent = load_agent(path, trust_pickle=trust)
    obs = np.random.default_rng(0).normal(size=(5, 48)).astype(np.float32)
    want = model.predict(obs, deterministic=True)[0]
    np.testing.assert_allclose(agent.act(obs, deterministic=True), want, atol=1e-6)
    assert agent.metadata.num_timesteps == 123
    assert agent.config.observations.frame == "head"
    world = load_agent(path, stock_frame="world")
    assert world.config.observations.frame == "world"
    again = tmp_path / "ours.zip"
    save_model(again, load_model(path))
    np.testing.assert_array_equal(
        load_agent(again).act(obs, deterministic=True),
        agent.act(obs, deterministic=True),
    )


def test_published_parts_are_those_of_the_layout() -> None:
    parts = observation_layout(RLConfig()).parts
    assert tuple((p.name, p.size, p.unit) for p in parts) == PUBLISHED_PARTS


def test_other_stock_policies_are_refused(tmp_path: Path) -> None:
    path, env = tmp_path / "stock.zip", _Nothing()
    stock_file(path, net_arch={"pi": [8], "vf": [9]})
    with pytest.raises(ModelFileError, match="has shape"):
        load_model(path)
    stock_file(path, activation_fn=torch.nn.Softplus)
    with pytest.raises(ModelFileError, match="activation 'Softplus'"):
        load_model(path)
    stock_file(path, net_arch=[])
    with pytest.raises(ModelFileError, match="hidden layers"):
        load_model(path)
    env.observation_space = spaces.Box(-np.inf, np.inf, (40,))
    stock_file(path, env)
    with pytest.raises(ModelFileError, match="40 observations"):
        load_model(path)
    env.action_space = spaces.Discrete(3)  # type: ignore[assignment]
    stock_file(path, env)
    with pytest.raises(ModelFileError, match="continuous actions"):
        load_model(path)


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
    import base64

    path, target = tmp_path / "stock.zip", tmp_path / "owned"
    payload = _Payload(target)
    stock_file(path)
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
    load_model(write_zip(path, harmless))
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
            load_model(write_zip(path, {**harmless, "policy.pth": bad}))
    for name in ("ambulo.json", "policy.safetensors", "training.safetensors"):
        save_model(path, tiny_model())
        with pytest.raises(ModelFileError):
            load_model(
                write_zip(path, {**members_of(path), name: pickle.dumps(payload)})
            )
    assert not target.exists()
    with pytest.raises(ModelFileError, match=r"PPO\.load failed"):
        load_model(write_zip(path, {**harmless, "policy.pth": bad}), trust_pickle=True)
    assert target.exists(), "the payload itself works: only trust runs it"


def test_a_full_disk_leaves_the_old_file(tmp_full_disk: Path) -> None:
    path = tmp_full_disk / "model.zip"
    save_model(path, tiny_model())
    before = path.read_bytes()
    with pytest.raises(
        ModelFileError, match=r"model\.zip: cannot be written: No space"
    ):
        save_model(path, tiny_model(width=300))
    assert path.read_bytes() == before
    assert os.listdir(tmp_full_disk) == ["model.zip"]
    assert load_model(path).metadata.num_timesteps == 7


def test_a_read_only_folder_leaves_the_old_file(tmp_full_disk: Path) -> None:
    path = tmp_full_disk / "model.zip"
    save_model(path, tiny_model())
    before = path.read_bytes()
    remount = ["mount", "-o", "remount,ro", str(tmp_full_disk)]
    if subprocess.run(remount, check=False, capture_output=True).returncode:
        pytest.skip("cannot remount")
    with pytest.raises(ModelFileError, match="cannot be written: Read-only"):
        save_model(path, tiny_model())
    assert path.read_bytes() == before


_KILLER = """
import dataclasses, os, random, signal, sys, time
import numpy as np
from ambulo.policies.model_file import TrainingState, load_model, save_model
path = sys.argv[1]
model = load_model(path)
noise = np.random.default_rng(0).integers(0, 256, 2_000_000).astype(np.uint8)
model = dataclasses.replace(model, training=TrainingState({"noise": noise}, {}))
for run in range(8):
    child = os.fork()
    if child == 0:
        while True:
            save_model(path, model)
    time.sleep(0.02 + 0.2 * random.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    load_model(path)
print("whole after every kill")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_killed_writer_leaves_a_whole_file(saved: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _KILLER, str(saved)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout == "whole after every kill\n", done.stderr


def test_agents_sample_with_their_generator_and_refuse_other_sizes() -> None:
    agent = Agent(tiny_model())
    obs = np.zeros((4, 48), np.float32)
    draws = [
        agent.act(obs, deterministic=False, generator=torch.Generator().manual_seed(s))
        for s in (1, 1, 2)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()
    assert draws[0].dtype == np.float32
    assert np.abs(draws[0]).max() <= 1.0
    with pytest.raises(ModelFileError, match=r"\(N, 48\), got \(4, 54\)"):
        agent.act(np.zeros((4, 54), np.float32), deterministic=True)
    agent.check_layout(observation_layout(RLConfig()))
    other = RLConfig().override("observations", num_ray_sensors=8)
    with pytest.raises(
        ModelFileError, match=r"ray_sensors\[13:29\].*ray_sensors\[13:21"
    ):
        agent.check_layout(observation_layout(other))


def test_discrete_agents_choose_classes() -> None:
    agent = Agent(tiny_model("discrete"))
    obs = np.random.default_rng(0).normal(size=(200, 48)).astype(np.float32)
    best = agent.act(obs, deterministic=True)
    drawn = agent.act(obs, deterministic=False)
    assert best.shape == drawn.shape == (200,)
    assert best.dtype == np.int64
    assert set(drawn.tolist()) == set(range(7))
