"""A trained actor, ready to act on batches of raw observations, without a world."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.arrays import Bools, Ints, Singles
from ambulo.configs.errors import ModelFileError, ObservationError
from ambulo.configs.vr import NavigationConfig
from ambulo.configs.vr_comfort import check_dial
from ambulo.policies.agents.sb3_zip import load_sb3_zip
from ambulo.policies.checked_steps import number_not_finite
from ambulo.policies.files.archive import open_archive
from ambulo.policies.files.headers import HEADER, DescribedLayout, StoredLayout
from ambulo.policies.files.model_file import ModelFile, model_of_archive
from ambulo.policies.files.raw_headers import SB3_ZIP
from ambulo.policies.files.vecnormalize import (
    VecNormalizeStatistics,
    find_vecnormalize,
    read_vecnormalize,
)
from ambulo.policies.kinds.vr_navigation import NavigationMetadata

log = logging.getLogger(__name__)

NavigationModel = ModelFile[NavigationMetadata]
"""The contents of a file of a navigation policy."""
LOST = (-4.2, 0.3, 0.85)
"""Logit of being lost: constant, factor of ln(1 + steps since the least distance to the goal)
and of ln(1 + steps spent in this 1 m cell), see `Agent.lost`.

Fitted once, by logistic regression on 48,000 steps of `vr_navigation` in 430 episodes on
training levels (sets `train` and `places`, families `doors`, `crowd` and `storeys`), each
family weighted alike. `LOST` of the add-on's policy node and of the web page equal it."""


class Agent:
    """A VR-navigation policy ready to act, with its config and metadata.

    A recurrent one (`units` > 0) remembers each environment: `reset` it where
    episodes begin, unless `make` or `make_vec` made the environments for it.
    """

    def __init__(
        self, model: NavigationModel, statistics: VecNormalizeStatistics | None = None
    ) -> None:
        """The agent in `model`, whose weights are copied.

        Args:
            model: Of a file.
            statistics: Normalise observations before the network sees them; for
                policies of Stable-Baselines3 that were trained behind `VecNormalize`.
        """
        self.statistics = statistics
        self.metadata: NavigationMetadata = model.metadata
        # A file does not choose which programs and which code its users run.
        config = model.metadata.config.passive()
        self.config: NavigationConfig = config.at_comfort(config.usual_comfort)
        self.layout = StoredLayout(model.metadata.observation)
        self.discrete = model.metadata.action.mode == "discrete"
        self.policy = model.metadata.new_policy()
        self.policy.load_state_dict(_acting(model), strict=False)
        self.policy.eval().requires_grad_(False)
        log_std = model.weights.get("log_std")
        self._std = None if log_std is None else log_std.detach().cpu().exp()
        self.units = self.config.network.recurrent
        """Numbers that it remembers of an environment."""
        self._states = torch.zeros((0, self.units))
        self._begun: Callable[[], Bools] | None = None
        where = self.layout.slices()
        self._visits = where.get("stay", where.get("visits"))
        self._stay: Singles | None = None
        """Features of this cell and of no progress at the last `act`, shape (N, 2)."""

    @property
    def env_id(self) -> str:
        """The environment that it was trained in."""
        body = self.config.environment.body
        return f"ambulo/{'VR' if body == 'capsule' else 'Embodied'}Navigation-v0"

    def copy(self) -> Agent:
        """Return an agent of the same weights that remembers nothing yet."""
        other = copy.copy(self)
        other._states, other._begun = torch.zeros((0, self.units)), None
        other._stay = None
        return other

    def reset(self, envs: Ints | None = None) -> None:
        """Forget the episodes of `envs` (indices; None: of all environments)."""
        if envs is None:
            self._states = torch.zeros((0, self.units))
        else:
            self._states = self._states.clone()
            self._states[torch.as_tensor(envs[envs < len(self._states)])] = 0.0

    @property
    def states(self) -> Singles:
        """Recurrent states of the environments of the last step, shape (N, units)."""
        return np.asarray(self._states.numpy())

    def set_states(self, states: Singles) -> None:
        """Continue from `states` of N environments, shape (N, units)."""
        self._states = torch.from_numpy(np.array(states, np.float32))

    def connect(self, begun: Callable[[], Bools]) -> None:
        """Forget episodes by itself: those that `begun` says have just begun, shape (N,)."""
        self._begun = begun

    @property
    def lost(self) -> Singles | None:
        """Probability of being lost at the observations of the last `act`, shape (N,).

        *Lost*: from here the agent walks more than twice the shortest path that is left plus
        2 m, or does not arrive before the step limit. None before the first `act`, and
        without a memory (`observations.memory` = none).

        It is a logistic function (`LOST`) of two numbers that the memory observes. AUROC of
        `vr_navigation`: 0.69 on 180 validation episodes of the nine families (expected
        calibration error 0.04), 0.94 on 120 of `storeys`, 0.66 on 100 of `places`, 0.82 on 80
        of `doors` and `crowd`. A network trained for it had 0.80, 0.87, 0.69 and 0.86 in the
        same episodes. Other agents: `vr_comfort` 0.55, `embodied_navigation` 0.60. The critic
        cannot be used, because it sees the true distance.
        """
        if self._stay is None:
            return None
        constant, stalled, stayed = LOST
        here, since = np.maximum(self._stay, 0.0).T
        logit = constant + stalled * np.log1p(100.0 * since) + stayed * 5.0 * here
        return np.asarray(1.0 / (1.0 + np.exp(-logit)), np.float32)

    def act(
        self,
        obs: NDArray[np.float32],
        *,
        deterministic: bool = True,
        generator: torch.Generator | None = None,
    ) -> NDArray[Any]:
        """Return actions for raw observations: (N, 3) in [-1, 1], or (N,) indices.

        A recurrent agent takes in one step of N environments; another N than before begins
        new episodes of all.

        Args:
            obs: Observations (N, size), or one (size,), without privileged numbers.
            deterministic: the mean (or the best class) instead of a sample.
            generator: source of the samples; torch's own when None.

        Raises:
            ModelFileError: observations of another size than the agent was trained on.
            ObservationError: a number is not finite.
        """
        if obs.ndim == 1:
            batch = obs[None]
            return self.act(batch, deterministic=deterministic, generator=generator)[0]
        if self.statistics is not None:
            obs = self.statistics(obs)
        with torch.inference_mode():
            seen = tensor_of(obs, self.layout)
            states = self._states_of(len(seen))
            out, self._states = self.policy.mean_step(seen, states)
            if self._visits is not None:
                stop = self._visits.stop
                self._stay = obs[:, stop - 2 : stop].copy()
            if self.discrete:
                return self._choose(out, deterministic, generator).numpy()
            if not deterministic:
                assert self._std is not None
                out += self._std * torch.randn(out.shape, generator=generator)
            actions: NDArray[np.float32] = out.clamp_(-1.0, 1.0).numpy()
            return actions

    def _states_of(self, envs: int) -> Tensor:
        """States of `envs` environments, zeros where episodes begin."""
        if len(self._states) != envs:
            return torch.zeros((envs, self.units))
        if self.units > 0 and self._begun is not None:
            begun = self._begun()
            if len(begun) == envs and begun.any():
                return self._states * torch.from_numpy(~begun)[:, None]
        return self._states

    @property
    def comfort(self) -> float | None:
        """Comfort dial of the environments that are made for it.

        From 0 (fast) to 1 (comfortable); None: it was trained without a dial.

        Raises:
            ConfigError: On setting it, beyond [0, 1] or without a dial.
        """
        config = self.config
        return (
            config.environment.comfort_range[0] if config.observations.comfort else None
        )

    @comfort.setter
    def comfort(self, dial: float) -> None:
        check_dial(dial, self.config.observations.comfort)
        self.config = self.config.at_comfort(float(dial))

    def env_settings(self) -> dict[str, Any]:
        """Return the keyword arguments of its environment."""
        return {"config": self.config}

    def check_layout(self, layout: DescribedLayout) -> None:
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
        chances = torch.softmax(scores, dim=1)
        return torch.multinomial(chances, 1, generator=generator)[:, 0]


def _acting(model: NavigationModel) -> dict[str, Tensor]:
    """Return the weights that acting needs; the critic's scales, behind, are left out."""
    scales = model.weights["mlp_extractor.scales"]
    found = {"mlp_extractor.scales": scales[: model.metadata.observation_size]}
    return found | {name: model.weights[name] for name in model.metadata.actor_shapes()}


def tensor_of(obs: NDArray[np.float32], layout: StoredLayout) -> Tensor:
    """Observations (N, size) of `layout` for a network, which then runs on one thread.

    Raises:
        ModelFileError: they have another size.
        ObservationError: a number is not finite.
    """
    if obs.ndim != 2 or obs.shape[1] != layout.size:
        raise ModelFileError(
            f"the agent was trained on observations of shape (N, {layout.size}), "
            f"got {tuple(obs.shape)}; use the configuration in its file"
        )
    # Of a small network a thread takes longer to wake than to compute.
    if torch.get_num_threads() != 1:
        torch.set_num_threads(1)
    if not np.isfinite(obs).all():
        row, text = number_not_finite(obs, layout)
        raise ObservationError(f"observation {row}: {text}; must be finite")
    return torch.as_tensor(obs, dtype=torch.float32)


def load_navigation(
    path: str | os.PathLike[str],
    *,
    trust_pickle: bool = False,
    stock_frame: Literal["head", "world"] = "head",
) -> NavigationModel:
    """Return the contents of a file of a navigation policy, checked.

    Args:
        path: A file of `save_model`, or a Stable-Baselines3 zip (see `load_sb3_zip`).
        trust_pickle: Run the pickles of a Stable-Baselines3 zip; only for own files.
        stock_frame: Frame of the observations of a Stable-Baselines3 policy; its file
            does not say.

    Raises:
        ModelFileError: Missing, damaged, unsafe, newer, or of another kind.
    """
    file = Path(path)
    with open_archive(file) as archive:
        if HEADER not in archive and {"data", "policy.pth"} <= archive.keys():
            return load_sb3_zip(file, archive, trust_pickle, stock_frame)
        return model_of_archive(archive, NavigationMetadata)


def load_agent(
    path: str | os.PathLike[str],
    *,
    trust_pickle: bool = False,
    stock_frame: Literal["head", "world"] = "head",
) -> Agent:
    """Return the agent in a model file; the arguments are those of `load_navigation`.

    Statistics of `VecNormalize` that lie beside a Stable-Baselines3 zip are used.
    """
    model = load_navigation(path, trust_pickle=trust_pickle, stock_frame=stock_frame)
    return Agent(model, statistics_beside(path, model, trust_pickle=trust_pickle))


def statistics_beside(
    path: str | os.PathLike[str], model: NavigationModel, *, trust_pickle: bool = False
) -> VecNormalizeStatistics | None:
    """Return the statistics of `VecNormalize` that `model` was trained with; None: without.

    Raises:
        ModelFileError: They are missing or damaged; see `find_vecnormalize`.
    """
    if model.metadata.extra.get("source") != SB3_ZIP:
        return None
    beside = find_vecnormalize(Path(path))
    if beside is None:
        return None
    log.warning("%s: observations are normalised by %s", path, beside)
    size = model.metadata.observation_size
    return read_vecnormalize(beside, size, trust_pickle=trust_pickle)


def _row(row: Mapping[str, object]) -> str:
    return f"{row['name']}[{row['start']}:{row['stop']}]"
