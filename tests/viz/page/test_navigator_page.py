"""The navigator in the browser acts like the one in Python, and reaches its goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ambulo.viz.page.navigator_data import page_levels

pytestmark = pytest.mark.slow

ACTIONS = 1e-5
"""Largest difference of an action from torch's."""
OBSERVATIONS = 1e-3
"""Largest difference of an observation in a whole episode with all its contacts, [m]."""
LEVELS = ("apartment", "hedge_garden", "plank_course")
ACT = """rows => rows.map(
    row => [...ambulo.policy.act(Float32Array.from(row)), ambulo.policy.lost]
)"""
PLAY = """([name, start, goal]) => {
    const { page, policy, NavEpisode } = ambulo;
    const { level } = page.levels.find(row => row.level.name === name);
    const episode = new NavEpisode(policy, level, start, goal, 0);
    const rows = [Array.from(episode.observation)];
    while (!episode.outcome) { episode.step(); rows.push(Array.from(episode.observation)); }
    return { rows, outcome: episode.outcome, collisions: episode.collisions };
}"""


@dataclass(frozen=True)
class Walk:
    """One episode in Python."""

    start: list[float]
    goal: list[float]
    observations: NDArray[np.float32]
    actions: NDArray[np.float32]
    """And the probability of being lost, shape (n, 4)."""
    success: bool
    collisions: int


def walk(name: str) -> Walk:
    """An episode of the shipped navigator in the compiled world."""
    import ambulo
    from ambulo.envs.vr.handmade import handmade_levels
    from ambulo.envs.vr.task.bank import LevelBank, Start
    from ambulo.envs.vr.task.build import make_batch

    agent: Any = ambulo.load("vr_navigation")
    (level,) = [level for level in handmade_levels() if level.name == name]
    bank = LevelBank([level], np.random.default_rng(0))
    batch = make_batch(agent.config, 1, bank=bank)
    assert level.start is not None
    obs = batch.reset(np.array([0]), [Start(0, 0, level.start)])
    seen, acted, collisions, done = [obs[0].copy()], [], 0, False
    success = False
    while not done:
        action = agent.act(obs)
        obs, _, terminated, truncated, info = batch.step(action)
        seen.append(obs[0].copy())
        acted.append([*action[0], agent.lost[0]])
        collisions += int(info["collisions"][0])
        success = bool(info["is_success"][0])
        done = bool(terminated[0] or truncated[0])
    origin, goal = batch.episode.origin[0].tolist(), batch.task.goal[0, :2].tolist()
    batch.close()
    return Walk(origin, goal, np.array(seen), np.array(acted), success, collisions)


@pytest.fixture(scope="module", params=LEVELS)
def recorded(request: pytest.FixtureRequest) -> tuple[str, Walk]:
    """The name of a level, and the walk in it."""
    return request.param, walk(request.param)


def test_actions_are_those_of_torch(browser: Any, recorded: tuple[str, Walk]) -> None:
    _, python = recorded
    with browser.open("navigator") as page:
        actions = page.evaluate(ACT, python.observations[:-1].tolist())
    np.testing.assert_allclose(actions, python.actions, rtol=0.0, atol=ACTIONS)


def test_whole_episodes_are_those_of_the_compiled_world(
    browser: Any, recorded: tuple[str, Walk]
) -> None:
    name, python = recorded
    with browser.open("navigator") as page:
        played = page.evaluate(PLAY, [name, python.start, python.goal])
    assert python.success
    assert played["outcome"] == "reached"
    assert played["collisions"] == python.collisions
    np.testing.assert_allclose(
        played["rows"], python.observations, rtol=0.0, atol=OBSERVATIONS
    )


def test_navigator_reaches_its_goal_by_the_controls_alone(browser: Any) -> None:
    with browser.open("navigator") as page:
        page.focus("#speed")
        page.keyboard.press("End")
        page.focus("#play")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "document.getElementById('message').textContent.startsWith('Goal reached')",
            timeout=120_000,
        )
        assert float(page.inner_text("#distance").split()[0]) <= 1.0
        page.click("#new-goal")
        page.select_option("#level", label="museum")
        assert page.inner_text("#message").startswith("Ready")


def test_every_level_of_the_page_is_flat_and_has_both_places() -> None:
    rows = page_levels()
    assert len(rows) == 12
    for row in rows:
        assert not row["level"].get("heights")
        assert len(row["start"]) == 3
        assert len(row["goal"]) == 2


def test_comfort_slider_slows_the_walker(browser: Any) -> None:
    speed = """comfort => {
        const { page } = ambulo;
        const slider = document.getElementById('comfort');
        slider.value = String(comfort);
        slider.dispatchEvent(new Event('input'));
        page.begin(page.start, page.goal);
        for (let k = 0; k < 30; k++) page.step();
        return page.episode.path / (30 * page.episode.seconds);
    }"""
    with browser.open("navigator") as page:
        fast, gentle = page.evaluate(speed, 0), page.evaluate(speed, 1)
    assert gentle < 0.9 * fast
