import time

import numpy as np
import pytest

from ambulo.viz.viewer.clock import Clock
from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import PlainStage


class Counter(PlainStage):
    """Counts its steps; fails at one, and at some resets."""

    dt = 0.1
    title = "counter"

    def __init__(self, fails_at: int = -1, bad_resets: tuple[int, ...] = ()) -> None:
        self.layers: dict = {}
        self._bad_resets = bad_resets
        self.steps = self.resets = 0
        self.closed = False
        self._fails_at = fails_at

    def reset(self) -> Snapshot:
        self.resets += 1
        if self.resets in self._bad_resets:
            raise RuntimeError("no level")
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


def test_a_step_that_succeeds_again_is_no_failure() -> None:
    clock = clock_of(Counter(fails_at=1))
    clock.single_step()
    assert clock.failed is not None
    clock.single_step()
    assert clock.failed is None
    assert not clock.pace.playing  # as after any single step


@pytest.mark.parametrize("recovery", ["reset", "another stage"])
def test_a_reset_that_fails_pauses_keeps_the_picture_and_is_recovered_from(
    recovery: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = clock_of(Counter(bad_resets=(2,)))
    clock.go_on(0.1001)
    seen = clock.seen().time
    clock.reset()
    for _ in range(60):
        clock.go_on(1.0 / 60.0)
        assert clock.seen().time == seen
    assert not clock.pace.playing
    assert str(clock.failed) == "no level"
    assert len(caplog.records) == 1
    if recovery == "reset":
        clock.reset()
    else:
        other = Counter()
        clock.put(other, other.reset())
    assert clock.failed is None
    assert clock.pace.playing
    assert len(clock.history) == 1


def test_what_lasts_is_logged_once_and_controls_that_fail_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pictures: list[int] = []
    reported: list[Exception] = []

    def show(snapshot: Snapshot) -> None:
        pictures.append(1)
        raise RuntimeError("no window")

    clock = Clock(Counter(), show, report=reported.append)
    clock.post(lambda: 1 / 0)
    clock.start()
    end = time.monotonic() + 30.0
    while len(pictures) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    clock.stop()
    assert len(pictures) >= 4
    assert [type(error) for error in reported] == [ZeroDivisionError]
    assert clock.failed is None  # the simulation goes on
    assert [record.message for record in caplog.records] == [
        "a control failed", "a picture was not shown",
    ]  # fmt: skip


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
