"""Progress of a training: a bar on a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

Item = TypeVar("Item")
PLAIN_INTERVAL = 10.0
"""Smallest time between plain lines, [s]."""
LINES_INTERVAL = 30.0
"""Smallest time between lines of several tasks, after the first line, [s]."""


@dataclass(frozen=True)
class Words:
    """Words of a progress display: steps and score."""

    steps: str = "environment steps"
    """Unit of the count."""
    score: str = "success"
    """Name of the score."""
    template: str = "{:.0f} %"
    """Format of the score."""
    scale: float = 100.0
    """Factor on the score."""

    def shown(self, score: float | None) -> str:
        """Format the score; a dash without one."""
        return "-" if score is None else self.template.format(self.scale * score)


WORDS = Words()
"""Words of reinforcement learning."""


class Display:
    """Progress of a training; a context manager. This one shows nothing."""

    def __enter__(self) -> Self:
        """Start showing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop showing."""

    def update(
        self, num_timesteps: int, rate: float, success: float | None, stage: str
    ) -> None:
        """Show steps done, steps per second, success rate and curriculum stage."""


def announce(text: str, progress: bool | None = None) -> None:
    """Print the start of a task as a line on stderr, unless `progress` is False."""
    if progress is not False:
        print(text, file=sys.stderr, flush=True)


def bars(width: int, *, shown: bool = True, unit: str = "") -> Progress:
    """Return bars of work on stderr, each after a name of `width` characters.

    Without a terminal, stderr gets occasional lines instead: "NAME: 10 of 70 `unit`". Nothing
    is printed unless `shown`.
    """
    if shown and not sys.stderr.isatty():
        return LinesOfWork(unit)
    return Progress(
        TextColumn(f"{{task.description:{width or ''}}}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not shown,
    )


def shown(
    items: Sequence[Item], task: str | Callable[[Item], str], width: int = 10
) -> Iterator[Item]:
    """Yield `items` one by one, with a bar on stderr.

    Args:
        items: What is worked on.
        task: Text beside the bar, or the text for an item; then one item has no bar.
        width: Of the text, [characters].
    """
    named = callable(task)
    with bars(width, shown=not named or len(items) > 1) as progress:
        bar = progress.add_task("" if callable(task) else task, total=len(items))
        for item in items:
            if callable(task):
                progress.update(bar, description=escape(task(item)))
            yield item
            progress.advance(bar)


class LinesOfWork(Progress):
    """Tasks as plain lines on stderr: at the end of each, and occasionally before.

    Short tasks print nothing.
    """

    def __init__(self, unit: str) -> None:
        """Count `unit`, such as episodes."""
        super().__init__(disable=True)
        self._unit = unit
        self._begun = time.monotonic()
        self._next = self._begun + PLAIN_INTERVAL
        self._ended: set[TaskID] = set()

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Add finished work (or none); print a line if it is time for one."""
        super().advance(task_id, advance)
        self._report(task_id)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Update a task; print a line if it is time for one."""
        super().update(task_id, **changes)
        self._report(task_id)

    def _report(self, task_id: TaskID) -> None:
        now, task = time.monotonic(), self._tasks[task_id]
        ends = task.finished and task_id not in self._ended
        if task.finished:
            self._ended.add(task_id)
        if now < self._next and not (ends and now - self._begun >= PLAIN_INTERVAL):
            return
        of = "" if task.total is None else f" of {task.total:g}"
        unit = f" {self._unit}" if self._unit else ""
        text = f"{task.description}: {task.completed:g}{of}{unit}, {now - self._begun:.0f} s"
        print(text, file=sys.stderr, flush=True)
        self._next = now + LINES_INTERVAL


class PlainLines(Display):
    """A line on stderr every few seconds and at the end, for logs and pipes."""

    def __init__(self, total: int, words: Words = WORDS) -> None:
        """Prepare for a training of `total` steps, named by `words`."""
        self._total, self._words = total, words
        self._next = time.monotonic() + PLAIN_INTERVAL
        self._last = ""

    def __exit__(self, *_: object) -> None:
        """Print the final state."""
        if self._last:
            print(self._last, file=sys.stderr, flush=True)

    def update(
        self, num_timesteps: int, rate: float, success: float | None, stage: str
    ) -> None:
        """Print a line if it is time for one."""
        left = max(self._total - num_timesteps, 0) / max(rate, 1e-9)
        words = self._words
        self._last = (
            f"{num_timesteps}/{self._total} {words.steps}, {rate:,.0f}/s, "
            f"{words.score} {words.shown(success)}{stage and f', {stage}'}, {left:.0f} s left"
        )
        now = time.monotonic()
        if now >= self._next:
            self._next = now + PLAIN_INTERVAL
            print(self._last, file=sys.stderr, flush=True)
            self._last = ""


class Bar(Display):
    """A live progress bar on stderr."""

    def __init__(self, total: int, words: Words = WORDS) -> None:
        """Prepare for a training of `total` steps, named by `words`."""
        self._words = words
        self._progress = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:,.0f}/s"),
            TextColumn(f"{words.score} {{task.fields[success]}}"),
            TextColumn("{task.fields[stage]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self._total = total
        self._task = self._progress.add_task(
            "training", total=total, rate=0.0, success="-", stage=""
        )

    def __enter__(self) -> Self:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop drawing; the cursor comes back."""
        self._progress.stop()

    def update(
        self, num_timesteps: int, rate: float, success: float | None, stage: str
    ) -> None:
        """Update the bar."""
        self._progress.update(
            self._task,
            completed=min(num_timesteps, self._total),
            rate=rate,
            success=self._words.shown(success),
            stage=stage,
        )


def make_display(total: int, progress: bool | None, words: Words = WORDS) -> Display:
    """Return a display; `progress` None: a bar on a terminal, else plain lines."""
    if progress is False:
        return Display()
    return Bar(total, words) if sys.stderr.isatty() else PlainLines(total, words)
