"""What a resumed run may change."""

from __future__ import annotations

import pytest

from ambulo.configs.errors import ConfigError
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
