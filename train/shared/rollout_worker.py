"""A worker of a training: environments of its own, and a copy of the policy."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback, CallbackList
from stable_baselines3.common.logger import Logger
from torch import Tensor

from ambulo.policies.files.model_file import TrainingState, weights_of
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv
from ambulo.train.shared.callbacks import BoundaryCallback
from ambulo.train.shared.cluster import node_address
from ambulo.train.shared.gradient_exchange import GradientGroup, free_port
from ambulo.train.shared.optimizer_state import optimizer_arrays, restore_optimizer
from ambulo.train.shared.rl_task import RLTask, TaskFactory, WorkerSpec

PREFIX, LOCK = "ambulo_worker_", "lock"
"""Beginning of the names of workers' folders, and the file that a living one has locked."""
LARGE = "terminal_observation"
"""Key of an episode's last info that is not needed after the roll-out."""


@dataclass(frozen=True)
class LearnerCopy:
    """A learner's policy and what its next update depends on."""

    policy: dict[str, Tensor]
    """Weights and statistics."""
    optimizer: dict[str, NDArray[Any]]
    """Moments of Adam; its step size follows from the progress."""
    updates: int
    """Epochs done."""


@dataclass(frozen=True)
class RolloutStart:
    """Instructions for one roll-out of a worker."""

    random: NDArray[np.uint8] | int
    """State of torch's generator, or a seed."""
    timesteps: int
    """Environment steps of all workers so far."""
    progress_remaining: float
    """Fraction of the training that is left after this roll-out."""


@dataclass
class Rollout:
    """Results of one roll-out of a worker."""

    episodes: list[dict[str, Any]] = field(default_factory=list)
    """Last infos of the episodes that ended."""
    info_sums: dict[str, float] = field(default_factory=dict)
    """Sums of the step infos."""
    info_count: int = 0
    """Number of infos in `info_sums`."""
    random: NDArray[np.uint8] | None = None
    """State of torch's generator afterwards."""
    learner: LearnerCopy | None = None
    """The updated learner, of the first worker that updates."""
    logs: dict[str, Any] = field(default_factory=dict)
    """Metrics that the update logged."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files for the run folder from the preparation of the policy, by name."""


class _Episodes(BaseCallback):
    """Keeps the last infos of the episodes that end."""

    def __init__(self) -> None:
        super().__init__()
        self.infos: list[dict[str, Any]] = []

    def _on_step(self) -> bool:
        terminal = self.locals["terminal"]
        if terminal is not None:
            for info in terminal.infos:
                self.infos.append({k: v for k, v in info.items() if k != LARGE})
        return True


class RolloutWorker:
    """Makes roll-outs, and learns from them in a group of learners."""

    def __init__(
        self,
        factory: TaskFactory,
        spec: WorkerSpec,
        timesteps: int,
        settings: Mapping[str, Any],
        level: int,
    ) -> None:
        """Make environments and learner.

        Args:
            factory: makes them.
            spec: how many, and their seed.
            timesteps: environment steps of all workers so far.
            settings: of the learner's side; see `RLTask.follow`.
            level: of the messages that are shown.
        """
        logging.basicConfig(level=level, format="%(message)s", stream=sys.stderr)
        self._folder, self._lock = own_folder()
        self._task: RLTask[Any] = factory(spec, self._folder)
        learner = self._task.learner
        learner.set_logger(Logger(None, []))
        learner.ep_info_buffer = deque(maxlen=learner._stats_window_size)
        learner.ep_success_buffer = deque(maxlen=learner._stats_window_size)
        self._episodes = _Episodes()
        self._beside = list(self._task.environment_callbacks())
        self._callbacks = CallbackList([self._episodes, *self._beside])
        self._callbacks.init_callback(learner)
        learner.num_timesteps = timesteps
        self._callbacks.on_training_start({}, {})
        self._task.follow(settings)

    def address(self) -> str:
        """Return the address of the machine in the cluster's network."""
        return node_address()

    def port(self) -> int:
        """Return a free port of this machine."""
        return free_port()

    def begin(
        self, start: RolloutStart, learner: LearnerCopy, initialised: bool
    ) -> tuple[bool, Rollout]:
        """Prepare the policy as `RLTask.begin` does; return its answer and the learner."""
        from ambulo.common.signals import StopRequest

        self._prepare(start, learner)
        answer = self._task.begin(StopRequest(), initialised=initialised)
        found = sorted(self._folder.iterdir())
        made = [file for file in found if file.is_file() and file.name != LOCK]
        files = {file.name: file.read_bytes() for file in made}
        copy = copy_of(self._learner)
        return answer, Rollout(random=_generator(), learner=copy, files=files)

    def boundary(self, timesteps: int, settings: Mapping[str, Any]) -> None:
        """Do what is due beside the environments after an update; see `RLTask.follow`."""
        self._learner.num_timesteps = timesteps
        self._task.follow(settings)
        for callback in self._beside:
            if isinstance(callback, BoundaryCallback):
                callback.num_timesteps = timesteps
                callback._boundary()

    def collect_and_update(
        self, start: RolloutStart, newer: LearnerCopy | None, returns_learner: bool
    ) -> Rollout:
        """Make a roll-out and learn from it with the group of `meet`.

        Args:
            start: state of generator and counters.
            newer: the learner to begin with; None: its own.
            returns_learner: whether the result holds the updated learner.
        """
        rollout = self._collect(start, newer)
        learner = self._learner
        learner._current_progress_remaining = start.progress_remaining
        learner.train()
        for callback in self._beside:
            if isinstance(callback, BoundaryCallback):
                callback.after_update()
        rollout.random = _generator()
        if returns_learner:
            rollout.learner = copy_of(learner)
            rollout.logs = dict(learner.logger.name_to_value)
        learner.logger.name_to_value.clear()
        return rollout

    def meet(self, rank: int, size: int, address: str) -> None:
        """Join the group of `size` learners at `address`, in place of any former one."""
        old = self._learner.exchange
        if isinstance(old, GradientGroup):
            old.close()
        self._learner.exchange = None
        if size > 1:
            self._learner.exchange = GradientGroup(rank, size, address)

    def capture(self) -> TrainingState:
        """Return the state of environments and learner."""
        if self._learner.num_timesteps > 0:  # it may be new, in place of a dead one
            self._begin_episodes()
        return self._task.capture(self._task.extra())

    def restore(self, state: TrainingState) -> None:
        """Put `state` back."""
        self._task.restore(state, state.values["extra"])
        self._callbacks.on_training_start({}, {})  # what was due is done

    def close(self) -> None:
        """Free the environments."""
        self._task.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.release()

    @property
    def _learner(self) -> FastPPO:
        return self._task.learner

    @property
    def _env(self) -> Sb3BatchEnv:
        env = self._learner.get_env()
        assert isinstance(env, Sb3BatchEnv)
        return env

    def _collect(self, start: RolloutStart, newer: LearnerCopy | None) -> Rollout:
        self._prepare(start, newer)
        learner, env = self._learner, self._env
        self._begin_episodes()
        self._episodes.infos = []
        learner.collect_rollouts(
            env, self._callbacks, learner.rollout_buffer, learner.n_steps
        )
        sums, count = env.info_sums, env.info_count
        env.info_sums, env.info_count = {}, 0
        infos = self._episodes.infos
        return Rollout(infos, sums, count, random=_generator())

    def _begin_episodes(self) -> None:
        """Reset the environments, unless their episodes have begun."""
        learner = self._learner
        if learner._last_obs is None:
            env = self._env
            learner._last_obs = env.reset()
            learner._last_episode_starts = np.ones(env.num_envs, np.bool_)

    def _prepare(self, start: RolloutStart, newer: LearnerCopy | None) -> None:
        """Take over policy, generator and counters."""
        learner = self._learner
        if newer is not None:
            load_copy(learner, newer)
        if isinstance(start.random, int):
            torch.manual_seed(start.random)
        else:
            torch.set_rng_state(torch.from_numpy(np.array(start.random)))
        learner.num_timesteps = start.timesteps


def own_folder() -> tuple[Path, FileLock]:
    """Make a folder for this worker, which has it while it holds the lock.

    Folders of workers that were killed are removed.
    """
    for old in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        lock = FileLock(old / LOCK, timeout=0)
        try:
            lock.acquire()
        except (OSError, Timeout):  # another user's, or in use
            continue
        shutil.rmtree(old, ignore_errors=True)
        lock.release()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    own = FileLock(folder / LOCK)
    own.acquire()  # which makes the folder again, if another worker was faster
    return folder, own


def copy_of(learner: FastPPO) -> LearnerCopy:
    """Return a copy of the policy of `learner`, with its optimiser, in main memory."""
    policy = learner.policy
    moments = optimizer_arrays(policy, policy.optimizer)
    return LearnerCopy(weights_of(policy), moments, learner._n_updates)


def load_copy(learner: FastPPO, copy: LearnerCopy) -> None:
    """Put `copy` into `learner`."""
    policy = learner.policy
    policy.load_state_dict(copy.policy)
    restore_optimizer(policy, policy.optimizer, copy.optimizer)
    learner._n_updates = copy.updates


def _generator() -> NDArray[np.uint8]:
    """Return the state of torch's generator."""
    state: NDArray[np.uint8] = torch.get_rng_state().numpy().copy()
    return state
