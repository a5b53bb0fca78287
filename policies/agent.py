"""A trained actor, ready to act on batches of raw observations, without a world."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ambulo.configs.errors import ModelFileError
from ambulo.configs.vr import NavigationConfig
from ambulo.policies.files.model_format import Layout, ObservationPart
from ambulo.policies.files.vr_model import (
    ModelFile,
    ModelMetadata,
    actor_shapes,
    describe,
    load_model,
)
from ambulo.policies.networks.actor_critic import ACTIVATIONS, bounded
from ambulo.policies.ppo import FastPPO


@dataclass(frozen=True)
class StoredLayout:
    """The observation layout that an agent was trained on, as its file tells it."""

    parts: tuple[ObservationPart, ...]
    """In order, without gaps."""

    @property
    def size(self) -> int:
        """Numbers that the agent sees."""
        return self.parts[-1].stop

    def slices(self) -> dict[str, slice]:
        """Where each part lies."""
        return {part.name: slice(part.start, part.stop) for part in self.parts}

    def schema(self) -> list[dict[str, object]]:
        """One row a part, JSON-ready."""
        return [part.model_dump(mode="json") for part in self.parts]


class Actor(nn.Module):
    """Raw observations (N, size) to unclipped means (N, 3), or scores (N, 7)."""

    scales: Tensor

    def __init__(
        self,
        widths: Sequence[int],
        activation: str,
        size: int,
        out: int,
        bound: tuple[float, float] | None = None,
    ) -> None:
        """Weights not yet set."""
        super().__init__()
        self.bound = bound
        self.register_buffer("scales", torch.ones(size))
        layers: list[nn.Module] = []
        inputs = size
        for width in widths:
            layers += [nn.Linear(inputs, width), ACTIVATIONS[activation]()]
            inputs = width
        self.hidden = nn.Sequential(*layers)
        self.head = nn.Linear(inputs, out)

    @classmethod
    def of(cls, metadata: ModelMetadata, policy: Mapping[str, Tensor]) -> Actor:
        """The actor inside the weights of a `NavigationPolicy`."""
        network, size = metadata.config.network, metadata.observation_size
        with torch.random.fork_rng(devices=[]):
            actor = cls(
                network.net_arch, network.activation_fn, size, metadata.action.size,
                network.action_bound,
            )  # fmt: skip
        renamed = {"scales": policy["mlp_extractor.scales"][:size]}
        for name in actor_shapes(metadata):
            new = name.replace("mlp_extractor.actor.", "hidden.")
            new = new.replace("action_net.", "head.")
            if new != "log_std":
                renamed[new] = policy[name]
        actor.load_state_dict(renamed)
        return actor.eval().requires_grad_(False)

    def forward(self, observations: Tensor) -> Tensor:
        """Means or scores."""
        out: Tensor = self.head(self.hidden(observations * self.scales))
        return bounded(out, self.bound)


class Agent:
    """Acts; `config` and `metadata` tell how it was trained."""

    def __init__(self, model: ModelFile) -> None:
        """The agent in `model`, whose weights are copied."""
        self.metadata: ModelMetadata = model.metadata
        self.config: NavigationConfig = model.metadata.config
        self.layout = StoredLayout(model.metadata.observation)
        self.discrete = model.metadata.action.mode == "discrete"
        self.actor = Actor.of(model.metadata, model.policy)
        log_std = model.policy.get("log_std")
        self._std = None if log_std is None else log_std.detach().cpu().exp()

    @classmethod
    def from_learner(
        cls, learner: FastPPO, config: NavigationConfig, layout: Layout | None = None
    ) -> Agent:
        """A snapshot of `learner`; later training does not change it."""
        return cls(model_of(learner, config, layout))

    def act(
        self,
        obs: NDArray[np.float32],
        *,
        deterministic: bool,
        generator: torch.Generator | None = None,
    ) -> NDArray[Any]:
        """Actions for raw observations (N, size): (N, 3) in [-1, 1], or (N,) indices.

        Args:
            obs: what the actor sees, without privileged numbers.
            deterministic: the mean (or the best class) instead of a sample.
            generator: source of the samples; torch's own when None.

        Raises:
            ModelFileError: observations of another size than the agent was trained on.
        """
        with torch.inference_mode():
            out = self.actor(tensor_of(obs, self.metadata.observation_size))
            if self.discrete:
                return self._choose(out, deterministic, generator).numpy()
            if not deterministic:
                assert self._std is not None
                out += self._std * torch.randn(out.shape, generator=generator)
            actions: NDArray[np.float32] = out.clamp_(-1.0, 1.0).numpy()
            return actions

    def check_layout(self, layout: Layout) -> None:
        """`ModelFileError` when an environment's `layout` is not the agent's."""
        mine, other = self.layout.schema(), layout.schema()
        for i in range(max(len(mine), len(other))):
            ours = _row(mine[i]) if i < len(mine) else "nothing"
            theirs = _row(other[i]) if i < len(other) else "nothing"
            if ours != theirs:
                raise ModelFileError(
                    f"observation part {i}: the agent was trained on {ours}, "
                    f"the environment gives {theirs}"
                )

    @staticmethod
    def _choose(
        scores: Tensor, deterministic: bool, generator: torch.Generator | None
    ) -> Tensor:
        """Class indices, shape (N,), int64."""
        if deterministic:
            return scores.argmax(dim=1)
        shares = torch.softmax(scores, dim=1)
        return torch.multinomial(shares, 1, generator=generator)[:, 0]


def tensor_of(obs: NDArray[np.float32], size: int) -> Tensor:
    """Observations (N, `size`) for a network, which then runs on one thread.

    Raises:
        ModelFileError: they have another size.
    """
    if obs.ndim != 2 or obs.shape[1] != size:
        raise ModelFileError(
            f"the agent was trained on observations of shape (N, {size}), "
            f"got {tuple(obs.shape)}; use the configuration in its file"
        )
    # Of a small network a thread takes longer to wake than to compute.
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    return torch.as_tensor(obs, dtype=torch.float32)


def load_agent(
    path: str | os.PathLike[str],
    *,
    trust_pickle: bool = False,
    stock_frame: Literal["head", "world"] = "head",
) -> Agent:
    """The agent in a model file; the arguments are those of `load_model`."""
    return Agent(load_model(path, trust_pickle=trust_pickle, stock_frame=stock_frame))


def model_of(
    learner: FastPPO,
    config: NavigationConfig,
    layout: Layout | None = None,
    *,
    command: str = "",
    extra: Mapping[str, Any] | None = None,
) -> ModelFile:
    """A copy of the learner's policy with its metadata, to be saved or to act.

    Args:
        learner: its environment gives the layout when `layout` is None.
        config: how it was trained; the file does not tell where engines were.
        layout: of the observations.
        command: command line of the training.
        extra: plain JSON values for the file.
    """
    if layout is None:
        env = learner.get_env()
        assert env is not None, "a learner without environment needs a layout"
        layout = env.get_attr("layout")[0]
    metadata = describe(
        config,
        layout,
        num_timesteps=learner.num_timesteps,
        command=command,
        extra=extra,
    )
    policy = {
        name: tensor.detach().cpu().clone()
        for name, tensor in learner.policy.state_dict().items()
    }
    return ModelFile(metadata, policy)


def _row(row: Mapping[str, object]) -> str:
    return f"{row['name']}[{row['start']}:{row['stop']}]"
