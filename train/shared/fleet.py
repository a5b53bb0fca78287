"""The workers of a training on a cluster, as the host of its environments.

Each worker learns from its own roll-out, and all take every gradient step together
(`GradientGroup`); this process keeps a copy of the learner. A worker that dies is replaced,
and that roll-out is made again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback

from ambulo.common.files import write_bytes
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.configs.errors import ConfigError, ObservationError, RewardError
from ambulo.policies.files.model_file import TrainingState
from ambulo.policies.ppo import FastPPO
from ambulo.policies.sb3_batch_env import Sb3BatchEnv, Terminal
from ambulo.train.shared.callbacks import BoundaryCallback
from ambulo.train.shared.cluster import Cluster, joined
from ambulo.train.shared.cluster_guards import ClusterError, LostWorkerError
from ambulo.train.shared.gradient_exchange import ExchangeError
from ambulo.train.shared.learner_state import capture_learner, restore_progress
from ambulo.train.shared.rl_task import RLTask, WorkerSpec
from ambulo.train.shared.rollout_worker import (
    LearnerCopy,
    Rollout,
    RolloutStart,
    RolloutWorker,
    copy_of,
    load_copy,
)
from ambulo.train.shared.worker_state import fresh_seed, join, split

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""How long workers may take to close their environments, or to meet, [s]."""
LOOK = 0.5
"""Time between looks at a stop request, [s]."""
ATTEMPTS = 5
"""Times that the work of one roll-out is tried before the training is given up."""


class Fleet:
    """Workers that divide a task's environments; host and `Workers` of its learner."""

    def __init__(self, cluster: Cluster, task: RLTask[Any], workers: int) -> None:
        """Start the workers of `task`, which was made for remote environments.

        Raises:
            ConfigError: environments or samples cannot be divided equally.
        """
        self._cluster, self._task = cluster, task
        learner = task.learner
        self._spec = worker_spec(learner, workers)
        self._factory = cluster.share(task.factory())
        self._workers = [self._spawn(rank) for rank in range(workers)]
        self._rollouts: list[Rollout] = []
        self._in_step = False  # whether the learners of a group have equal weights
        self.resources = ExitStack()
        """Resources that are closed after the workers."""
        learner.workers = self

    def begin(self, stop: StopRequest, *, initialised: bool) -> bool:
        """Prepare the policy with the first worker's environments.

        Raises:
            Interrupted: `stop` was requested.
        """
        learner = self._task.learner
        given = (self._start(0), self._copy(), initialised)
        answer, rollout = self._all("begin", lambda _: given, [0], stop)[0]
        self._load(learner, rollout)
        for name, data in rollout.files.items():
            write_bytes(self._task.folder.path / name, data)
        return bool(answer)

    def environment_callbacks(self) -> Sequence[BaseCallback]:
        """Return what reports updates to the workers, and schedules of the learner."""
        return [_Boundaries(self), *self._task.environment_callbacks()]

    def boundary(self, timesteps: int) -> None:
        """Let the workers do what is due after an update."""
        settings = self._task.learner_settings()
        self._all("boundary", lambda _: (timesteps, settings))

    def collect(
        self,
        learner: FastPPO,
        callback: BaseCallback,
        buffer: RolloutBuffer,
        steps: int,
    ) -> bool:
        """Let every worker make its part of a roll-out; see `Workers`."""
        callback.on_rollout_start()
        self._rollouts = self._learn_together()
        env = learner.get_env()
        assert isinstance(env, Sb3BatchEnv)
        learner.num_timesteps += steps * env.num_envs
        self._count(learner, env)
        terminal = _terminal([i for r in self._rollouts for i in r.episodes])
        if terminal is not None:
            ended = np.ones(len(terminal.infos), np.bool_)
            learner._update_info_buffer(terminal.infos, ended)
        callback.update_locals({"terminal": terminal, "self": learner})
        return callback.on_step()

    def update(self, learner: FastPPO) -> None:
        """Take over what the workers learned; see `Workers`."""
        first = self._rollouts[0]
        self._load(learner, first)
        for name, value in first.logs.items():
            learner.logger.record(name, value)

    def capture(self, extra: dict[str, Any]) -> TrainingState:
        """Return the state of learner and workers, with `extra`."""
        task = self._task
        learner = capture_learner(task.learner, task.batch, extra)
        return join(learner, self._all("capture", lambda _: ()))

    def resume(self, state: TrainingState, extra: dict[str, Any]) -> None:
        """Restore a checkpoint, of this or another number of workers."""
        learner = self._task.learner
        restore_progress(learner, state)
        states = split(state)
        if len(states) != len(self._workers):
            log.warning(
                "the checkpoint is of %d workers, not %d: episodes begin anew",
                len(states), len(self._workers),
            )  # fmt: skip
            for rank, worker in enumerate(self._workers):
                self._cluster.end(worker)
                self._workers[rank] = self._spawn(rank)
            return
        self._all("restore", lambda rank: (states[rank],))

    def close(self) -> None:
        """End the workers, and leave the cluster if it was joined for them."""
        try:
            closing = [self._cluster.call(w, "close") for w in self._workers]
            deadline = time.monotonic() + PATIENCE
            while closing and (left := deadline - time.monotonic()) > 0.0:
                for reference in self._cluster.first(closing, left):
                    closing.remove(reference)
            for worker in self._workers:
                self._cluster.end(worker)
        finally:
            self._task.close()
            self.resources.close()

    def _learn_together(self) -> list[Rollout]:
        """Let all workers make a roll-out and learn from it, until none fails."""
        for _ in range(ATTEMPTS):
            if not self._in_step and not self._meet():
                continue
            copy = None if self._in_step else self._cluster.share(self._copy())
            ranks = range(len(self._workers))
            found = self._together(
                "collect_and_update",
                [(self._start(rank), copy, rank == 0) for rank in ranks],
            )
            if found is not None:
                self._in_step = True
                return found
        raise self._too_many_deaths()

    def _meet(self) -> bool:
        """Form a new group of all learners; return whether they have met."""
        size = len(self._workers)
        if size == 1:
            return True
        port = self._all("port", lambda _: (), ranks=[0])[0]
        places = self._all("address", lambda _: ())
        host = "127.0.0.1" if len(set(places)) == 1 else places[0]
        address = f"{host}:{port}"
        met = self._together(
            "meet", [(rank, size, address) for rank in range(size)], PATIENCE
        )
        return met is not None

    def _together(
        self,
        method: str,
        arguments: Sequence[Sequence[Any]],
        patience: float | None = None,
    ) -> list[Any] | None:
        """Call `method` of all workers, which wait for each other there.

        Returns:
            Results in order of rank; None if one failed. Then the dead are replaced; with
            `patience`, so are those that failed or are not ready so many seconds later.
        """
        waiting = {
            self._cluster.call(self._workers[rank], method, *given): rank
            for rank, given in enumerate(arguments)
        }
        results: dict[int, Any] = {}
        lost: list[int] = []
        failed, end = False, None
        while waiting:
            left = None if end is None else max(0.0, end - time.monotonic())
            ready = self._cluster.first(list(waiting), left)
            if not ready:
                lost += waiting.values()
                break
            for reference in ready:
                rank = waiting.pop(reference)
                try:
                    results[rank] = result_of(self._cluster, rank, reference)
                except (LostWorkerError, ExchangeError) as error:
                    failed = True
                    if patience is not None:
                        end = end or time.monotonic() + patience
                    if patience is not None or isinstance(error, LostWorkerError):
                        lost.append(rank)
        for rank in lost:
            self._cluster.end(self._workers[rank])
            self._replace(rank)
        if failed:
            self._in_step = False
            return None
        return [results[rank] for rank in sorted(results)]

    def _start(self, rank: int) -> RolloutStart:
        """Return what worker `rank` needs for the next roll-out."""
        own = self._task.learner
        now, steps = own.num_timesteps, own.n_steps * own.n_envs
        random: Any = torch.get_rng_state().numpy().copy()
        if rank > 0:
            random = fresh_seed(own.seed or 0, rank, now)
        remaining = 1.0 - float(now + steps) / float(max(own._total_timesteps, 1))
        return RolloutStart(random, now, remaining)

    def _copy(self) -> LearnerCopy:
        return copy_of(self._task.learner)

    def _load(self, learner: FastPPO, rollout: Rollout) -> None:
        """Take over a worker's learner and generator."""
        assert rollout.learner is not None
        load_copy(learner, rollout.learner)
        self._use_generator(rollout)

    def _use_generator(self, rollout: Rollout) -> None:
        assert rollout.random is not None
        torch.set_rng_state(torch.from_numpy(np.array(rollout.random)))

    def _count(self, learner: FastPPO, env: Sb3BatchEnv) -> None:
        """Add what the workers counted, and go on with the first one's generator."""
        for rollout in self._rollouts:
            for name, total in rollout.info_sums.items():
                env.info_sums[name] = env.info_sums.get(name, 0.0) + total
            env.info_count += rollout.info_count
        self._use_generator(self._rollouts[0])

    def _all(
        self,
        method: str,
        arguments: Callable[[int], Sequence[Any]],
        ranks: Sequence[int] | None = None,
        stop: StopRequest | None = None,
    ) -> list[Any]:
        """Call `method` of all workers (or of `ranks`); results in order of rank.

        A worker that dies is replaced, and its call made again. Raises `Interrupted` at `stop`.
        """
        chosen = list(range(len(self._workers))) if ranks is None else list(ranks)
        results: dict[int, Any] = {}
        lost = dict.fromkeys(chosen, 0)
        waiting = {self._call(rank, method, arguments): rank for rank in chosen}
        while waiting:
            ready = self._cluster.first(list(waiting), None if stop is None else LOOK)
            if stop is not None and stop.signal_number is not None:
                raise Interrupted(stop.signal_number)
            for reference in ready:
                rank = waiting.pop(reference)
                try:
                    results[rank] = result_of(self._cluster, rank, reference)
                except LostWorkerError:
                    lost[rank] += 1
                    if lost[rank] >= ATTEMPTS:
                        raise self._too_many_deaths() from None
                    self._replace(rank)
                    waiting[self._call(rank, method, arguments)] = rank
        return [results[rank] for rank in chosen]

    def _call(
        self, rank: int, method: str, arguments: Callable[[int], Sequence[Any]]
    ) -> Any:
        return self._cluster.call(self._workers[rank], method, *arguments(rank))

    def _replace(self, rank: int) -> None:
        """Start another worker in place of a dead one; its episodes begin anew."""
        log.warning("worker %d died; another one takes its place", rank)
        self._workers[rank] = self._spawn(rank)
        self._in_step = False

    def _spawn(self, rank: int) -> Any:
        """Start worker `rank`; what cannot be made is reported by its first call."""
        learner, task = self._task.learner, self._task
        now = learner.num_timesteps
        spec = replace(self._spec, seed=fresh_seed(learner.seed or 0, rank, now))
        given = (spec, now, task.learner_settings(), log.getEffectiveLevel())
        return self._cluster.spawn(RolloutWorker, self._factory, *given)

    def _too_many_deaths(self) -> ClusterError:
        return ClusterError(
            f"workers died in {ATTEMPTS} tries of one roll-out (out of memory?); "
            "use fewer of them or fewer environments"
        )


def most_workers(learner: FastPPO, cpus: int) -> int:
    """Return the largest number of workers up to `cpus` between which `learner` divides."""
    most = max(1, min(cpus, learner.n_envs))
    shared = gcd(learner.n_envs, learner.batch_size)
    return next(count for count in range(most, 0, -1) if shared % count == 0)


def worker_spec(learner: FastPPO, workers: int) -> WorkerSpec:
    """Return each worker's part of the environments and of each gradient step.

    Raises:
        ConfigError: they cannot be divided equally, as equal steps need.
    """
    envs, batch = learner.n_envs, learner.batch_size
    if workers < 1 or envs < workers:
        raise ConfigError(
            f"--workers {workers}: must be 1 to {envs}, the number of environments "
            "(--num-envs)"
        )
    if envs % workers or batch % workers:
        raise ConfigError(
            f"--workers {workers}: must divide the {envs} environments and the {batch} "
            "samples of a gradient step (--num-envs, --set ppo.batch_size)"
        )
    return WorkerSpec(envs // workers, batch // workers, learner.seed or 0, envs)


def started(task: RLTask[Any], workers: int | None, address: str | None) -> Fleet:
    """Join a cluster and start workers there; `Fleet.close` leaves it.

    Args:
        task: made for remote environments.
        workers: how many; None: see `most_workers`.
        address: of the cluster; see `cluster.joined`.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(joined(workers or 1, address))
        fleet = Fleet(
            cluster, task, workers or most_workers(task.learner, cluster.cpus)
        )
        fleet.resources = stack.pop_all()
    return fleet


def result_of(cluster: Cluster, rank: int, reference: Any) -> Any:
    """Wait for a result of worker `rank`, which errors of its environments name."""
    try:
        return cluster.result(reference)
    except (ObservationError, RewardError) as error:
        raise type(error)(f"worker {rank}: {error}") from None


class _Boundaries(BoundaryCallback):
    """Tells workers that an update is done."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__()
        self._fleet = fleet

    def at_boundary(self, before: int, now: int) -> None:
        self._fleet.boundary(now)


def _terminal(infos: list[dict[str, Any]]) -> Terminal | None:
    """Return the ends of episodes for callbacks; their observations stay with workers."""
    if not infos:
        return None
    none = np.zeros(0, np.int64)
    rows = np.arange(len(infos))
    return Terminal(rows, np.zeros((len(infos), 0), np.float32), none, none, infos)
