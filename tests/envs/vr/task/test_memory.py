"""The remembered grids: hand-made scenes, forgetting, and continuation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.sight_kernels import MOVER_COLUMNS
from ambulo.envs.vr.geometry.solid_kernels import BOX
from ambulo.envs.vr.geometry.solid_ray_kernels import FLOOR_PARTS, NOTHING, WALL
from ambulo.envs.vr.navigator.navigator import Sensed
from ambulo.envs.vr.task.memory import Memory, memory_fields

RAYS = 16
PLATFORM = np.array([2.0, 0.0, 0.7, 0.7, 1.0, 0.0, -0.1, 0.1, BOX, 0.0, 0.0, 0.0, 0.0])


def slices(kind: str) -> dict[str, slice]:
    """Where each field of a memory lies."""
    found, at = {}, 0
    for name, size, _, _ in memory_fields(kind):
        found[name] = slice(at, at + size)
        at += size
    return found


def remember(
    memory: Memory,
    x: float,
    y: float,
    yaw: float,
    reading: float | np.ndarray = 5.0,
    distance: float = 9.0,
    goal: tuple[float, float] = (9.0, 0.0),
    falling: bool = False,
    things: tuple[np.ndarray, ...] = (),
) -> dict[str, np.ndarray]:
    """One decision of the only env with equal rays all around; named features."""
    out = np.zeros((1, memory.size), np.float32)
    rays = np.full((1, RAYS), 1.0) * reading
    sensed = Sensed(
        np.array([[x, y, 0.0]]), np.array([yaw]), np.array([[*goal, 0.0]]), rays,
        np.where(rays < 5.0, WALL, NOTHING), np.zeros((1, RAYS, FLOOR_PARTS)),
        np.array(things).reshape(1, -1, MOVER_COLUMNS), np.array([falling]),
    )  # fmt: skip
    memory.update(
        np.zeros(1, np.int64), sensed, np.array([yaw]), np.zeros((1, 3)), WorldSpec(),
        np.array([distance]), out,
    )  # fmt: skip
    return {name: out[0, where] for name, where in slices(memory.kind).items()}


def test_visits_are_seen_where_they_were() -> None:
    """A place walked through lies behind after walking on, and to the left after a turn."""
    memory = Memory("visits", 1)
    for _ in range(3):
        remember(memory, 0.5, 0.5, 0.0)
    seen = remember(memory, 2.5, 0.5, 0.0)["visits"]
    behind = 4 * 4 + 1
    assert seen[behind] == pytest.approx(0.2 * np.log1p(3))
    assert seen[32] == pytest.approx(0.2 * np.log1p(1))
    turned = remember(memory, 2.5, 0.5, np.pi / 2)["visits"]
    left = 2 * 4 + 1
    assert turned[left] == pytest.approx(0.2 * np.log1p(3))


def test_staleness_counts_decisions_without_progress() -> None:
    """Getting nearer resets the clock; pacing about lets it run, up to its cap."""
    memory = Memory("visits", 1)
    for step in range(5):
        seen = remember(memory, 0, 0, 0, distance=9.0 - step)["visits"]
    assert seen[33] == 0.0
    for _ in range(400):
        seen = remember(memory, 0, 0, 0, distance=8.0)["visits"]
    assert seen[33] == 3.0


def test_map_remembers_a_wall_out_of_ray_range() -> None:
    """A wall seen 4 m ahead is still known from 8 m away, and unknown ground is unknown."""
    memory = Memory("map", 1)
    ahead_only = np.where(np.arange(RAYS) == 0, 4.0, 5.0)
    remember(memory, 4.0, 0.1, 0.0, ahead_only)
    seen = remember(memory, 0.0, 0.1, 0.0, reading=5.0)
    assert seen["map_blocked"][0] == pytest.approx(0.8, abs=0.03)
    assert seen["map_blocked"][12] == 1.0
    assert seen["map_known"][0] == pytest.approx(0.78, abs=0.05)
    assert seen["map_known"][12] == pytest.approx(0.5, abs=0.05)


def test_sectors_tell_blocked_from_unknown() -> None:
    """A ring of obstacles at 1.8 m blocks the second ring of sectors, hides the outer."""
    memory = Memory("map", 1)
    for yaw in np.linspace(0, 2 * np.pi / RAYS, 12, endpoint=False):
        seen = remember(memory, 0.1, 0.1, yaw, reading=1.8)
    blocked = seen["sector_blocked"].reshape(RAYS, 5)
    unknown = seen["sector_unknown"].reshape(RAYS, 5)
    assert blocked[:, 0].max() == 0.0
    assert blocked[:, 1].mean() > 0.2
    assert unknown[:, 0].max() == 0.0
    assert unknown[:, 3:].min() > 0.999


def test_memory_does_not_depend_on_where_the_frame_lies() -> None:
    """Far from the origin (the grid wraps) the features are the same."""
    features = []
    for shift in (0.0, 64.0, -640.0):
        memory = Memory("map", 1)
        for step in range(6):
            last = remember(
                memory, shift + 0.3 * step + 0.11, shift - 0.21, 0.2 * step, 2.93
            )
        features.append(np.concatenate(list(last.values())))
    np.testing.assert_allclose(features[0], features[1], atol=1e-6)
    np.testing.assert_allclose(features[0], features[2], atol=1e-6)


@pytest.mark.parametrize("kind", ["plan", "navigator"])
def test_the_path_leads_around_a_remembered_wall(kind: str) -> None:
    """A wall between player and goal, once seen, bends the path; before, it is straight."""
    memory = Memory(kind, 1)
    names = {"plan": ("plan_points", "plan_length", "plan_found")}
    points, length, found = names.get(kind, ("waypoint", "route_length", "route_found"))
    free = remember(memory, 0.1, 0.1, 0.0, 5.0, goal=(6.0, 0.1))
    assert free[found][0] == 1.0
    assert free[length][0] == pytest.approx(0.05 * 5.9, abs=0.05)
    waypoint = 5.0 * free[points][:2]
    assert waypoint[0] > 2.0
    assert abs(waypoint[1]) < 0.3
    for x in np.linspace(0.1, 1.0, 8):  # the fan of rays leaves gaps from one place
        for y in np.linspace(-2.0, 2.0, 12):
            angles = 2.0 * np.pi * np.arange(RAYS) / RAYS
            with np.errstate(divide="ignore"):
                hit = np.where(np.cos(angles) > 0, (2.0 - x) / np.cos(angles), 5.0)
            hits_wall = (hit < 5.0) & (np.abs(y + hit * np.sin(angles)) < 3.0)
            reading = np.where(hits_wall, hit, 5.0)
            seen = remember(memory, x, y, 0.0, reading, goal=(6.0, 0.1))
    for _ in range(3):  # the plan is renewed every third decision
        seen = remember(memory, 0.1, 0.1, 0.0, 5.0, goal=(6.0, 0.1))
    assert seen[found][0] == 1.0
    around = 2 * np.hypot(2.0, 3.0) + 2.0
    assert 20 * seen[length][0] > 0.9 * around
    ahead = 5.0 * seen[points][:2]
    assert abs(ahead[1]) > 1.0
    turned = remember(memory, 0.1, 0.1, np.pi / 2, 5.0, goal=(6.0, 0.1))
    back = np.array([-turned[points][1], turned[points][0]])
    np.testing.assert_allclose(5.0 * back, ahead, atol=1e-5)


def test_earlier_kinds_see_parts_of_the_same_path() -> None:
    kinds = {kind: Memory(kind, 1) for kind in ("plan", "path", "navigator")}
    for x in (0.1, 1.4, 2.0):
        plan, path, navigator = (remember(m, x, 0.4, 0.3, 2.5) for m in kinds.values())
    assert kinds["path"].size == 58
    assert set(path) - set(plan) == {"near"}
    assert set(plan) - set(path) == {
        "map_blocked", "map_known", "map_visited", "sector_blocked", "sector_unknown"
    }  # fmt: skip
    for name in set(path) & set(plan):
        np.testing.assert_array_equal(path[name], plan[name])
    np.testing.assert_array_equal(path["near"], navigator["near"])
    np.testing.assert_array_equal(path["visits"][-2:], navigator["stay"])
    np.testing.assert_allclose(path["plan_points"][:2], navigator["waypoint"])


@pytest.mark.parametrize("kind", ["path", "navigator"])
def test_what_is_near_is_remembered(kind: str) -> None:
    """Rays of one decision hit at 1 m; later ones hit nothing, further on or turned."""
    memory, cell = Memory(kind, 1), 0.18 / 2.0
    before = remember(memory, 0.1, 0.1, 0.0, 1.0)["near"]
    np.testing.assert_allclose(before, 1.0 / 2.0, atol=cell)
    turned = remember(memory, 0.1, 0.1, 0.5 * np.pi, 5.0)["near"]
    np.testing.assert_allclose(turned, 1.0 / 2.0, atol=cell)
    moved = remember(memory, 0.6, 0.1, 0.0, 5.0)["near"]
    assert abs(moved[0] - 0.5 / 2.0) < cell
    assert abs(moved[8] - 1.5 / 2.0) < cell
    far = remember(memory, 9.1, 0.1, 0.0, 5.0)["near"]
    np.testing.assert_array_equal(far, 1.0)


@pytest.mark.parametrize("kind", ["visits", "map", "plan", "path", "navigator"])
def test_reset_forgets_and_state_dict_continues(kind: str) -> None:
    """Reset equals new; a copy continues as the original."""
    memory = Memory(kind, 1)
    first = remember(memory, 1.0, 1.0, 0.5, 2.0)
    remember(memory, 2.0, 1.0, 0.5, 2.0)
    copy = Memory(kind, 1)
    copy.load_state_dict(memory.state_dict())
    a, b = (remember(m, 2.5, 1.5, 0.1, 3.0) for m in (memory, copy))
    for name in a:
        np.testing.assert_array_equal(a[name], b[name])
    memory.reset(np.zeros(1, np.int64))
    again = remember(memory, 1.0, 1.0, 0.5, 2.0)
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])


@pytest.mark.parametrize(
    ("name", "value"),
    [("plans_length", 10**6), ("plans_boards", 99), ("plans_age", 9), ("steering_state", -1),
     ("plans_points", 1e6), ("entries_list", 2**40), ("known", 2**62), ("bits_list", 2**10)],
)  # fmt: skip
def test_states_that_name_what_does_not_exist_are_refused(
    name: str, value: float
) -> None:
    memory = Memory("navigator", 1)
    remember(memory, 0.1, 0.1, 0.0, 2.0)
    state = memory.state_dict()
    state[f"navigator_{name}"] = np.full(state[f"navigator_{name}"].shape, value)
    with pytest.raises(ValueError, match=r"outside|do not exist"):
        memory.load_state_dict(state)


EXTREMES = (-(2**62), -2, -1, 300, 2**40, 2**62, -1e300, 1e300, -np.inf, np.inf, np.nan)


@settings(max_examples=60, deadline=2000, derandomize=True)
@given(st.data())
def test_damaged_states_are_refused_or_cost_nothing(data: st.DataObject) -> None:
    """Numbers beyond what is ever remembered are refused; with the others it goes on."""
    memory = Memory("navigator", 1)
    remember(memory, 0.1, 0.1, 0.0, 2.0, things=(PLATFORM,))
    state = memory.state_dict()
    names = sorted(name for name in state if name.startswith("navigator_"))
    name = data.draw(st.sampled_from(names))
    value = data.draw(st.sampled_from(EXTREMES))
    damaged = state[name].astype(np.float64)
    at = (
        data.draw(st.integers(0, damaged.size - 1)) if data.draw(st.booleans()) else ...
    )
    damaged.reshape(-1)[at] = value
    refused = ""
    try:
        memory.load_state_dict({**state, name: damaged})
    except ValueError as error:
        refused = str(error)
    assert "\n" not in refused
    usual = state[name].dtype == bool or abs(value) <= 2**40 or value == np.inf
    assert refused or usual
    for _ in range(4):
        seen = remember(memory, 0.2, 0.1, 0.0, 2.0, things=(PLATFORM,))
        assert all(np.isfinite(numbers).all() for numbers in seen.values())


def test_states_of_earlier_versions_forget_what_leaves_the_window_too() -> None:
    memory, old = Memory("navigator", 1), Memory("navigator", 1)
    remember(memory, 0.1, 0.1, 0.0, 2.0)
    state = memory.state_dict()
    del state["navigator_known"]
    old.load_state_dict(state)
    for each in (memory, old):
        remember(each, 40.1, 0.1, 0.0, 2.0)
    assert memory.navigator is not None
    assert old.navigator is not None
    bits = memory.navigator.columns.bits
    assert bits.any()
    np.testing.assert_array_equal(bits, old.navigator.columns.bits)


def test_nothing_is_mapped_in_a_fall() -> None:
    memory = Memory("navigator", 1)
    remember(memory, 0.1, 0.1, 0.0, 2.0)
    assert memory.navigator is not None
    before = memory.navigator.columns.bits.copy()
    remember(memory, 0.1, 0.1, 0.0, 5.0, falling=True)
    np.testing.assert_array_equal(memory.navigator.columns.bits, before)
    remember(memory, 0.1, 0.1, 0.0, 5.0)
    assert (memory.navigator.columns.bits != before).any()
