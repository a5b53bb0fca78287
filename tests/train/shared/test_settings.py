"""Settings by flags, and what a resumed run may change."""

from __future__ import annotations

import pytest

from ambulo.common.setting_flags import with_overrides
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.vr import NavigationConfig
from ambulo.train.shared.settings import check_resumable
from ambulo.train.vr.command import COMMAND


def test_a_resumed_run_may_look_for_its_engines_elsewhere() -> None:
    old = NavigationConfig()
    elsewhere = old.override("environment", godot_url="http://other:1")
    check_resumable(old, elsewhere, (), COMMAND.local_prefix)


def test_a_resumed_run_may_change_budgets_but_not_what_it_learns() -> None:
    old = NavigationConfig()
    check_resumable(
        old, old.override("training", total_timesteps=5, eval_freq=1), COMMAND.resumable
    )
    for group, changes in (
        ("ppo", {"gamma": 0.5}),
        ("training", {"seed": 5}),
        ("environment", {"num_environments": 3}),
    ):
        with pytest.raises(ConfigError, match="cannot change when a run is resumed"):
            check_resumable(old, old.override(group, **changes), COMMAND.resumable)


def test_one_setting_of_a_part_of_a_group_changes_alone() -> None:
    first = with_overrides(LocomotionConfig(), ["training.teacher.rounds=7"])
    both = with_overrides(first, ["training.teacher.samples=5000"])
    assert first.training.teacher is not None
    assert both.training.teacher is not None
    assert both.training.teacher.rounds == 7
    assert both.training.teacher == first.training.teacher.model_copy(
        update={"samples": 5000}
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("training.teacher.sampled=5", "'training.teacher.sampled' .*'samples'"),
        ("teacher.samples=5", "'teacher.samples' is not a dotted key"),
        ("environment.task.x=1", "'environment.task.x' is not a dotted key"),
        ("training.nothing.x=1", "unknown key 'training.nothing'"),
        ("task=1", "'task' is not a dotted key"),
    ],
)
def test_other_keys_are_refused_by_name(change: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_overrides(LocomotionConfig(), [change])
