"""Stable-Baselines3 PPO files of published agents, read without running their pickles.

Only the tensors of `policy.pth` (see `torch_tensors`) and the plain JSON values of
`data` are used; its `:serialized:` fields are pickles and stay untouched.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ambulo.configs.errors import ConfigError, ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.files.archive import Archive, parse_json
from ambulo.policies.files.headers import (
    ObservationPart,
    StoredLayout,
    header_bytes,
)
from ambulo.policies.files.model_file import ModelFile
from ambulo.policies.files.raw_headers import SB3_ZIP
from ambulo.policies.files.torch_tensors import read_torch_tensors
from ambulo.policies.files.weights import check_finite, check_shapes
from ambulo.policies.kinds.vr_navigation import NavigationMetadata, describe

PUBLISHED_PARTS = (
    ("camera_position", 3, "m"),
    ("camera_rotation", 4, "1"),
    ("camera_velocity", 3, "m/s"),
    ("camera_angular_velocity", 3, "rad/s"),
    ("ray_sensors", 16, "m"),
    ("left_controller_position", 3, "m"),
    ("right_controller_position", 3, "m"),
    ("left_controller_velocity", 3, "m/s"),
    ("right_controller_velocity", 3, "m/s"),
    ("goal_position", 3, "m"),
    ("goal_distance", 1, "m"),
    ("goal_direction", 3, "1"),
)
"""The published 48 numbers: name, size, unit."""
SIZE = sum(size for _, size, _ in PUBLISHED_PARTS)
ACTIONS = 3
MAX_WIDTH = 65536
"""Widest layer that is read."""
_ACTIVATIONS = {"ReLU": "relu", "Tanh": "tanh", "ELU": "elu", "SiLU": "silu"}
_RENAMED = {
    "mlp_extractor.policy_net.": "mlp_extractor.actor.",
    "mlp_extractor.value_net.": "mlp_extractor.critic.",
}


def published_layout() -> StoredLayout:
    """Return the layout that a published policy was trained on."""
    stops = accumulate(size for _, size, _ in PUBLISHED_PARTS)
    parts = [
        ObservationPart(
            name=name, start=stop - size, stop=stop, unit=unit, meaning="as published"
        )
        for (name, size, unit), stop in zip(PUBLISHED_PARTS, stops, strict=True)
    ]
    return StoredLayout(tuple(parts))


def load_sb3_zip(
    path: Path,
    archive: Archive,
    trust_pickle: bool,
    frame: Literal["head", "world"],
) -> ModelFile[NavigationMetadata]:
    """A Stable-Baselines3 PPO file as a model without input scaling.

    Accepted: `MlpPolicy` with separate actor and critic of equal widths, the published
    48 numbers and three continuous actions. The file does not say in which `frame` the
    observations were, nor which world it was trained in; the rest of the configuration
    has its defaults. The activation is tanh unless the plain JSON names another.

    Args:
        path: for messages, and read again with `trust_pickle`.
        archive: the open file.
        trust_pickle: load with `PPO.load`, which runs pickles.
        frame: frame of the observations.
    """
    source = str(path)
    data = parse_json(*header_bytes(archive, "data"))
    if not isinstance(data, dict):
        raise ModelFileError(f"{source}: data: not a dictionary")
    weights: Mapping[str, Any]
    if trust_pickle:
        weights, activation = _load_trusted(path)
    else:
        weights = read_torch_tensors(archive, "policy.pth")
        activation = _activation(data)
    widths = _widths(weights, source)
    steps = data.get("num_timesteps")
    try:
        config = (
            NavigationConfig()
            .override(
                "network",
                net_arch=widths,
                activation_fn=activation,
                privileged_critic=False,
            )
            .override("observations", normalize=False, memory="none", frame=frame)
        )
    except ConfigError as error:
        raise ModelFileError(f"{source}: {error}") from None
    metadata = describe(
        config,
        published_layout(),
        num_timesteps=steps if type(steps) is int and 0 <= steps < 2**63 else 0,
        extra={"source": SB3_ZIP},
    )
    scales = {"mlp_extractor.scales": torch.ones(SIZE)}
    found = {_renamed(name): values for name, values in weights.items()} | scales
    shapes = {name: tuple(values.shape) for name, values in found.items()}
    check_shapes(shapes, metadata.weight_shapes(shapes, source), source)
    policy = {name: torch.tensor(np.asarray(v)).float() for name, v in found.items()}
    check_finite(policy, source)
    return ModelFile(metadata, policy)


def _renamed(name: str) -> str:
    for old, new in _RENAMED.items():
        name = name.replace(old, new)
    return name


def _widths(weights: Mapping[str, Any], source: str) -> tuple[int, ...]:
    """Hidden widths of the actor, when the policy is one that can be mapped."""
    shapes = {name: tuple(tensor.shape) for name, tensor in weights.items()}
    widths: list[int] = []
    while (name := f"mlp_extractor.policy_net.{2 * len(widths)}.weight") in shapes:
        if len(shapes[name]) != 2 or not 0 < shapes[name][0] <= MAX_WIDTH:
            raise ModelFileError(f"{source}: {name} has shape {shapes[name]}")
        widths.append(shapes[name][0])
    seen = shapes.get("mlp_extractor.policy_net.0.weight", (0, 0))[1]
    actions = shapes.get("action_net.bias", (0,))
    if not widths or "log_std" not in shapes:
        raise ModelFileError(
            f"{source}: not an MlpPolicy with hidden layers and continuous actions"
        )
    if seen != SIZE or actions != (ACTIONS,):
        raise ModelFileError(
            f"{source}: a policy with {seen} observations and {actions} actions, "
            f"expected {SIZE} and ({ACTIONS},)"
        )
    return tuple(widths)


def _activation(data: Mapping[str, Any]) -> str:
    """The activation that the plain JSON values of `policy_kwargs` name, or tanh."""
    kwargs = data.get("policy_kwargs")
    named = kwargs.get("activation_fn") if isinstance(kwargs, dict) else None
    if not isinstance(named, str):
        return "tanh"
    name = named.removeprefix("<class '").removesuffix("'>").rpartition(".")[2]
    if name not in _ACTIVATIONS:
        raise ModelFileError(f"activation {name!r} of a Stable-Baselines3 policy")
    return _ACTIVATIONS[name]


def _load_trusted(path: Path) -> tuple[dict[str, Tensor], str]:
    """Weights and activation from `PPO.load`, which runs the pickles in the file."""
    from stable_baselines3 import PPO

    try:
        policy = PPO.load(path, device="cpu").policy
    except Exception as error:  # whatever the pickles do
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelFileError(f"{path}: PPO.load failed: {reason}") from None
    name = getattr(policy, "activation_fn", torch.nn.Tanh).__name__
    if name not in _ACTIVATIONS:
        raise ModelFileError(f"{path}: activation {name!r} is not supported")
    return dict(policy.state_dict()), _ACTIVATIONS[name]
