"""Policies of walkers act in the page as in torch; controls of their pages do something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ambulo.viz.page.muscle_paths import resampled

ACTIONS = 1e-5
MODELS = {"walker": "walk_commands", "muscle": "muscle_walk"}
ALL = """() => {
    const { recording } = ambulo.page;
    const width = recording.header.widths.observations;
    const rows = [];
    for (let at = 0; at < recording.observations.length; at += width)
        rows.push(Array.from(recording.observations.subarray(at, at + width)));
    const { actions, policy } = recording;
    return { rows, actions: rows.map(row => policy.act(row)), recorded: Array.from(actions) };
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_actions_of_all_frames_are_those_of_torch(browser: Any, name: str) -> None:
    import ambulo

    agent: Any = ambulo.load(MODELS[name])
    with browser.open(name) as page:
        found = page.evaluate(ALL)
    actions = np.array(found["actions"])
    torch_actions = agent.act(np.array(found["rows"], np.float32))
    assert len(actions) > 200
    assert np.abs(actions).max() > 0.1
    np.testing.assert_allclose(actions, torch_actions, rtol=0.0, atol=ACTIONS)
    recorded = np.array(found["recorded"]).reshape(actions.shape)
    np.testing.assert_allclose(actions, recorded, rtol=0.0, atol=ACTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_controls_play_step_scrub_and_choose(browser: Any, name: str) -> None:
    index = "ambulo.page.index"
    with browser.open(name) as page:
        page.click("#step")
        page.click("#step")
        assert page.evaluate(index) == 2
        page.focus("#play")
        page.keyboard.press("Space")
        page.wait_for_function(f"{index} > 10")
        page.keyboard.press("Space")
        assert page.inner_text("#play") == "Play"
        page.focus("#time-slider")
        page.keyboard.press("End")
        count = page.evaluate("ambulo.page.scene.count")
        assert page.evaluate(index) == count - 1
        page.click("#restart")
        assert page.evaluate(index) == 0
        page.select_option("#scene", index=1)
        assert page.inner_text("#message") == page.evaluate("ambulo.page.scene.about")


@pytest.mark.slow
def test_body_moves_as_recorded_and_stays_up(browser: Any) -> None:
    heights = """() => ambulo.page.recording.header.scenes.map(({ first, count }) => {
        const { poses, header } = ambulo.page.recording;
        const z = [];
        for (let k = first; k < first + count; k++) z.push(poses[k * header.widths.poses + 2]);
        return Math.min(...z);
    })"""
    with browser.open("walker") as page:
        assert min(page.evaluate(heights)) > 0.7


def test_path_is_resampled_at_equal_distances() -> None:
    path = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    points = resampled(path, 5)
    np.testing.assert_allclose(
        points[:, :2], [[0, 0], [0.5, 0], [1, 0], [1, 0.5], [1, 1]]
    )
