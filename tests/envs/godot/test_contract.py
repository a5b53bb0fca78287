"""Numbers that the add-on writes down a second time are those of the trainer."""

from __future__ import annotations

import contextlib
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
from ambulo.ik.trackers import conventions, feet, fit, guard, shape, tracker

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


def values_of(script: str) -> dict[str, list[float]]:
    """The constants of a script of the add-on that are numbers, or rows of them."""
    text = (find_project() / f"addons/ambulo_rl/{script}.gd").read_text()
    found = {}
    for name, value in re.findall(r"^const _?(\w+)(?:: \w+)? :?= (.+)$", text, re.M):
        plain = value.replace("1.0 / 30.0", repr(1.0 / 30.0)).strip("[]").split(",")
        with contextlib.suppress(ValueError):
            found[name] = [float(part) for part in plain]
    return found


@pytest.mark.parametrize(
    ("script", "modules", "least"),
    [
        ("navigator/columns", (columns,), 2), ("navigator/evading", (evading,), 2),
        ("navigator/frontiers", (frontiers,), 2), ("navigator/nodes", (heap,), 2),
        ("navigator/mapping", (mapping,), 2), ("navigator/navigator", (navigator,), 2),
        ("navigator/planning", (planning,), 2), ("navigator/search", (search,), 2),
        ("navigator/steering", (steering,), 2), ("navigator/tracks", (tracks,), 2),
        ("trackers/tracker_state", (guard, tracker), 14),
        ("trackers/tracker_foot", (feet,), 16), ("trackers/tracker_fit", (fit,), 9),
        ("trackers/tracker_shape", (shape,), 6), ("trackers/body_tracker", (tracker,), 7),
        ("trackers/tracker_devices", (conventions,), 6),
    ],
)  # fmt: skip
def test_numbers_of_one_name_are_one_number(
    script: str, modules: tuple[ModuleType, ...], least: int
) -> None:
    own = {
        name.removeprefix("_"): value
        for module in modules[::-1]
        for name, value in vars(module).items()
    }
    shared = {name: row for name, row in values_of(script).items() if name in own}
    assert len(shared) >= least
    for name, row in shared.items():
        value = np.atleast_1d(np.asarray(own[name], np.float64))
        np.testing.assert_allclose(row, value, err_msg=name)


def test_the_body(numbers: dict[str, float]) -> None:
    for name in ("BODY_RADIUS", "BODY_HEIGHT", "STEP_HEIGHT", "EYE_HEIGHT", "GRAVITY"):
        assert numbers[name] == getattr(contract, name)
    assert numbers["SLIDE_PASSES"] == contract.SLIDE_ITERATIONS
    hand = (numbers["HAND_FORWARD"], numbers["HAND_LEFT"], numbers["HAND_UP"])
    assert hand == contract.HAND_OFFSET
