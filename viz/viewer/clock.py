"""The thread that steps a stage in real time, keeps its history, and shows it."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ambulo.viz.viewer.snapshot import Snapshot, between
from ambulo.viz.viewer.stage import Stage

log = logging.getLogger(__name__)

RATE = 60.0
"""Frames per second."""
HISTORY_SECONDS = 60.0
"""Length of the history in simulated time, [s]."""
_MOST_LATE = 0.25
"""Largest lag of the clock before it skips time, [s]: a slow machine shows slower bodies
instead of jumps."""

_REST = 0.2
"""Time between checks whether any window is visible, [s]."""


@dataclass
class Pace:
    """State of the clock; changed in its own thread."""

    playing: bool = True
    speed: float = 1.0
    """Simulated seconds per second."""
    looking_back: int | None = None
    """Steps before the newest one that is shown; None: the newest."""


class Clock:
    """Steps a stage while it plays, and calls `show` 60 times a second.

    All accesses to the stage run in this thread: others `post` functions to it.
    """

    def __init__(
        self,
        stage: Stage,
        show: Callable[[Snapshot], None],
        needed: Callable[[], bool] = lambda: True,
        report: Callable[[Exception], object] = lambda error: None,
    ) -> None:
        """A paused clock; `start` runs it.

        Args:
            stage: Stage to step.
            show: Shows a snapshot.
            needed: Whether any window is visible; otherwise the clock pauses.
            report: Receives errors of controls; the clock continues.
        """
        self.stage = stage
        self.pace = Pace()
        self.history: deque[Snapshot] = deque(maxlen=self._length(stage))
        self.shown = 0
        """Pictures so far."""
        self.real_time = 1.0
        """Simulated over wanted time of the last seconds; below 1 on a slow machine."""
        self.failed: Exception | None = None
        """Why a step or a reset of the stage failed, which paused it; None: it runs."""
        self._show, self._needed, self._report = show, needed, report
        self._unshown = False
        self._tasks: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._debt = 0.0
        self._share = 1.0
        self._thread = threading.Thread(
            target=self._run, name="viewer clock", daemon=True
        )
        self.history.append(stage.reset())

    def start(self) -> None:
        """Start the clock."""
        self._thread.start()

    def post(self, task: Callable[[], object]) -> None:
        """Run `task` in the clock's thread before its next step."""
        self._tasks.put(task)

    def stop(self) -> None:
        """End the thread, and close the stage."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=10.0)
        self.stage.close()

    def wait(self, seconds: float) -> bool:
        """Wait until the clock has stopped, at most `seconds`; returns whether it has."""
        return self._stop.wait(seconds)

    # The following functions are called in the clock's thread, through `post`.

    def single_step(self) -> None:
        """Pause, and make one step."""
        self.pace.playing, self.pace.looking_back = False, None
        self._advance()
        self._share = 1.0

    def reset(self) -> None:
        """Begin a new episode and a new history; after a failure, pause and keep the old."""
        first = self._attempt(self.stage.reset)
        if first is not None:
            self._begin(first)

    def look_back(self, steps: int) -> None:
        """Pause, and show the state `steps` before the newest one."""
        steps = min(max(steps, 0), len(self.history) - 1)
        self.pace.playing = False
        self.pace.looking_back = steps or None

    def play(self, playing: bool) -> None:
        """Continue from the newest step, or pause."""
        self.pace.playing = playing
        if playing:
            self.pace.looking_back = None
            self._debt = 0.0

    def put(self, stage: Stage, first: Snapshot) -> None:
        """Show another stage from its `first` snapshot on; closes the previous one."""
        self.stage.close()
        self.stage = stage
        self._begin(first)

    def seen(self) -> Snapshot:
        """The shown scene."""
        if self.pace.looking_back is not None:
            return self.history[-1 - self.pace.looking_back]
        if len(self.history) < 2 or self._share >= 1.0:
            return self.history[-1]
        return between(self.history[-2], self.history[-1], self._share)

    def _begin(self, first: Snapshot) -> None:
        """Start a history; resumes a clock that a failure has paused."""
        if self.failed is not None:
            self.failed, self.pace.playing = None, True
        self.history = deque([first], self._length(self.stage))
        self.pace.looking_back = None
        self._debt, self._share = 0.0, 1.0

    @staticmethod
    def _length(stage: Stage) -> int:
        return max(2, round(HISTORY_SECONDS / stage.dt))

    def _run(self) -> None:
        """Step, show and sleep until it is stopped."""
        before = time.perf_counter()
        due = before
        while not self._stop.is_set():
            self._work()
            if not self._needed():
                self._stop.wait(_REST)
                before = time.perf_counter()
                continue
            now = time.perf_counter()
            self.go_on(now - before)
            before = now
            try:
                self._show(self.seen())
                self.shown += 1
                self._unshown = False
            except Exception:  # a window that is just closing must not end the clock
                if not self._unshown:  # a lasting failure must not fill the log
                    log.exception("a picture was not shown")
                self._unshown = True
            due = max(due + 1.0 / RATE, time.perf_counter() - 1.0 / RATE)
            self._stop.wait(max(0.0, due - time.perf_counter()))

    def _work(self) -> None:
        """Run the posted functions."""
        while True:
            try:
                task = self._tasks.get_nowait()
            except queue.Empty:
                return
            try:
                task()
            except Exception as error:
                log.exception("a control failed")
                self._report(error)

    def go_on(self, passed: float) -> None:
        """Advance by `passed` seconds."""
        if not self.pace.playing:
            return
        dt = self.stage.dt
        wanted = passed * self.pace.speed
        self._debt += wanted
        late = max(_MOST_LATE * self.pace.speed, 2.0 * dt)
        lost = max(0.0, self._debt - late)
        self._debt -= lost
        if wanted > 0.0:
            kept = 1.0 - min(lost / wanted, 1.0)
            blend = min(passed / 2.0, 1.0)
            self.real_time += blend * (kept - self.real_time)
        while self._debt >= dt:
            self._debt -= dt
            if not self._advance():
                return
            if self._debt >= dt and self._stop.is_set():
                return
        self._share = self._debt / dt

    def _advance(self) -> bool:
        """Step the stage; False if it fails, which pauses the clock."""
        snapshot = self._attempt(self.stage.step)
        if snapshot is None:
            return False
        self.failed = None
        self.history.append(snapshot)
        return True

    def _attempt(self, act: Callable[[], Snapshot]) -> Snapshot | None:
        """Return the result of a stage's step or reset; None if it fails, which pauses."""
        try:
            return act()
        except Exception as error:
            log.exception("the simulation stopped")
            self.failed, self.pace.playing = error, False
            return None
