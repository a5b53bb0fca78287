"""The viewer in a real browser: Chromium without a window, driven by Playwright."""

import io
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from fixtures.viewer import HOSTILE

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.commands.viewing.kinds import open_stage
from ambulo.viz.viewer.curves import Curve
from ambulo.viz.viewer.empty_stage import EmptyStage
from ambulo.viz.viewer.navigation_stage import NavigationStage
from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import Choice, Control, Drag, Plot, Press, Slider, Switch
from ambulo.viz.viewer.viewer import Viewer
from ambulo.viz.viewer.walker_stage import WalkerStage
from ambulo.viz.viewer.window import open_server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--use-gl=angle",
    "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
PATIENCE = 120.0
"""Time in which a page must show what it shall, [s]; rendering is in software."""

pytest.importorskip("viser", reason="needs ambulo[viewer]")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs the program chromium"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "ambulo.cli",
        "play",
        "imitate_walk",
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        match = re.search(r"http://localhost:\S+", process.stderr.readline())
        assert match is not None
        yield match[0]
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")), executable_path=CHROMIUM,
            args=list(FLAGS), viewport={"width": 800, "height": 600},
        )  # fmt: skip
        context.set_default_timeout(1000.0 * PATIENCE)
        yield context
        context.close()


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    opened = browser.new_page()
    opened.goto(url)
    opened.wait_for_selector("canvas")
    opened.get_by_text("imitate_walk: imitate").wait_for()
    yield opened
    opened.close()


def until(true: Callable[[], bool], what: str) -> None:
    """Wait for something that the page shows."""
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"not seen: {what}"
        time.sleep(0.2)


def shown_time(page: Any) -> float:
    text = page.locator("body").inner_text()
    match = re.search(r"t = ([\d.]+) s", text)
    assert match is not None, text[:300]
    return float(match[1])


def colours(page: Any) -> tuple[int, int]:
    """How many pixels are clearly blue (the left side) and clearly red (the right)."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    # Without the panel, whose buttons are blue, and the message about slow rendering.
    red, green, blue = np.moveaxis(np.asarray(picture, np.int64)[140:, :460], -1, 0)
    is_blue = (blue > red + 40) & (blue > green + 15)
    is_red = (red > green + 40) & (red > blue + 10)
    return int(is_blue.sum()), int(is_red.sum())


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def paused(page: Any) -> bool:
    return bool(page.get_by_role("button", name="Play", exact=True).count())


def test_body_is_seen_walks_pauses_steps_and_goes_on(page: Any) -> None:
    until(lambda: min(colours(page)) > 150, "left and right limbs")
    begun = shown_time(page)
    until(lambda: shown_time(page) > begun + 0.5, "time that goes on")
    press(page, "Pause")
    until(lambda: paused(page), "the button Play")
    still = shown_time(page)
    time.sleep(1.5)
    assert shown_time(page) == still
    for _ in range(6):  # of a thirtieth of a second
        press(page, "Step")
    until(lambda: abs(shown_time(page) - still - 0.2) < 0.051, "six steps")
    press(page, "Play")
    until(lambda: shown_time(page) > still + 0.5, "time that goes on again")


def test_a_second_window_and_a_lost_one_lose_nothing(
    page: Any, browser: Any, url: str
) -> None:
    press(page, "Pause")
    until(lambda: paused(page), "the button Play")
    still = shown_time(page)
    second = browser.new_page()
    second.goto(url)
    until(lambda: "t = " in second.locator("body").inner_text(), "the status")
    until(lambda: paused(second), "the pause in the second window")
    assert shown_time(second) == still
    until(lambda: min(colours(second)) > 150, "the body in the second window")
    page.close()
    press(second, "Play")
    until(
        lambda: shown_time(second) > still + 0.3, "time that goes on without the first"
    )
    second.close()
    third = browser.new_page()
    third.goto(url)
    until(lambda: "t = " in third.locator("body").inner_text(), "the status")
    assert shown_time(third) >= still + 0.3
    third.close()


def test_keys_work_and_the_panel_fits_a_narrow_window(browser: Any, url: str) -> None:
    narrow = browser.new_page()
    narrow.set_viewport_size({"width": 400, "height": 800})
    narrow.goto(url)
    until(lambda: "ambulo" in narrow.locator("body").inner_text(), "the panel")
    wide = narrow.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400
    narrow.set_viewport_size({"width": 800, "height": 600})
    until(lambda: "t = " in narrow.locator("body").inner_text(), "the status")
    before = paused(narrow)
    narrow.mouse.click(20, 560)
    narrow.keyboard.press("p")
    until(lambda: paused(narrow) != before, "the key P")
    narrow.close()


def pull(window: Any, stage: WalkerStage) -> None:
    """Drag the trunk, which the camera looks at; again where the picture was late."""

    def held() -> bool:
        window.mouse.move(400.0, 290.0)
        window.mouse.down()
        window.mouse.move(340.0, 270.0, steps=4)
        end = time.monotonic() + 10.0
        while stage._pull.held is None and time.monotonic() < end:
            time.sleep(0.1)
        if stage._pull.held is None:
            window.mouse.up()
        return stage._pull.held is not None

    until(held, "what is held")


def test_the_mouse_pulls_the_body(browser: Any) -> None:
    """A window in front of a viewer of this process, whose stage can be asked."""
    stage = open_stage(PlayFlags(model="imitate_walk"))
    assert isinstance(stage, WalkerStage)
    viewer = Viewer(open_server(0, "test"), stage)
    viewer.start()
    window = browser.new_page()
    try:
        window.goto(viewer.server.address)
        until(lambda: min(colours(window)) > 150, "the body")
        viewer.clock.post(lambda: viewer.clock.play(False))
        pull(window, stage)
        assert np.linalg.norm(stage._pull.force()) > 10.0
        window.mouse.up()
        until(lambda: stage._pull.held is None, "what is let go")
        # A window that is closed while it holds lets go, too.
        pull(window, stage)
        window.close()
        until(lambda: stage._pull.held is None, "what a closed window lets go")
    finally:
        window.close()
        viewer.close()


def test_a_drag_in_a_level_turns_the_camera_and_with_shift_holds(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A level fills the window: without a key nothing else would turn the camera."""
    stage = open_stage(PlayFlags(model="vr_navigation"))
    assert isinstance(stage, NavigationStage)
    drags: list[Drag] = []
    monkeypatch.setattr(stage, "drag", drags.append)
    viewer = Viewer(open_server(0, "test"), stage)
    viewer.clock.pace.playing = False
    viewer.start()
    window = browser.new_page()
    try:
        window.goto(viewer.server.address)
        until(lambda: min(colours(window)) > 150, "the level")
        (client,) = viewer.server.get_clients().values()
        before = np.array(client.camera.position)

        def drag() -> None:
            window.mouse.move(250.0, 400.0)
            window.mouse.down()
            window.mouse.move(300.0, 410.0, steps=5)
            window.mouse.up()

        drag()
        until(
            lambda: np.ptp([before, client.camera.position], axis=0).max() > 0.5, "turn"
        )
        assert drags == []
        window.keyboard.down("Shift")
        drag()
        window.keyboard.up("Shift")
        until(lambda: drags, "a drag")
        assert drags[0].layer.startswith("level/")
    finally:
        window.close()
        viewer.close()


class HostileStage(EmptyStage):
    """All texts that a stage gives to the panel are HTML with scripts."""

    note = HOSTILE
    _begun = False

    def reset(self) -> Snapshot:
        """Fail from the second time on."""
        if self._begun:
            raise RuntimeError(HOSTILE)
        self._begun = True
        return super().reset()

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Controls of all kinds."""
        return {
            HOSTILE: [
                Slider(HOSTILE, 0.0, 1.0, 0.5, 0.1, id, HOSTILE),
                Choice(HOSTILE, (HOSTILE, "b"), HOSTILE, id, HOSTILE),
                Switch(HOSTILE, False, id, HOSTILE),
                Press(HOSTILE, id, HOSTILE),
            ]
        }

    def plots(self) -> Sequence[Plot]:
        """A plot."""
        return [Plot(HOSTILE, HOSTILE, (HOSTILE,))]


def test_texts_of_files_run_no_script(browser: Any) -> None:
    curve = Curve(HOSTILE, np.arange(2.0), {HOSTILE: np.arange(2.0)})
    curves = [curve]
    stage = HostileStage(HOSTILE)
    viewer = Viewer(open_server(0, "test"), stage, curves=lambda: curves)
    viewer.start()
    window = browser.new_page()
    try:
        window.goto(viewer.server.address)
        until(lambda: "t = " in window.locator("body").inner_text(), "the status")
        viewer.say(HOSTILE, HOSTILE)
        press(window, "Reset")
        until(lambda: "stopped:" in window.locator("body").inner_text(), "the error")
        until(lambda: window.get_by_text(HOSTILE).count() >= 8, "all texts, literally")
        for box in window.get_by_text(HOSTILE).all()[:8]:
            box.hover(force=True)  # for hints
        time.sleep(2.0)
        assert "TAKEN" not in window.title()
        assert window.locator("#taken, iframe").count() == 0
    finally:
        window.close()
        viewer.close()
