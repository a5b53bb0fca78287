"""The panel of a viewer: time, pushes, layers, the stage's own controls, plots."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ambulo.configs.errors import AmbuloError
from ambulo.viz.viewer.clock import Clock
from ambulo.viz.viewer.curves import CurvePlots, ReadCurves
from ambulo.viz.viewer.gamepad import value_of_stick
from ambulo.viz.viewer.messages import MessageError, offered
from ambulo.viz.viewer.plots import LivePlots
from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import Choice, Control, Press, Slider, Stage, Switch
from ambulo.viz.viewer.widgets import Widgets, markdown, plain

log = logging.getLogger(__name__)

SPEEDS = {"0.1x": 0.1, "0.25x": 0.25, "0.5x": 0.5, "1x": 1.0, "2x": 2.0}
"""Speeds of time, in simulated seconds per second, by label."""
DIRECTIONS = {"ahead": 0.0, "left": 90.0, "back": 180.0, "right": -90.0}
"""Directions of the push button, from the X axis, [deg]."""
STATUS_FRAMES = 15
"""Frames between updates of the status line."""


@dataclass(frozen=True)
class Models:
    """Models that can be loaded."""

    names: Sequence[str]
    open: Callable[[str], Stage]
    """Makes the stage of a model; raises `AmbuloError`."""


class Host(Protocol):
    """Interface of the panel's host; see `Viewer`."""

    server: Any
    clock: Clock
    models: Models | None
    curves: ReadCurves | None
    impulse: float
    follow: bool

    def load(self, name: str) -> None:
        """Show another model."""

    def say(self, title: str, body: str) -> None:
        """Show a message in all windows."""

    def show_layers(self, group: str, visible: bool) -> None:
        """Show or hide the layers of a group."""


class Panel:
    """The controls of one stage; recreated when another is loaded."""

    def __init__(self, viewer: Host) -> None:
        """Build all folders."""
        self._viewer, self._clock = viewer, viewer.clock
        self._gui = Widgets(viewer.server.gui)
        self._tops: list[Any] = []
        self._frame = 0
        self._set_by_us = False
        self._nodes: dict[tuple[str, str], Any] = {}
        self._sticks: dict[str, list[tuple[Slider, Any]]] = {}
        stage = viewer.clock.stage
        self._status = self._top(
            self._gui.add_markdown("**{title}**", title=stage.title)
        )
        self._curves: CurvePlots | None = None
        if viewer.curves is not None:
            self._curves = CurvePlots(self._gui, viewer.curves)
            self._top(self._curves.folder)
        self._add_time()
        for name, controls in stage.controls().items():
            with self._top(self._gui.add_folder(name)):
                for control in controls:
                    self._add(name, control)
        self._add_scene()
        plots = stage.plots()
        with self._top(self._gui.add_folder("Plots", visible=bool(plots))):
            self._plots = LivePlots(self._gui, plots)
        self._add_files()

    def remove(self) -> None:
        """Remove all controls from the windows."""
        for node in self._tops:
            node.remove()

    def values(self) -> dict[tuple[str, str], Any]:
        """Values of the stage's own controls, by folder and label."""
        return {name: node.value for name, node in self._nodes.items()}

    def restore(self, values: Mapping[tuple[str, str], Any]) -> None:
        """Set controls to the values of others of the same names, if they offer them."""
        for name in self._nodes.keys() & values.keys():
            node = self._nodes[name]
            with contextlib.suppress(MessageError):
                value = offered(node, values[name])
                if node.value != value:
                    node.value = value

    def stick(self, name: str, value: float) -> None:
        """Set the sliders of a gamepad's axis to `value` in [-1, 1]."""
        for slider, node in self._sticks.get(name, ()):
            node.value = value_of_stick(slider.low, slider.high, value)

    def button(self, task: str) -> None:
        """Run the task of a gamepad's button, a value of `gamepad.BUTTONS`."""
        if task in DIRECTIONS:
            self._push(task)
        elif task == "reset":
            self._clock.post(self._clock.reset)
        else:
            self._clock.post(lambda: self._clock.play(not self._clock.pace.playing))

    def update(self, snapshot: Snapshot) -> None:
        """Show the numbers of a snapshot."""
        self._plots.update(self._clock.history, snapshot)
        if self._curves is not None:
            self._curves.update()
        self._frame += 1
        if self._frame % STATUS_FRAMES:
            return
        self._write_status(snapshot)
        pace, steps = self._clock.pace, len(self._clock.history) - 1
        self._set_by_us = True
        label = "Pause" if pace.playing else "Play"
        if self._play.label != label:
            self._play.label = label
        back = pace.looking_back or 0
        ago = -back * self._clock.stage.dt
        least = -float(max(1, np.ceil(steps * self._clock.stage.dt)))
        if self._scrub.min != least:
            self._scrub.min = least
        if pace.playing and self._scrub.value != ago:
            self._scrub.value = ago
        self._set_by_us = False

    def _write_status(self, snapshot: Snapshot) -> None:
        clock = self._clock
        pattern = "**{title}**  \nt = {time:.1f} s"
        if clock.stage.note:
            pattern += "  \n{note}"
        if clock.failed is not None:
            pattern += "  \n**stopped:** {error}"
        elif clock.pace.playing and clock.real_time < 0.9:
            pattern += ", slowed to {real_time:.0%}: this machine is too slow"
        text = markdown(
            pattern, title=clock.stage.title, time=snapshot.time, note=clock.stage.note,
            error=str(clock.failed), real_time=clock.real_time,
        )  # fmt: skip
        if self._status.content != text:
            self._status.content = text

    def _top(self, node: Any) -> Any:
        self._tops.append(node)
        return node

    def _add_time(self) -> None:
        gui, clock = self._gui, self._clock
        with self._top(gui.add_folder("Time")):
            self._play = gui.add_button("Pause", hint="Key P")
            step = gui.add_button("Step", hint="Pause, and go on by one step (key N)")
            reset = gui.add_button("Reset", hint="Begin a new episode (key R)")
            speed = gui.add_button_group("Speed", tuple(SPEEDS))
            self._scrub = gui.add_slider(
                "Look back [s]", min=-60.0, max=0.0, step=0.01, initial_value=0.0,
                hint="Pause, and show what was",
            )  # fmt: skip

        def toggle() -> None:
            clock.play(not clock.pace.playing)

        for button, key, task in (
            (self._play, "P", toggle),
            (step, "N", clock.single_step),
            (reset, "R", clock.reset),
        ):
            self._on_press(button, key, task)

        @speed.on_click
        def _(_: Any) -> None:
            factor = SPEEDS[speed.value]
            clock.post(lambda: setattr(clock.pace, "speed", factor))

        @self._scrub.on_update
        def _(event: Any) -> None:
            if event.client is not None and not self._set_by_us:
                steps = round(-self._scrub.value / clock.stage.dt)
                clock.post(lambda: clock.look_back(steps))

    def _on_press(self, button: Any, key: str, task: Callable[[], object]) -> None:
        """Run `task` in the clock's thread on a click, or on a key."""
        button.on_click(lambda _: self._clock.post(task))
        command = self._top(self._gui.add_command(button.label, hotkey=key))
        command.on_trigger(lambda _: self._clock.post(task))

    def _add(self, folder: str, control: Control) -> None:
        """Add one of the stage's own controls."""
        gui, hint = self._gui, control.hint or None
        if isinstance(control, Press):
            node = gui.add_button(control.label, hint=hint)
            node.on_click(lambda _: self._clock.post(control.press))
            return
        if isinstance(control, Slider):
            node = gui.add_slider(
                control.label, min=control.low, max=control.high, step=control.step,
                initial_value=control.value, hint=hint,
            )  # fmt: skip
            self._sticks.setdefault(control.stick, []).append((control, node))
        elif isinstance(control, Switch):
            node = gui.add_checkbox(control.label, control.value, hint=hint)
        else:
            assert isinstance(control, Choice)
            node = gui.add_dropdown(
                control.label, control.options, initial_value=control.value, hint=hint
            )
        change = _change(control)
        node.on_update(lambda _: self._clock.post(lambda: change(node.value)))
        self._nodes[folder, control.label] = node

    def _add_scene(self) -> None:
        gui, viewer = self._gui, self._viewer
        layers = self._clock.stage.layers
        groups = list(dict.fromkeys(name.split("/")[0] for name in layers))
        with self._top(gui.add_folder("Scene", expand_by_default=False)):
            follow = gui.add_checkbox("Camera follows", viewer.follow)
            follow.on_update(lambda _: setattr(viewer, "follow", bool(follow.value)))
            for group in groups:
                self._add_visibility(group)
        if not self._clock.stage.pushable:
            return
        with self._top(gui.add_folder("Push")):
            gui.add_markdown(
                "Click on a body to push it away from you; drag it to pull."
            )
            size = gui.add_slider(
                "Impulse [N s]",
                min=0.0,
                max=100.0,
                step=5.0,
                initial_value=viewer.impulse,
            )
            size.on_update(lambda _: setattr(viewer, "impulse", float(size.value)))
            where = gui.add_button_group("Push", tuple(DIRECTIONS))
            where.on_click(lambda _: self._push(where.value))

    def _add_visibility(self, group: str) -> None:
        shown = self._gui.add_checkbox(
            f"Show {group.replace('_', ' ')}", group not in self._clock.stage.hidden
        )
        shown.on_update(lambda _: self._viewer.show_layers(group, bool(shown.value)))

    def _push(self, where: str) -> None:
        """Push the trunk of the first body, in a direction of the world."""
        angle = np.deg2rad(DIRECTIONS[where])
        impulse = self._viewer.impulse * np.array([np.cos(angle), np.sin(angle), 0.0])
        self._clock.post(lambda: self._clock.stage.push(0, 0, impulse))

    def _add_files(self) -> None:
        gui, viewer = self._gui, self._viewer
        with self._top(gui.add_folder("Model and film", expand_by_default=False)):
            if viewer.models is not None:
                names = tuple(viewer.models.names)
                chosen = gui.add_dropdown("Model", names)
                load = gui.add_button("Load model")
                load.on_click(lambda _: viewer.load(chosen.value))
            film = gui.add_button("Record film", hint="Film of the last 10 seconds")

        @film.on_click
        def _(event: Any) -> None:
            self._clock.post(lambda: self._film(event.client))

    def _film(self, client: Any) -> None:
        """Film the latest seconds, and send it to the requesting window.

        The stage has copied its history, so the clock continues while the film is drawn.
        """
        write = self._clock.stage.film()
        if write is None:
            self._viewer.say("No film", "films are of walkers, trackers and gaits")
            return

        def draw() -> None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "ambulo.mp4"
                try:
                    write(path)
                except AmbuloError as error:
                    self._viewer.say("No film", str(error))
                    return
                if client is not None:
                    client.send_file_download(path.name, path.read_bytes())

        threading.Thread(target=draw, name="viewer film", daemon=True).start()


def _change(control: Slider | Switch | Choice) -> Callable[[Any], object]:
    """Return the callback for the value of a control's widget."""
    if not isinstance(control, Choice):
        change: Callable[[Any], object] = control.change
        return change
    options, choose = {plain(one): one for one in control.options}, control.change
    return lambda shown: choose(options[shown])
