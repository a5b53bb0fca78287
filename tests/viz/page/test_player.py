"""Recordings are packed as they were, and the player plays, steps, scrubs and chooses them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ambulo.viz.page.recording import (
    LINE_POINTS,
    Readout,
    Recording,
    Scene,
    packed,
    resampled,
)

RECORDED = {"navigator": 12, "walker": 7, "muscle": 2}
"""Pages of the player, with their scenes."""
FRAMES = """name => ambulo.page.header.scenes.map(({ first, count }) => {
    const { header, arrays } = ambulo.page;
    const width = header.widths[name];
    return Array.from({ length: count }, (_, k) => Array.from(
        arrays[name].subarray((first + k) * width, (first + k + 1) * width)));
})"""


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDED)
def test_controls_play_step_scrub_and_choose(browser: Any, name: str) -> None:
    index = "ambulo.page.index"
    with browser.open(name) as page:
        assert page.evaluate("ambulo.page.header.scenes.length") == RECORDED[name]
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
def test_walkers_stay_up_and_navigators_reach_their_goals(browser: Any) -> None:
    with browser.open("walker") as page:
        poses = page.evaluate(FRAMES, "poses")
    assert min(min(frame[2] for frame in scene) for scene in poses) > 0.7
    with browser.open("navigator") as page:
        numbers = page.evaluate(FRAMES, "readouts")
        poses = page.evaluate(FRAMES, "poses")
        page.focus("#time-slider")
        page.keyboard.press("End")
        shown = float(page.inner_text("#readout-0").split()[0])
    assert shown == pytest.approx(numbers[0][-1][0], abs=0.06)
    for scene, bodies in zip(numbers, poses, strict=True):
        assert scene[0][0] > 3.0 > scene[-1][0]
        way = np.diff(np.array(bodies)[:, :2], axis=0)
        # What was walked is the way that is shown, but for turns within a step.
        walked = scene[-1][1]
        assert walked == pytest.approx(np.linalg.norm(way, axis=1).sum(), rel=0.05)


def test_recording_is_packed_by_frames() -> None:
    poses = np.zeros((2, 7))
    poses[0, :3] = 1.0, 2.0, 3.0
    line = resampled(np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 3.0]]))
    frame = {
        "poses": poses, "lines": line[None], "values": np.ones(1),
        "bars": np.array([0.5, -0.5]), "readouts": np.array([7.0]),
    }  # fmt: skip
    scene = Scene("one", "It stands.", frames=[frame, frame])
    recording = Recording("", 0.1, [], [scene, scene], ("a", "b"), [Readout("x", "m")])
    data = packed(recording)
    header = json.loads(data["recording.header"])
    assert [row["first"] for row in header["scenes"]] == [0, 2]
    assert header["widths"]["lines"] == 3 * LINE_POINTS
    lines = np.frombuffer(data["recording.lines"], "<i2").reshape(4, LINE_POINTS, 3)
    assert lines[3, -1].tolist() == [1000, 0, 0]  # millimetres from the root
    bars = np.frombuffer(data["recording.bars"], "<f4")
    assert bars.reshape(4, 2)[0].tolist() == [0.5, -0.5]


def test_path_is_resampled_at_equal_distances() -> None:
    path = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.8, 0.0]])
    points = resampled(path)
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(points, axis=0), axis=1), 0.2, atol=1e-12
    )
