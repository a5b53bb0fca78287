"""Trials of walkers: their grids, their tables, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.reference import Reference
from ambulo.envs.tasks.walk_commands.commands import within_envelope
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject
from ambulo.evaluate.locomotion.trials import (
    Course,
    check_walker,
    run_course,
    run_trials,
    trial_breakdowns,
)
from ambulo.evaluate.locomotion.walk_trials import (
    TRIALS,
    chosen_trials,
    envelope_commands,
    follows,
)


def test_the_grid_is_the_envelope() -> None:
    grid = np.array([list(case.values()) for case in envelope_commands()])
    _, outside = within_envelope(grid * [1.0, np.pi / 180.0, 1.0])
    assert not outside.any()
    assert len(np.unique(grid, axis=0)) == len(grid) > 90
    for column, ends in ((0, (-0.2, 1.6)), (1, (-120.0, 120.0)), (2, (-0.3, 0.3))):
        assert (grid[:, column].min(), grid[:, column].max()) == ends
    fast = grid[grid[:, 0] == 1.6]
    assert np.abs(fast[:, 1]).max() == 30.0


def test_trials_are_chosen_by_name() -> None:
    assert chosen_trials(None) == {}
    assert chosen_trials("all") == TRIALS
    assert list(chosen_trials("walls,pushes,walls")) == ["walls", "pushes"]
    with pytest.raises(
        ConfigError, match=r"unknown trial 'wals' .did you mean 'walls'"
    ):
        chosen_trials("wals")
    with pytest.raises(ConfigError, match="walk_commands, not of locomote"):
        check_walker("locomote")


def test_a_command_is_followed_if_all_stay_up_near_it() -> None:
    row = {"survival": 1.0, "speed_off": 0.05, "side_off": 0.01, "turn_off": 4.0}
    assert follows(row)
    for name, value in (
        ("survival", 0.75), ("speed_off", 0.06), ("side_off", 0.06), ("turn_off", 6.0),
        ("turn_off", float("nan")),
    ):  # fmt: skip
        assert not follows({**row, name: value})


def test_tables_join_rows_and_count_bodies() -> None:
    rows = [
        {"speed": 0.4, "friction": 0.0, "bodies": 40.0, "touched": 1.0, "survival": 1.0,
         "peak_force": 100.0},
        {"speed": 0.4, "friction": 1.0, "bodies": 40.0, "touched": 1.0, "survival": 0.5,
         "peak_force": 300.0},
    ]  # fmt: skip
    (table,) = trial_breakdowns(TRIALS, {"walls": {"policy": rows}})
    assert list(table.scores) == ["0.4 m/s, friction 0", "0.4 m/s, friction 1", "all"]
    whole = table.scores["all"]["policy"]
    assert whole["survival"].value == pytest.approx(0.75)
    assert whole["survival"].low == pytest.approx(0.645, abs=0.005)  # Wilson, 60 of 80
    assert whole["peak_force"].value == pytest.approx(200.0)


@pytest.mark.integration
def test_a_course_gives_commands_and_sees_falls(steps: Reference) -> None:
    config = LocomotionConfig().override(
        "environment", task="walk_commands", balance_law=False
    )
    subject = LocomotionSubject(config, (steps,))
    commands = np.array([[0.0, 0.0, 0.0], [0.4, 30.0, 0.1]])
    given = []

    def look(batch, step: int) -> None:
        if step == 0:
            given.append(batch.goal.copy())
        if step == 10:  # thrown over
            batch.simulation.qvel[1, 3] = 8.0

    course = run_course(subject, commands, 1.0, seed=3, event=look)
    np.testing.assert_allclose(given[0], [[0, 0, 0], [0.4, np.pi / 6.0, 0.1]])
    assert course.alive.shape == (30, 2)
    assert course.alive[:10].all()
    assert course.survived.tolist() == [True, False]
    assert course.rates.shape == (30, 2, 3)
    assert not course.force.any()


def lying(count: int) -> Course:
    """N bodies that stand for a tenth of a second, but for the first, which falls."""
    alive = np.ones((3, count), np.bool_)
    alive[1:, 0] = False
    touches = np.full((3, count), 5.0)
    taken = np.ones(count, np.bool_)
    return Course(1.0 / 30.0, alive, np.zeros((3, count, 3)), touches, alive, taken)


def test_a_row_is_a_case_and_what_its_bodies_did() -> None:
    seen: list[int] = []

    def run(commands: np.ndarray, seconds: float, **more: object) -> Course:
        seen.append(len(commands))
        return lying(len(commands))

    walls = TRIALS["walls"]
    rows = list(walls.rows(run, 2, 0))
    assert seen == [2 * len(walls.grid())]
    assert [row["survival"] for row in rows[:2]] == [0.5, 1.0]
    assert rows[0]["speed"] == 0.4
    assert rows[0]["peak_force"] == 5.0


@pytest.mark.parametrize(("most", "bodies"), [(5, 5), (1000, TRIALS["pushes"].bodies)])
def test_no_more_bodies_than_asked_for(
    most: int, bodies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ambulo.evaluate.locomotion.trials.run_course",
        lambda subject, commands, *more, **options: lying(len(commands)),
    )
    subject = LocomotionSubject(LocomotionConfig(), (None,))
    trials = chosen_trials("pushes")
    [own] = run_trials(trials, {"policy": subject}, 3, most=most)["pushes"].values()
    assert {row["bodies"] for row in own} == {float(bodies)}
