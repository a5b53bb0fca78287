from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.envs.vr.task.build import make_bank
from ambulo.envs.vr.task.env import navigation_config

START = np.array([-8.0, 0.0, 0.5])


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Two levels of a user, with start and goal 16 m apart."""
    for name in ("a", "b"):
        level = Level(
            name,
            np.array([-10.0, -10.0, 10.0, 10.0]),
            start=START,
            goal=np.array([8.0, 0.0]),
        )
        save_level(level, tmp_path / f"{name}.json")
    return str(tmp_path)


def settings(folder: str, fraction: float | None) -> NavigationConfig:
    return NavigationConfig().override(
        "environment",
        levels=("open", "pillars"),
        levels_per_family=3,
        level_file=folder,
        level_file_fraction=fraction,
        designed_start=0.0,
        start_jitter=(0.0, 0.0),
    )


@pytest.mark.parametrize("fraction", [0.5, 0.2])
def test_own_levels_have_their_fraction_and_families_the_rest(
    folder: str, fraction: float
) -> None:
    bank = make_bank(settings(folder, fraction), "train", 0)
    assert [level.family for level in bank.levels[: bank.own]] == ["custom"] * 2
    assert len(bank) == 2 + 2 * 3
    rng = np.random.default_rng(1)
    starts = [bank.draw(rng, goal_distance=(5.0, 6.0)) for _ in range(400)]
    own = [start for start in starts if start.slot < bank.own]
    assert len(own) / 400 == pytest.approx(fraction, abs=0.08)
    assert {start.slot for start in own} == {0, 1}
    assert {start.slot for start in starts} == set(range(8))
    for start in starts:
        if start.slot < bank.own:  # as designed, however far that is
            np.testing.assert_allclose(start.pose, START, atol=1e-9)
        else:
            reach = np.hypot(*(bank.goals[start.slot, start.goal, :2] - start.pose[:2]))
            assert reach == pytest.approx(5.5, abs=0.8)


def test_own_levels_alone_replace_the_families(folder: str) -> None:
    for config in (
        settings(folder, None),
        settings(folder, 1.0),
        navigation_config(settings(folder, 0.5), level_file=folder),
    ):
        assert len(make_bank(config, "train", 0)) == 2


def test_evaluation_has_own_levels_alone(folder: str) -> None:
    assert len(make_bank(settings(folder, 0.5), "heldout", 0)) == 2
