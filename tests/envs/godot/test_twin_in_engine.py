"""A walking body's delay, lag and limits in the engine: the same way as in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.policy_replay import Godot, run_jobs
from fixtures.untrained import untrained_navigator

from ambulo import cli
from ambulo.configs.arrays import Floats
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.twin import TwinConfig, find_twin
from ambulo.envs.vr.body.twin_world import TwinWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import save_level
from ambulo.policies.files.model_file import save_model

TOLERANCE = 1e-4
"""Largest difference between the engine and Python after 10 s, [m] and [rad]."""
DECISIONS = 100
"""10 s."""
OPEN = Level("open", np.array([-9.0, -9.0, 9.0, 9.0]))
CROWDED = Level(
    "crowded",
    np.array([-9.0, -9.0, 9.0, 9.0]),
    boxes=np.array(
        [[1.3, 0.0, 1.0, 0.2, 3.0, 1.0, 0.3], [-1.5, 1.0, 1.0, 0.4, 0.4, 1.0, 0.0]]
    ),
    cylinders=np.array([[0.4, -1.2, 0.4, 2.0]]),
)
CONFIG = VR_PRESETS.load("embodied_quick").override("environment", world="compiled")


def silent(twin: TwinConfig) -> TwinConfig:
    """`twin` without noise and falls."""
    parts = {
        name: getattr(twin, name).model_copy(update={"noise": 0.0})
        for name in ("speed", "side", "turn")
    }
    rule = twin.contact.model_copy(update={"still": -100.0, "speed": 0.0})
    return twin.model_copy(update={**parts, "contact": rule, "fall_rate": 0.0})


def sticks(seed: int) -> Floats:
    """Sticks that are held for 0.2 to 1.5 s, shape (DECISIONS, 3)."""
    rng = np.random.default_rng(seed)
    rows: list[Floats] = []
    while len(rows) < DECISIONS:
        stick = rng.uniform([-1.0, -0.4, -1.0], [1.0, 1.2, 1.0])
        rows += [stick] * int(rng.integers(2, 16))
    return np.array(rows[:DECISIONS])


def walked(level: Level, pose: Floats, actions: Floats) -> Floats:
    """Rows of the probe's output, from Python."""
    twin = silent(find_twin("walk_commands"))
    world = TwinWorld(1, WorldSpec.from_config(CONFIG), twin)
    world.set_levels([0], [level])
    world.reset(np.array([0]), np.array([0]), pose[None])
    rows = []
    for action in actions:
        s = world.step(action[None].astype(np.float64))
        rows.append(
            [
                *s.position[0],
                s.yaw[0],
                *s.velocity[0],
                s.yaw_rate[0],
                s.contact_ticks[0],
            ]
        )
    world.close()
    return np.array(rows)


@pytest.mark.parametrize(("level", "seed"), [(OPEN, 0), (OPEN, 1), (CROWDED, 2)])
def test_a_body_answers_its_sticks_as_in_python(
    godot: Godot, tmp_path: Path, level: Level, seed: int
) -> None:
    """10 s of random sticks, in the open and among obstacles that it slides along."""
    save_model(tmp_path / "agent.zip", untrained_navigator(CONFIG))
    out = str(tmp_path / "agent.ambulo")
    assert cli.main(["export", str(tmp_path / "agent.zip"), "--out", out]) == 0
    save_level(level, tmp_path / "level.json")
    pose, actions = np.array([0.2, -0.1, 0.3]), sticks(seed)
    (tmp_path / "actions").write_bytes(actions.astype("<f8").tobytes())
    job = {
        "policy": out,
        "level": str(tmp_path / "level.json"),
        "actions": str(tmp_path / "actions"),
        "output": str(tmp_path / "out"),
        "pose": pose.tolist(),
    }
    run_jobs(godot, "twin_probe", job, tmp_path)
    got = np.fromfile(tmp_path / "out", "<f8").reshape(DECISIONS, -1)
    want = walked(level, pose, actions)
    np.testing.assert_allclose(got[:, :4], want[:, :4], atol=TOLERANCE, rtol=0)
    # Over a decision of 0.1 s.
    np.testing.assert_allclose(got[:, 4:8], want[:, 4:8], atol=10 * TOLERANCE, rtol=0)
    assert np.hypot(*np.ptp(want[:, :2], axis=0)) > 0.9
    assert (want[:, 8].sum() > 0) == (level is CROWDED)
    np.testing.assert_array_equal(got[:, 8] > 0, want[:, 8] > 0)
