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
"""Pictures a second."""
HISTORY_SECONDS = 60.0
"""Simulated time that can be looked at again."""
_MOST_LATE = 0.25
"""Time that the clock may fall behind before it lets go, [s]: a slow machine shows slower
bodies instead of jumps."""

_REST = 0.2
"""Time between looks at whether anything is seen, [s]."""


@dataclass
class Pace:
    """How the clock goes; changed in its own thread."""

    playing: bool = True
    speed: float = 1.0
    """Simulated seconds in a second."""
    looking_back: int | None = None
    """Steps before the newest that are shown; None: now."""


class Clock:
    """Steps a stage while it plays, and calls `show` 60 times a second.

    Everything that touches the stage runs in this thread: others `post` functions to it.
    """

    def __init__(
        self,
        stage: Stage,
        show: Callable[[Snapshot], None],
        needed: Callable[[], bool] = lambda: True,
        report: Callable[[Exception], object] = lambda error: None,
    ) -> None:
        """A clock that stands; `start` lets it go.

        Args:
            stage: What it steps.
            show: Shows a snapshot.
            needed: Whether anything is seen; while it is not, the clock stands.
            report: Told why a control failed; the clock goes on.
        """
        self.stage = stage
        self.pace = Pace()
        self.history: deque[Snapshot] = deque(maxlen=self._length(stage))
        self.shown = 0
        """Pictures so far."""
        self.real_time = 1.0
        """Simulated over wanted time of the last seconds; below 1 on a slow machine."""
        self.failed: Exception | None = None
        """Why a step or a reset of the stage failed, which paused it; None: it goes on."""
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
        """Let the clock go."""
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
        """Wait until the clock has stopped, at most `seconds`; whether it has."""
        return self._stop.wait(seconds)

    # What follows is called in the clock's thread, through `post`.

    def single_step(self) -> None:
        """Pause, and go on by one step."""
        self.pace.playing, self.pace.looking_back = False, None
        self._advance()
        self._share = 1.0

    def reset(self) -> None:
        """Begin a new episode and a new history; where that fails, pause and keep the old."""
        first = self._attempt(self.stage.reset)
        if first is not None:
            self._begin(first)

    def look_back(self, steps: int) -> None:
        """Pause, and show what was `steps` before the newest step."""
        steps = min(max(steps, 0), len(self.history) - 1)
        self.pace.playing = False
        self.pace.looking_back = steps or None

    def play(self, playing: bool) -> None:
        """Go on from now, or pause."""
        self.pace.playing = playing
        if playing:
            self.pace.looking_back = None
            self._debt = 0.0

    def put(self, stage: Stage, first: Snapshot) -> None:
        """Show another stage from its `first` snapshot on; the one before is closed."""
        self.stage.close()
        self.stage = stage
        self._begin(first)

    def seen(self) -> Snapshot:
        """The scene that is shown now."""
        if self.pace.looking_back is not None:
            return self.history[-1 - self.pace.looking_back]
        if len(self.history) < 2 or self._share >= 1.0:
            return self.history[-1]
        return between(self.history[-2], self.history[-1], self._share)

    def _begin(self, first: Snapshot) -> None:
        """Begin a history; what a failure has paused goes on."""
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
            except Exception:  # a window that closes just now must not end the clock
                if not self._unshown:  # one that lasts must not fill the log
                    log.exception("a picture was not shown")
                self._unshown = True
            due = max(due + 1.0 / RATE, time.perf_counter() - 1.0 / RATE)
            self._stop.wait(max(0.0, due - time.perf_counter()))

    def _work(self) -> None:
        """Run what was posted."""
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
        """Let `passed` seconds pass."""
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
        """Step the stage; False where it fails, which pauses the clock."""
        snapshot = self._attempt(self.stage.step)
        if snapshot is None:
            return False
        self.failed = None
        self.history.append(snapshot)
        return True

    def _attempt(self, act: Callable[[], Snapshot]) -> Snapshot | None:
        """Return what a stage's step or reset does; None where it fails, which pauses."""
        try:
            return act()
        except Exception as error:
            log.exception("the simulation stopped")
            self.failed, self.pace.playing = error, False
            return None
