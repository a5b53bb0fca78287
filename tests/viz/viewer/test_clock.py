import numpy as np
import pytest

from ambulo.viz.viewer.clock import Clock
from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import PlainStage


class Counter(PlainStage):
    """Counts its steps; fails at one."""

    dt = 0.1
    title = "counter"

    def __init__(self, fails_at: int = -1) -> None:
        self.layers: dict = {}
        self.steps = self.resets = 0
        self.closed = False
        self._fails_at = fails_at

    def reset(self) -> Snapshot:
        self.resets += 1
        return self._shot()

    def step(self) -> Snapshot:
        self.steps += 1
        if self.steps == self._fails_at:
            raise RuntimeError("no more")
        return self._shot()

    def close(self) -> None:
        self.closed = True

    def _shot(self) -> Snapshot:
        return Snapshot(
            self.steps * self.dt, np.array([float(self.steps), 0.0, 0.0]), {}
        )


def clock_of(stage: Counter) -> Clock:
    return Clock(stage, lambda snapshot: None)


def test_as_many_steps_as_time_has_passed() -> None:
    stage = Counter()
    clock = clock_of(stage)
    for _ in range(60):
        clock.go_on(1.0 / 60.0)
    assert stage.steps in (9, 10)  # the last one is due to within rounding
    clock.pace.speed = 0.5
    before = stage.steps
    for _ in range(60):
        clock.go_on(1.0 / 60.0)
    assert stage.steps - before in (4, 5, 6)


def test_pictures_lie_between_steps() -> None:
    clock = clock_of(Counter())
    clock.go_on(0.1001)
    clock.go_on(0.05)
    assert clock.seen().centre[0] == pytest.approx(0.501, abs=1e-6)


def test_a_slow_machine_gets_slow_bodies_not_a_debt() -> None:
    stage = Counter()
    clock = clock_of(stage)
    clock.go_on(100.0)
    assert stage.steps <= 3
    assert clock.real_time < 0.1


def test_single_steps_pause() -> None:
    stage = Counter()
    clock = clock_of(stage)
    clock.single_step()
    clock.go_on(1.0)
    assert stage.steps == 1
    assert not clock.pace.playing
    clock.play(True)
    clock.go_on(0.1001)
    assert stage.steps == 2


def test_looking_back_shows_what_was_and_play_goes_on_from_now() -> None:
    stage = Counter()
    clock = clock_of(stage)
    for _ in range(5):
        clock.single_step()
    clock.look_back(3)
    assert clock.seen().time == pytest.approx(0.2)
    clock.look_back(1000)
    assert clock.seen().time == 0.0
    clock.play(True)
    assert clock.seen().time == pytest.approx(0.5)


def test_reset_begins_a_new_history() -> None:
    stage = Counter()
    clock = clock_of(stage)
    clock.single_step()
    clock.reset()
    assert stage.resets == 2
    assert len(clock.history) == 1


def test_another_stage_closes_the_first() -> None:
    first, second = Counter(), Counter()
    clock = clock_of(first)
    clock.put(second, second.reset())
    assert first.closed
    clock.single_step()
    assert second.steps == 1


def test_a_step_that_fails_pauses_and_is_kept() -> None:
    clock = clock_of(Counter(fails_at=2))
    clock.go_on(0.1001)
    clock.go_on(0.1001)
    assert not clock.pace.playing
    assert str(clock.failed) == "no more"
    assert len(clock.history) == 2


def test_tasks_run_in_the_thread_of_the_clock() -> None:
    stage = Counter()
    clock = clock_of(stage)
    clock.play(False)
    clock.start()
    done: list[int] = []
    clock.post(lambda: done.append(1))
    clock.post(clock.stop)
    assert clock.wait(30.0)
    assert done == [1]
    assert stage.closed
