"""Everything that a stopped training needs to go on as if it had never stopped.

Capture at the start of a roll-out, after an update. The policy itself is saved as such;
levels are saved by name and fingerprint and generated again.
"""

from __future__ import annotations

import random
import zlib
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambulo.configs.errors import AmbuloError, ModelFileError
from ambulo.envs.vr.bank import GOALS, LevelBank, Start
from ambulo.envs.vr.batch import NavigationBatch
from ambulo.envs.vr.families import TRAINING_FAMILIES, generate
from ambulo.envs.vr.level import Level
from ambulo.policies.model_file import ModelFile, TrainingState
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_vec_env import BatchVecEnv

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


def capture(
    learner: FastPPO, batch: NavigationBatch, extra: Mapping[str, Any]
) -> TrainingState:
    """The state of a training between two roll-outs, as copies.

    Args:
        learner: has learnt at least once, or begun to.
        batch: the players that it trains on.
        extra: plain JSON values of the caller, given back by `restore`.
    """
    arrays: Arrays = {}
    arrays |= {f"batch.{name}": array for name, array in batch.state_dict().items()}
    arrays |= {f"starts.{name}": array for name, array in _starts(batch).items()}
    arrays |= {f"optimizer.{name}": array for name, array in _moments(learner).items()}
    arrays["bank.goals"] = batch.bank.goals.copy()
    arrays["bank.fingerprints"] = _fingerprints(batch.bank.levels)
    rng_arrays, rng_values = _random_states(learner, batch)
    values = {
        "random": rng_values,
        "learner": {name: getattr(learner, name) for name in _COUNTERS},
        "levels": [level.name for level in batch.bank.levels],
        "designed": batch.bank.designed,
        "goal_distances": [list(batch.goal_distance), list(batch.bank.goal_distance)],
        "episodes": [_plain(info) for info in learner.ep_info_buffer or ()],
        "successes": [bool(success) for success in learner.ep_success_buffer or ()],
        "info_sums": None,
        "info_count": 0,
        "last_obs_is_batch": False,
        "extra": dict(extra),
    }
    env = learner.get_env()
    if isinstance(env, BatchVecEnv):
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


def restore(
    learner: FastPPO, batch: NavigationBatch, state: TrainingState
) -> dict[str, Any]:
    """Put `state` into a learner and a batch made from the same configuration.

    The policy is not part of it (see `resume`). Continue with `learn_until`.

    Returns:
        The `extra` of `capture`.

    Raises:
        ModelFileError: the state does not fit the configuration, or is damaged.
    """
    try:
        return _restore(learner, batch, state)
    except (
        KeyError, IndexError, ValueError, TypeError, AttributeError, OverflowError,
        RuntimeError,
    ) as error:  # fmt: skip
        reason = (str(error).splitlines() or [""])[0]
        raise ModelFileError(
            "the training state does not fit this configuration: "
            f"{type(error).__name__}: {reason}"
        ) from error


def resume(
    learner: FastPPO, batch: NavigationBatch, model: ModelFile
) -> dict[str, Any]:
    """Put the policy and the training state of a checkpoint into `learner` and `batch`.

    Returns:
        The `extra` of `capture`.

    Raises:
        ModelFileError: not a checkpoint, or one of another configuration.
    """
    if model.training is None:
        raise ModelFileError("the model holds no training state: it is no checkpoint")
    adopt(learner, model)
    return restore(learner, batch, model.training)


def adopt(learner: FastPPO, model: ModelFile) -> None:
    """Put the policy of `model` alone into `learner`.

    Raises:
        ModelFileError: a policy of another shape.
    """
    try:
        learner.policy.load_state_dict(model.policy)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise ModelFileError(
            f"the policy does not fit this configuration: {reason}"
        ) from None


def _restore(
    learner: FastPPO, batch: NavigationBatch, state: TrainingState
) -> dict[str, Any]:
    arrays, values = state.arrays, state.values
    _restore_bank(batch, values, arrays)
    _restore_batch(batch, _group(arrays, "batch"))
    _restore_starts(batch, _group(arrays, "starts"))
    _restore_moments(learner, _group(arrays, "optimizer"))
    for name in _COUNTERS:
        setattr(learner, name, type(getattr(learner, name))(values["learner"][name]))
    window = learner._stats_window_size
    learner.ep_info_buffer = deque(values["episodes"], maxlen=window)
    learner.ep_success_buffer = deque(values["successes"], maxlen=window)
    env = learner.get_env()
    if isinstance(env, BatchVecEnv) and values["info_sums"] is not None:
        env.info_sums = dict(values["info_sums"])
        env.info_count = int(values["info_count"])
    if "learner.last_obs" in arrays:
        last = np.array(arrays["learner.last_obs"], batch.obs.dtype)
        if last.shape != batch.obs.shape:
            raise ValueError(f"observations {last.shape}, not {batch.obs.shape}")
        learner._last_obs = batch.obs if values["last_obs_is_batch"] else last
        begun = np.array(arrays["learner.last_episode_starts"], np.bool_)
        learner._last_episode_starts = begun
    _restore_random_states(learner, batch, _group(arrays, "random"), values["random"])
    return dict(values["extra"])


def _restore_batch(batch: NavigationBatch, arrays: Arrays) -> None:
    """Players, tasks and memories; compiled code relies on shapes and indices."""
    for name, array in batch.state_dict().items():
        if arrays[name].shape != array.shape:
            got = arrays[name].shape
            raise ValueError(f"{name} has shape {got}, not {array.shape}")
        if array.dtype.kind == "f" and np.isnan(arrays[name]).any():
            raise ValueError(f"{name} has values that are not numbers")
    limits = {"slot": len(batch.bank), "index": GOALS, "heading_for": GOALS}
    for name, array in arrays.items():
        limit = limits.get(name.rpartition(".")[2])
        if limit is not None and not np.isin(array, np.arange(limit)).all():
            raise ValueError(f"{name} is not within 0..{limit - 1}")
    batch.load_state_dict(arrays)


def _starts(batch: NavigationBatch) -> Arrays:
    """The running episodes' starts; slot -1 where none has begun."""
    none = Start(-1, 0, np.zeros(3))
    starts = [none if start is None else start for start in batch.starts]
    return {
        "slot": np.array([start.slot for start in starts], np.int64),
        "goal": np.array([start.goal for start in starts], np.int64),
        "pose": np.array([start.pose for start in starts], np.float64),
    }


def _restore_starts(batch: NavigationBatch, arrays: Arrays) -> None:
    rows = zip(arrays["slot"], arrays["goal"], arrays["pose"], strict=True)
    starts = [
        None if slot < 0 else Start(int(slot), int(goal), pose.copy())
        for slot, goal, pose in rows
    ]
    if len(starts) != batch.num_players:
        raise ValueError(f"{len(starts)} players, not {batch.num_players}")
    batch.starts[:] = starts


def _parameters(learner: FastPPO) -> dict[int, str]:
    """Names of the policy's parameters by identity."""
    return {id(p): name for name, p in learner.policy.named_parameters()}


def _moments(learner: FastPPO) -> Arrays:
    """State of the optimiser, `<key>.<parameter>`."""
    names = _parameters(learner)
    return {
        f"{key}.{names[id(parameter)]}": value.detach().cpu().numpy().copy()
        for parameter, state in learner.policy.optimizer.state.items()
        for key, value in state.items()
    }


def _restore_moments(learner: FastPPO, arrays: Arrays) -> None:
    optimizer = learner.policy.optimizer
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    index = {id(p): i for i, p in enumerate(parameters)}
    names = {name: index[i] for i, name in _parameters(learner).items()}
    state: dict[int, dict[str, Tensor]] = {}
    for full, array in arrays.items():
        key, _, name = full.partition(".")
        value = torch.from_numpy(np.array(array))
        shape = parameters[names[name]].shape
        if key != "step" and value.shape != shape:
            raise ValueError(
                f"{full} has shape {tuple(value.shape)}, not {tuple(shape)}"
            )
        state.setdefault(names[name], {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _fingerprints(levels: Iterable[Level]) -> NDArray[np.int64]:
    """A checksum of the geometry, start and goal of each level."""
    return np.array([_fingerprint(level) for level in levels], np.int64)


def _fingerprint(level: Level) -> int:
    code = 0
    for part in (
        level.bounds, level.holes, level.boxes, level.cylinders,
        level.start, level.goal, level.goal_distance,
    ):  # fmt: skip
        data = b"-" if part is None else np.asarray(part, np.float64).tobytes()
        code = zlib.crc32(b"%d:" % len(data) + data, code)
    return code


def _restore_bank(
    batch: NavigationBatch, values: Mapping[str, Any], arrays: Arrays
) -> None:
    """Levels and goals of the bank, in bank and world, and how starts are drawn."""
    bank: LevelBank = batch.bank
    names, wanted = values["levels"], arrays["bank.fingerprints"]
    goals = arrays["bank.goals"]
    if len(names) != len(bank) or goals.shape != (len(bank), GOALS, 2):
        raise ValueError(f"{len(names)} levels, not {len(bank)}")
    have = _fingerprints(bank.levels)
    levels = list(bank.levels)
    for slot, name in enumerate(names):
        if name != levels[slot].name or have[slot] != wanted[slot]:
            levels[slot] = _regenerated(name, int(wanted[slot]))
    exchanged = bank.restore(levels, goals)
    if exchanged:
        batch.world.set_levels(exchanged, [levels[slot] for slot in exchanged])
    bank.designed = float(values["designed"])
    ranges = [(float(low), float(high)) for low, high in values["goal_distances"]]
    batch.goal_distance, bank.goal_distance = ranges


def _regenerated(name: str, fingerprint: int) -> Level:
    """The procedural level `name`, which must come out as it was."""
    family, _, seed = name.rpartition("-")
    level = None
    if family in TRAINING_FAMILIES and seed.isdecimal():
        try:
            level = generate(family, int(seed))
        except AmbuloError:
            level = None
    if level is None or _fingerprint(level) != fingerprint:
        raise ModelFileError(
            f"level {name!r} of the checkpoint cannot be had again: "
            "its file or the generator has changed"
        )
    return level


def _random_states(
    learner: FastPPO, batch: NavigationBatch
) -> tuple[Arrays, dict[str, Any]]:
    """Every random generator that a training draws from."""
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
    learner: FastPPO, batch: NavigationBatch, arrays: Arrays, values: Mapping[str, Any]
) -> None:
    if len(values["players"]) != batch.num_players:
        raise ValueError(f"{len(values['players'])} players, not {batch.num_players}")
    for rng, state in zip(batch.rngs, values["players"], strict=True):
        rng.bit_generator.state = state
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


def _group(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    """The arrays `name.<rest>` by `<rest>`."""
    start = f"{name}."
    return {k[len(start) :]: v for k, v in arrays.items() if k.startswith(start)}


def _plain(info: Mapping[str, Any]) -> dict[str, float]:
    """One entry of SB3's episode buffer as plain JSON."""
    return {"r": float(info["r"]), "l": int(info["l"]), "t": float(info["t"])}
