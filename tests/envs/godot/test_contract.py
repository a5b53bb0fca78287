"""Numbers that the add-on writes down a second time are those of the trainer."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest

from ambulo.envs.godot.locate import find_project
from ambulo.envs.vr import contract
from ambulo.envs.vr.geometry import sight_kernels, solid_ray_kernels
from ambulo.envs.vr.navigator import (
    columns,
    evading,
    frontiers,
    heap,
    mapping,
    navigator,
    planning,
    search,
    steering,
    tracks,
)
from ambulo.envs.vr.task import comfort
from ambulo.envs.vr.world import state

TINY = 1e-6


@pytest.fixture(scope="module")
def numbers() -> dict[str, float]:
    """The plain numbers of contract.gd, by name."""
    text = (find_project() / "addons/ambulo_rl/contract.gd").read_text()
    found = re.findall(r"^const (\w+) := (-?[\d.]+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_comfort(numbers: dict[str, float]) -> None:
    turn, share = numbers["FAST_TURN"], numbers["FAST_SHARE"]
    rates = np.array([0.0, turn - TINY, turn + TINY, -turn - TINY, 0.0, 0.0, 9.0])
    speeds = np.array([0.0, 0.0, 0.0, 0.0, share - TINY, share + TINY, 1.0]) * 2.0
    turning, moving = numbers["FAST_TURN_COST"], numbers["FAST_MOVE_COST"]
    costs = [0.0, 0.0, turning, turning, 0.0, moving, turning + moving]
    score = comfort.comfort_score(rates, speeds, 2.0)
    np.testing.assert_allclose(score, 1.0 - np.array(costs), atol=1e-12)
    assert (turn, share) == (comfort.FAST_TURN, comfort.FAST_SHARE)


def test_senses(numbers: dict[str, float]) -> None:
    for name in ("NOTHING", "WALL", "DROP", "MOVER", "FLOOR_PARTS"):
        assert numbers[name] == getattr(solid_ray_kernels, name)
    assert numbers["MOVERS_SEEN"] == state.MOVERS_SEEN
    assert numbers["MOVER_COLUMNS"] == sight_kernels.MOVER_COLUMNS


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (columns, "columns"), (evading, "evading"), (frontiers, "frontiers"),
        (heap, "nodes"), (mapping, "mapping"), (navigator, "navigator"),
        (planning, "planning"), (search, "search"), (steering, "steering"),
        (tracks, "tracks"),
    ],
)  # fmt: skip
def test_the_navigator(ours: ModuleType, theirs: str) -> None:
    """Numbers of one name are one number."""
    text = (find_project() / f"addons/ambulo_rl/navigator/{theirs}.gd").read_text()
    found = re.findall(r"^const _?(\w+) := (-?[\d.]+)$", text, re.MULTILINE)
    own = {name.removeprefix("_"): value for name, value in vars(ours).items()}
    shared = {name: float(value) for name, value in found if name in own}
    assert len(shared) >= 2
    assert shared == {name: own[name] for name in shared}


def test_the_body(numbers: dict[str, float]) -> None:
    for name in ("BODY_RADIUS", "BODY_HEIGHT", "STEP_HEIGHT", "EYE_HEIGHT", "GRAVITY"):
        assert numbers[name] == getattr(contract, name)
    assert numbers["SLIDE_PASSES"] == contract.SLIDE_ITERATIONS
    hand = (numbers["HAND_FORWARD"], numbers["HAND_LEFT"], numbers["HAND_UP"])
    assert hand == contract.HAND_OFFSET
