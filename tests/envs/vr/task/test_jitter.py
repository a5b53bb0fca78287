from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import BODY_RADIUS
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.build import make_batch

START = np.array([-4.0, 0.0, 0.5])
JITTER = (0.3, 20.0)


def beside_a_wall(gap: float) -> Level:
    """A start with a wall `gap` metres to its left, and another behind that."""
    walls = [[-4.0, gap + side, 1.0, 3.0, 0.05, 1.0, 0.0] for side in (0.05, 0.75)]
    return Level(
        "wall",
        np.array([-6.0, -6.0, 6.0, 6.0]),
        boxes=np.array(walls),
        start=START,
        goal=np.array([4.0, 0.0]),
    )


def moved(bank: LevelBank, count: int = 300) -> np.ndarray:
    """Poses of as many moved starts, shape (count, 3)."""
    rng, start = np.random.default_rng(0), Start(0, 0, START)
    return np.array([bank.jittered(start, rng, JITTER).pose for _ in range(count)])


@pytest.mark.parametrize("resolution", [0.25, 0.125])
@pytest.mark.parametrize("gap", [0.28, 0.4, 3.0])
def test_moved_starts_stay_near_on_free_floor(gap: float, resolution: float) -> None:
    bank = LevelBank(
        [beside_a_wall(gap)], np.random.default_rng(0), resolution=resolution
    )
    poses = moved(bank)
    away = np.hypot(*(poses[:, :2] - START[:2]).T)
    assert away.max() <= 0.3
    assert away.max() > 0.2
    assert poses[:, 1].max() <= gap - BODY_RADIUS
    assert np.abs(poses[:, 2] - START[2]).max() <= np.radians(20.0)
    assert len(np.unique(poses, axis=0)) == len(poses)


def test_without_room_a_start_is_only_turned() -> None:
    walls = [[-4.0, side * 0.33, 1.0, 3.0, 0.05, 1.0, 0.0] for side in (-1.0, 1.0)]
    level = Level(
        "squeezed",
        np.array([-6.0, -6.0, 6.0, 6.0]),
        boxes=np.array(walls),
        start=START,
        goal=np.array([4.0, 0.0]),
    )
    poses = moved(LevelBank([level], np.random.default_rng(0)), 20)
    np.testing.assert_array_equal(poses[:, :2], np.tile(START[:2], (20, 1)))
    assert len(np.unique(poses[:, 2])) == 20


def test_training_moves_designed_starts(tmp_path) -> None:
    save_level(beside_a_wall(1.0), tmp_path / "level.json")
    config = NavigationConfig().override(
        "environment", level_file=str(tmp_path / "level.json")
    )

    def starts(config: NavigationConfig) -> np.ndarray:
        batch = make_batch(config, 8)
        batch.reset(np.arange(8))
        return np.array([start.pose for start in batch.starts])

    assert len(np.unique(starts(config), axis=0)) == 8
    still = config.override("environment", start_jitter=(0.0, 0.0))
    np.testing.assert_allclose(starts(still), np.tile(START, (8, 1)), atol=1e-9)
