"""The viewer on a real server: its controls act, and outlast a newer model."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from fixtures.viewer import CAMERA, HOSTILE, connected

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import LevelError
from ambulo.viz.viewer.gamepad import Gamepad
from ambulo.viz.viewer.panel import Models
from ambulo.viz.viewer.snapshot import Instances, Snapshot
from ambulo.viz.viewer.stage import Choice, Control, PlainStage, Slider, Stage
from ambulo.viz.viewer.viewer import Viewer
from ambulo.viz.viewer.window import open_server

pytest.importorskip("viser", reason="needs ambulo[viewer]")


class Plain(PlainStage):
    """A slider and a choice, which note what they are told."""

    title, dt = "plain", 0.05
    pushable = True

    def __init__(self) -> None:
        self.layers: dict = {}
        self.speed, self.way = 0.0, "left"
        self.released = 0
        self.pushes: list[np.ndarray] = []
        self.resets = 0

    def reset(self) -> Snapshot:
        self.resets += 1
        return self.step()

    def step(self) -> Snapshot:
        return Snapshot(0.0, np.zeros(3), {})

    def controls(self) -> Mapping[str, Sequence[Control]]:
        return {
            "Command": [
                Slider("Speed", -1.0, 2.0, 0.0, 0.1, self.go, stick="ahead"),
                Choice("Way", ("left", "right"), "left", self.turn),
            ]
        }

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        self.pushes.append(np.array(impulse))

    def go(self, speed: float) -> None:
        self.speed = speed

    def turn(self, way: str) -> None:
        self.way = way

    def let_go(self) -> None:
        self.released += 1


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 30.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def viewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Viewer]:
    monkeypatch.setattr(Gamepad, "readable", staticmethod(lambda: False))
    viewer = Viewer(open_server(0, "test"), Plain())
    viewer.start()
    yield viewer
    viewer.close()


def stage_of(viewer: Viewer) -> Plain:
    assert isinstance(viewer.clock.stage, Plain)
    return viewer.clock.stage


def test_sticks_and_buttons_act_on_what_is_shown(viewer: Viewer) -> None:
    stage = stage_of(viewer)
    viewer._stick("ahead", 0.5)
    until(lambda: stage.speed == 1.0)
    viewer._stick("ahead", -1.0)
    until(lambda: stage.speed == -1.0)
    viewer._stick("ahead", 0.0)
    until(lambda: stage.speed == 0.0)
    viewer._stick("turn", 1.0)  # nothing turns here
    viewer._button("left")
    until(lambda: stage.pushes)
    np.testing.assert_allclose(stage.pushes, [[0.0, viewer.impulse, 0.0]], atol=1e-12)
    viewer._button("pause")
    until(lambda: not viewer.clock.pace.playing)
    viewer._button("reset")
    until(lambda: stage.resets == 2)


def test_controls_stay_with_a_newer_model_and_begin_anew_with_another(
    viewer: Viewer,
) -> None:
    first = stage_of(viewer)
    nodes: dict[tuple[str, str], Any] = viewer._panel._nodes
    nodes["Command", "Speed"].value = 1.5
    nodes["Command", "Way"].value = "right"
    until(lambda: (first.speed, first.way) == (1.5, "right"))
    newer = Plain()
    viewer.put_newer(newer)
    until(lambda: (newer.speed, newer.way) == (1.5, "right"))
    assert viewer._panel.values() == {
        ("Command", "Speed"): 1.5,
        ("Command", "Way"): "right",
    }
    other = Plain()
    viewer.put(other)
    until(lambda: viewer.clock.stage is other)
    until(lambda: viewer._panel.values()["Command", "Speed"] == 0.0)
    time.sleep(0.2)  # what is set is told to the stage later
    assert (other.speed, other.way) == (0.0, "left")


def test_a_drag_that_ends_while_the_model_is_replaced_ends_in_the_new_one() -> None:
    viewer = Viewer(open_server(0, "test"), Plain())  # its clock stands
    try:
        newer = Plain()
        viewer.put_newer(newer)
        viewer.dropped()
        viewer.clock._work()
        assert newer.released == 1
    finally:
        viewer.close()


def test_a_stick_let_go_while_the_model_is_replaced_is_not_lost(viewer: Viewer) -> None:
    viewer._stick("ahead", 1.0)
    until(lambda: stage_of(viewer).speed == 2.0)

    class LetGoMeanwhile(Plain):
        def controls(self) -> Mapping[str, Sequence[Control]]:
            viewer._stick("ahead", 0.0)  # the panel before is gone, this one not made
            return super().controls()

    newer = LetGoMeanwhile()
    viewer.put_newer(newer)
    until(lambda: viewer.clock.stage is newer)
    until(lambda: viewer._panel.values()["Command", "Speed"] == 0.0)
    time.sleep(0.2)
    assert viewer._panel.values()["Command", "Speed"] == newer.speed == 0.0


class Hostile(Plain):
    """A name, a note and options as a file of others may have them."""

    title = note = HOSTILE

    def reset(self) -> Snapshot:
        if self.resets:
            raise RuntimeError(HOSTILE)
        return super().reset()

    def controls(self) -> Mapping[str, Sequence[Control]]:
        return {HOSTILE: [Choice("Way", ("left", "a\nb"), "left", self.turn, HOSTILE)]}


def test_texts_of_files_are_sent_as_text(viewer: Viewer) -> None:
    stage = Hostile()
    viewer.put(stage)
    until(lambda: viewer.clock.stage is stage)
    viewer._button("reset")
    until(lambda: "stopped" in viewer._panel._status.content)
    sent = viewer._panel._status.content
    assert sent.count("\\<iframe srcdoc\\=") == 3
    assert sent.count("<") == sent.count("\\<")
    node: Any = viewer._panel._nodes[HOSTILE, "Way"]
    assert node.options == ("left", "a b")
    node.value = "a b"
    until(lambda: stage.way == "a\nb")


def test_windows_set_what_is_offered_and_nothing_else(viewer: Viewer) -> None:
    """Messages as they come over the wire, on the panel of a running viewer."""
    import msgspec
    import viser

    stage, panel, server = stage_of(viewer), viewer._panel, viewer.server
    (speeds,) = (
        one
        for one in server.gui._gui_input_handle_from_uuid.values()
        if one.label == "Speed" and isinstance(one, viser.GuiButtonGroupHandle)
    )
    slider = panel._nodes["Command", "Speed"]
    with connected(server) as window:
        window.send(msgspec.msgpack.encode(CAMERA))

        def update(node: Any, **updates: object) -> None:
            uuid = node._impl.uuid
            message = {"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates}
            window.send(msgspec.msgpack.encode(message))

        update(panel._play, update_cb=[])
        update(speeds, value="infx")
        update(slider, value=np.nan)
        update(speeds, value="2x")
        update(slider, value=1e9)
        update(panel._play, value=True)
        until(lambda: not viewer.clock.pace.playing)
        until(lambda: stage.speed == 2.0)
    assert viewer.clock.pace.speed == 2.0
    assert slider.value == 2.0
    assert viewer.clock.failed is None


def test_only_models_that_are_offered_are_opened(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    said: list[str] = []

    def open_model(name: str) -> Stage:
        opened.append(name)
        return BadStart()

    viewer.models = Models(("walk",), open_model)
    monkeypatch.setattr(viewer, "say", lambda title, body: said.append(body))
    viewer.load("/etc/shadow")
    assert opened == []
    assert said.pop() == "/etc/shadow: is none of the models that are offered"
    before = viewer.clock.stage
    viewer.load("walk")
    assert opened == ["walk"]
    assert said.pop() == "no level"
    assert viewer.clock.stage is before
    assert BadStart.closed == 1


class BadStart(Plain):
    """A stage that begins no episode."""

    closed = 0

    def reset(self) -> Snapshot:
        raise LevelError("no level")

    def close(self) -> None:
        BadStart.closed += 1


def test_clicks_on_instances_that_are_not_there_are_ignored(viewer: Viewer) -> None:
    drawer = viewer._drawer
    places = np.zeros((2, 3))
    drawer._shown["body"] = Instances(
        places, np.ones((2, 4)), np.ones((2, 3)), np.zeros((2, 3), np.uint8)
    )
    assert [drawer.has("body", k) for k in (-1, 0, 1, 2)] == [False, True, True, False]
    assert not drawer.has("gone", 0)
