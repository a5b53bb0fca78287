"""Callbacks between an update and the next roll-out: logs, evaluation, checkpoints.

They depend only on the state of the run: a resumed run does the same things at the same
boundaries as an uninterrupted one.
"""

from __future__ import annotations

import json
import logging
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

from ambulo.common.console import Display
from ambulo.common.files import write_atomic
from ambulo.common.metrics_file import MetricsTable, read_evaluations
from ambulo.common.run_folder import RunFolder
from ambulo.common.signals import Interrupted, StopRequest
from ambulo.policies.sb3_batch_env import EPISODE_FIELDS, Sb3BatchEnv

log = logging.getLogger(__name__)

_EVALUATION_TAGS = {"return_mean": "mean_reward"}
"""Tags of scores that Stable-Baselines3 calls otherwise."""
DISPLAY_INTERVAL = 0.2
"""Seconds between updates of the progress display, [s]."""
MIN_SHOWN = 100
"""The display shows the mean score of as many episodes at least, or of one an environment."""


class BoundaryCallback(BaseCallback):
    """Calls `at_boundary` after each update, before the next roll-out or the end."""

    def _on_training_start(self) -> None:
        self._before = self.num_timesteps

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._boundary()

    def _on_training_end(self) -> None:
        self._boundary()

    def after_update(self) -> None:
        """Finish an update, where learners of a group must do so together."""

    def _boundary(self) -> None:
        now, before = self.model.num_timesteps, self._before
        if now > before:
            self._before = now
            self.at_boundary(before, now)

    @abstractmethod
    def at_boundary(self, before: int, now: int) -> None:
        """Run between two roll-outs: `before` and `now` are environment steps done."""


class Metrics(BoundaryCallback):
    """Scalars of each roll-out for TensorBoard, `metrics.csv` and the display.

    A kind of task adds columns by `episode_numbers` and `more`.
    """

    logged: tuple[str, ...] = ()
    """Keys of the step info whose means are logged besides the reward terms."""
    shown = "rollout/success_rate"
    """Column that the progress display shows."""

    def __init__(self, file: Path, display: Display) -> None:
        """Write rows to `file`."""
        super().__init__()
        self._table, self._display = MetricsTable(file), display
        self._episodes: list[dict[str, float]] = []
        self._recent: deque[float] = deque()
        self._began = self._shown = time.monotonic()
        self._rate = 0.0

    def _on_training_start(self) -> None:
        super()._on_training_start()
        self._began = time.monotonic()
        self._start = self.num_timesteps
        # Those that end first are those that end quickly; no score is shown of them alone.
        self._recent = deque(maxlen=max(MIN_SHOWN, self.training_env.num_envs))

    def _on_step(self) -> bool:
        terminal = self.locals["terminal"]
        if terminal is not None:
            whole = (i for i in terminal.infos if not i.get("cut_off"))
            self._episodes.extend(map(self.episode_numbers, whole))
        now = time.monotonic()
        if now - self._shown > DISPLAY_INTERVAL:
            self._show(now)
        return True

    def episode_numbers(self, info: dict[str, Any]) -> dict[str, float]:
        """Return the columns of a finished episode from its last info."""
        episode = info["episode"]
        return {
            "rollout/success_rate": info["is_success"],
            "rollout/ep_rew_mean": episode["r"],
            "rollout/ep_len_mean": episode["l"],
        }

    def more(self, row: dict[str, Any], env: Sb3BatchEnv) -> None:
        """Add columns to the `row` of a roll-out of `env`."""

    def stage(self) -> str:
        """Name of the curriculum stage for the display; empty without one."""
        return ""

    def at_boundary(self, before: int, now: int) -> None:
        """Log the roll-out that ended at `now`."""
        env = self.training_env
        assert isinstance(env, Sb3BatchEnv)
        row = self._episode_means()
        for name, total in env.info_sums.items():
            if name.startswith("reward/") or name in self.logged:
                label = name if name.startswith("reward/") else f"rollout/{name}"
                row[label] = total / max(env.info_count, 1)
        self.more(row, env)
        self._episodes, env.info_sums, env.info_count = [], {}, 0
        elapsed = time.monotonic() - self._began
        row["time/fps"] = (now - self._start) / max(elapsed, 1e-9)
        for name, value in row.items():
            if value is not None:
                self.logger.record(name, value)
        update = {
            name: float(value)
            for name, value in self.logger.name_to_value.items()
            if name.startswith("train/")
        }
        self.logger.dump(now)
        self._table.add({"timesteps": now, "seconds": elapsed, **row, **update})
        self._show(time.monotonic())

    def _episode_means(self) -> dict[str, float | None]:
        """Return means over the episodes that ended in the roll-out; None without any."""
        blank = {"episode": {"r": 0.0, "l": 0}, "is_success": False}
        row: dict[str, float | None] = {"rollout/episodes": len(self._episodes)}
        for name in self.episode_numbers(
            {**dict.fromkeys(EPISODE_FIELDS, 1.0), **blank}
        ):
            values = [episode[name] for episode in self._episodes]
            row[name] = float(np.mean(values)) if values else None
        self._recent.extend(episode[self.shown] for episode in self._episodes)
        return row

    def _show(self, now: float) -> None:
        self._shown = now
        done = self.model.num_timesteps
        rate = (done - self._start) / max(now - self._began, 1e-9)
        enough = len(self._recent) == self._recent.maxlen
        score = float(np.mean(self._recent)) if enough else None
        self._display.update(done, rate, score, self.stage())


class PeriodicEvaluation(BoundaryCallback):
    """Evaluates every `frequency` environment steps and keeps the best by `rank`."""

    def __init__(
        self,
        folder: RunFolder,
        frequency: int,
        total: int,
        evaluate: Callable[[], dict[str, float]],
        save: Callable[[Path], None],
        rank: tuple[str, ...] = ("success_rate", "spl"),
    ) -> None:
        """Evaluate with `evaluate`, also after `total`; write the best model with `save`.

        A model is better whose first score of `rank` is higher; the next decides ties.
        """
        super().__init__()
        self._folder, self._frequency, self._total = folder, frequency, total
        self._evaluate, self._save, self._rank = evaluate, save, rank
        self.best: tuple[float, ...] | None = None

    def at_boundary(self, before: int, now: int) -> None:
        """Evaluate if it is time."""
        last = self._frequency > 0 and now >= self._total
        if not last and not crossed(before, now, self._frequency):
            return
        scores = self._evaluate()
        for name, value in evaluation_row(scores).items():
            self.logger.record(name, value)
        self.logger.dump(now)
        append_evaluation(self._folder.evaluations, {"timesteps": now, **scores})
        log.info("evaluation after %d: %s", now, scores)
        score = tuple(scores[name] for name in self._rank)
        if self.best is None or score > self.best:
            self.best = score
            self._save(self._folder.best_model)


class Checkpoints(BoundaryCallback):
    """Saves every `frequency` environment steps, at the end, and on a stop request."""

    def __init__(
        self,
        folder: RunFolder,
        frequency: int,
        total: int,
        save: Callable[[Path], None],
        stop: StopRequest,
    ) -> None:
        """Checkpoints of a training of `total` environment steps, written by `save`."""
        super().__init__()
        self._folder, self._frequency, self._total = folder, frequency, total
        self._save, self._stop = save, stop

    def at_boundary(self, before: int, now: int) -> None:
        """Save if it is time.

        Raises:
            Interrupted: a stop was requested; the checkpoint is saved.
        """
        is_stopped = self._stop.signal_number is not None
        if is_stopped or now >= self._total or crossed(before, now, self._frequency):
            self._save(self._folder.checkpoint(now))
        if self._stop.signal_number is not None and now < self._total:
            raise Interrupted(self._stop.signal_number)


class ForwardScalars(BaseCallback):
    """Forwards the scalars that Stable-Baselines3 logs to a function."""

    def __init__(self, record: Callable[[int, Mapping[str, float]], None]) -> None:
        """Call `record` with environment steps and scalars."""
        super().__init__()
        self._writer = _Writer(record)

    def _on_training_start(self) -> None:
        if self._writer not in self.logger.output_formats:
            self.logger.output_formats.append(self._writer)

    def _on_step(self) -> bool:
        return True


class _Writer(KVWriter):
    """An output format of Stable-Baselines3's logger that is a function."""

    def __init__(self, record: Callable[[int, Mapping[str, float]], None]) -> None:
        self._record = record

    def write(
        self,
        key_values: dict[str, Any],
        key_excluded: dict[str, tuple[str, ...]],
        step: int = 0,
    ) -> None:
        """Pass the numbers on."""
        del key_excluded
        numbers = {k: v for k, v in key_values.items() if isinstance(v, float | int)}
        self._record(step, numbers)


def evaluation_row(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of an evaluation by the tags that logs have."""
    return {f"eval/{_EVALUATION_TAGS.get(name, name)}": scores[name] for name in scores}


def crossed(before: int, now: int, frequency: int) -> bool:
    """Whether a multiple of `frequency` lies in (before, now]; never for 0."""
    return frequency > 0 and now // frequency > before // frequency


def append_evaluation(file: Path, row: dict[str, Any]) -> None:
    """Add an evaluation to a JSON list."""
    rows = [*read_evaluations(file), row]
    write_atomic(file, json.dumps(rows, indent=1) + "\n")


def rewind_logs(folder: RunFolder, num_timesteps: int) -> None:
    """Drop rows and evaluations after `num_timesteps`, which a resumed run repeats."""
    MetricsTable(folder.metrics, num_timesteps)
    if folder.evaluations.exists():
        rows = read_evaluations(folder.evaluations)
        rows = [row for row in rows if row["timesteps"] <= num_timesteps]
        write_atomic(folder.evaluations, json.dumps(rows, indent=1) + "\n")
