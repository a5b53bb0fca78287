"""The state of learner, environments and random generators in a checkpoint.

The policy itself is saved as such. Capture at the start of a roll-out, after an update.
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.policies.files.model_file import ModelFile, TrainingState
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.optimizer_state import (
    group,
    optimizer_arrays,
    restore_optimizer,
)
from ambulo.train.shared.padding import pad_for_new_observations

_COUNTERS = (
    "num_timesteps",
    "_num_timesteps_at_start",
    "_total_timesteps",
    "_episode_num",
    "_n_updates",
    "_current_progress_remaining",
)
"""Attributes of the learner that are plain numbers."""

Arrays = dict[str, NDArray[Any]]


class StatefulBatch(Protocol):
    """A batch of environments that can be saved and restored."""

    num_envs: int
    obs: NDArray[np.float32]

    @property
    def rngs(self) -> list[np.random.Generator]:
        """Return the generators of the environments."""
        ...

    def seed(self, seeds: Sequence[int | None], /) -> None:
        """Seed the generator of each environment whose seed is not None."""
        ...

    def state_dict(self) -> Arrays:
        """Return all state that is kept between steps, by name."""
        ...

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        ...


def capture_learner(
    learner: FastPPO, batch: StatefulBatch, extra: Mapping[str, Any]
) -> TrainingState:
    """Return the state of `learner` and `batch` between two roll-outs, as copies.

    Args:
        learner: has learnt at least once, or begun to.
        batch: the environments that it trains on.
        extra: plain JSON values of the caller, given back by `restore_learner`.
    """
    arrays: Arrays = {}
    arrays |= {f"batch.{name}": array for name, array in batch.state_dict().items()}
    arrays |= optimizer_arrays(learner.policy, learner.policy.optimizer)
    memory = learner.memory_state()
    arrays |= {f"memory.{name}": array for name, array in memory.items()}
    rng_arrays, rng_values = _random_states(learner, batch)
    values = {
        "random": rng_values,
        "learner": {name: getattr(learner, name) for name in _COUNTERS},
        "episodes": [_plain(info) for info in learner.ep_info_buffer or ()],
        "successes": [bool(success) for success in learner.ep_success_buffer or ()],
        "info_sums": None,
        "info_count": 0,
        "last_obs_is_batch": False,
        "extra": dict(extra),
    }
    env = learner.get_env()
    if isinstance(env, Sb3BatchEnv):
        values["info_sums"] = dict(env.info_sums)
        values["info_count"] = env.info_count
    last = learner._last_obs
    if last is not None:
        assert isinstance(last, np.ndarray)
        assert learner._last_episode_starts is not None
        values["last_obs_is_batch"] = bool(np.shares_memory(last, batch.obs))
        arrays["learner.last_obs"] = last.copy()
        arrays["learner.last_episode_starts"] = learner._last_episode_starts.copy()
    return TrainingState(arrays | rng_arrays, values)


def restore_learner(
    learner: FastPPO, batch: StatefulBatch, state: TrainingState
) -> dict[str, Any]:
    """Put `state` back; the `extra` of `capture_learner`. Errors: see `fits`."""
    arrays, values = state.arrays, state.values
    _restore_batch(batch, group(arrays, "batch"))
    generators = values["random"]["players"]
    if len(generators) != batch.num_envs:
        raise ValueError(f"{len(generators)} environments, not {batch.num_envs}")
    env = learner.get_env()
    if isinstance(env, Sb3BatchEnv) and values["info_sums"] is not None:
        env.info_sums = dict(values["info_sums"])
        env.info_count = int(values["info_count"])
    if "learner.last_obs" in arrays:
        last = np.array(arrays["learner.last_obs"], batch.obs.dtype)
        if last.shape != batch.obs.shape:
            raise ValueError(f"observations {last.shape}, not {batch.obs.shape}")
        learner._last_obs = batch.obs if values["last_obs_is_batch"] else last
        begun = np.array(arrays["learner.last_episode_starts"], np.bool_)
        learner._last_episode_starts = begun
    learner.load_memory_state(group(arrays, "memory"))
    for rng, generator in zip(batch.rngs, generators, strict=True):
        rng.bit_generator.state = generator
    restore_progress(learner, state)
    return dict(values["extra"])


def restore_progress(learner: FastPPO, state: TrainingState) -> None:
    """Put back what is not of the environments: optimiser, counters, random generators.

    Errors: see `fits`.
    """
    arrays, values = state.arrays, state.values
    restore_optimizer(learner.policy, learner.policy.optimizer, arrays)
    for name in _COUNTERS:
        setattr(learner, name, type(getattr(learner, name))(values["learner"][name]))
    window = learner._stats_window_size
    learner.ep_info_buffer = deque(values["episodes"], maxlen=window)
    learner.ep_success_buffer = deque(values["successes"], maxlen=window)
    _restore_random_states(learner, group(arrays, "random"), values["random"])


@contextlib.contextmanager
def fits() -> Iterator[None]:
    """Turn errors of a damaged or unsuitable state into one `ModelFileError`."""
    try:
        yield
    except (
        KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError,
        RuntimeError,
    ) as error:  # fmt: skip
        reason = (str(error).splitlines() or [""])[0]
        raise ModelFileError(
            "the training state does not fit this configuration: "
            f"{type(error).__name__}: {reason}"
        ) from error


def load_weights(learner: FastPPO, model: ModelFile[Any], *, pad: bool = False) -> None:
    """Put the policy of `model` alone into `learner`.

    Args:
        learner: takes it.
        model: of a file.
        pad: let a policy of fewer observations begin (see `pad_for_new_observations`).

    Raises:
        ModelFileError: a policy of another shape.
    """
    own = learner.policy.state_dict()
    weights = pad_for_new_observations(learner, model) if pad else model.weights
    for name in sorted(own.keys() | weights.keys()):
        theirs, ours = (
            tuple(all_[name].shape) if name in all_ else "none"
            for all_ in (weights, own)
        )
        if theirs != ours:
            raise ModelFileError(
                f"the policy does not fit: it has {name} of shape {theirs}, these settings "
                f"make {ours}; keep its observations and network, or begin a run without "
                "it (--set training.init_from=null, no --init-from)"
            )
    learner.policy.load_state_dict(weights)


def _restore_batch(batch: StatefulBatch, arrays: Arrays) -> None:
    """Check shapes and values, which compiled code relies on, and put them back.

    The batch itself checks the length of an array named `..._list`.
    """
    for name, array in batch.state_dict().items():
        free = 1 if name.endswith("_list") else 0
        if arrays[name].shape[free:] != array.shape[free:]:
            got = arrays[name].shape
            raise ValueError(f"{name} has shape {got}, not {array.shape}")
        if array.dtype.kind == "f" and np.isnan(arrays[name]).any():
            raise ValueError(f"{name} has values that are not numbers")
    batch.load_state_dict(arrays)


def _random_states(
    learner: FastPPO, batch: StatefulBatch
) -> tuple[Arrays, dict[str, Any]]:
    """Return the state of every random generator of a training."""
    version, words, gauss = random.getstate()
    numpy_state = np.random.get_state(legacy=False)  # noqa: NPY002 (SB3 draws from it)
    assert isinstance(numpy_state, dict)
    arrays = {
        "random.python": np.array(words, np.uint32),
        "random.numpy": np.array(numpy_state["state"]["key"], np.uint32),
        "random.torch": torch.get_rng_state().numpy().copy(),
    }
    if learner.device.type == "cuda":
        cuda = torch.cuda.get_rng_state(learner.device)
        arrays["random.cuda"] = cuda.numpy().copy()
    values = {
        "python": [version, gauss],
        "numpy": [
            numpy_state["state"]["pos"],
            numpy_state["has_gauss"],
            numpy_state["gauss"],
        ],
        "players": [rng.bit_generator.state for rng in batch.rngs],
        "action_space": learner.action_space.np_random.bit_generator.state,
    }
    return arrays, values


def _restore_random_states(
    learner: FastPPO, arrays: Arrays, values: Mapping[str, Any]
) -> None:
    learner.action_space.np_random.bit_generator.state = values["action_space"]
    version, gauss = values["python"]
    random.setstate((version, tuple(arrays["python"].tolist()), gauss))
    position, has_gauss, cached = values["numpy"]
    np.random.set_state(  # noqa: NPY002
        ("MT19937", arrays["numpy"], position, has_gauss, cached)
    )
    torch.set_rng_state(torch.from_numpy(np.array(arrays["torch"], np.uint8)))
    if "cuda" in arrays and learner.device.type == "cuda":
        cuda = torch.from_numpy(np.array(arrays["cuda"], np.uint8))
        torch.cuda.set_rng_state(cuda, learner.device)


def _plain(info: Mapping[str, Any]) -> dict[str, float]:
    """Return one entry of SB3's episode buffer as plain JSON."""
    return {"r": float(info["r"]), "l": int(info["l"]), "t": float(info["t"])}
