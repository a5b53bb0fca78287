"""The viewer: one stage in all windows of a server, with its controls."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ModelFileError
from ambulo.viz.viewer.clock import Clock
from ambulo.viz.viewer.curves import ReadCurves
from ambulo.viz.viewer.drawing import ROOT, SceneDrawer
from ambulo.viz.viewer.gamepad import Gamepad
from ambulo.viz.viewer.panel import Models, Panel
from ambulo.viz.viewer.snapshot import Snapshot
from ambulo.viz.viewer.stage import Click, Drag, Gizmo, Stage
from ambulo.viz.viewer.widgets import plain
from ambulo.viz.viewer.window import stop_server

log = logging.getLogger(__name__)

Values = Mapping[tuple[str, str], Any]
FIELD_OF_VIEW = 0.8
"""Initial vertical field of view of the camera, [rad]."""


class Viewer:
    """Shows a stage on a server until it is closed."""

    def __init__(
        self,
        server: Any,
        stage: Stage,
        models: Models | None = None,
        curves: ReadCurves | None = None,
        *,
        rests: bool = False,
    ) -> None:
        """A paused viewer; `start` runs it.

        Args:
            server: A `viser.ViserServer`.
            stage: Content to show.
            models: Models that can be loaded instead.
            curves: Learning curves to show, too.
            rests: Whether the clock pauses while no window is open.
        """
        self.server, self.models, self.curves = server, models, curves
        needed = (lambda: bool(server.get_clients())) if rests else (lambda: True)
        self.clock = Clock(stage, self._show, needed, self._say_error)
        self.impulse = 20.0
        """Size of a push with the mouse, [N s]."""
        self.follow = True
        _add_ground(server)
        self._gamepad: Gamepad | None = None
        self._drawer: SceneDrawer
        self._panel: Panel
        self._gizmos: list[tuple[Gizmo, Any]] = []
        self._held: set[str] = set()
        self._build()

    def start(self) -> None:
        """Start the clock, and read gamepads if pygame-ce is installed."""
        self.clock.start()
        if Gamepad.readable():
            self._gamepad = Gamepad(
                self._stick, self._button, lambda text: self.say("Gamepad", text)
            )
            self._gamepad.start()

    def close(self) -> None:
        """Stop the clock and the server."""
        if self._gamepad is not None:
            self._gamepad.stop()
        self.clock.stop()
        stop_server(self.server)

    def load(self, name: str) -> None:
        """Show another model; failures are shown in all windows."""
        assert self.models is not None
        try:
            if name not in self.models.names:
                raise ModelFileError(f"{name}: is none of the models that are offered")
            self.put(self.models.open(name))
        except Exception as error:  # shown, not raised: the windows continue
            log.warning("%s: %s", name, error)
            self.say("Cannot show this model", str(error))

    def put(self, stage: Stage) -> None:
        """Show another stage once its first episode has begun, in the caller's thread."""
        first = _begin(stage)
        self.clock.post(lambda: self._swap(stage, first))

    def put_newer(self, stage: Stage) -> None:
        """Show a newer version of the stage, with the present values of the controls."""
        first = _begin(stage)
        self.clock.post(lambda: self._swap(stage, first, self._panel.values()))

    def say(self, title: str, body: str) -> None:
        """Show a message in all windows."""
        title, body = plain(title), plain(body)
        for client in self.server.get_clients().values():
            client.add_notification(title, body, auto_close_seconds=8.0)

    def _say_error(self, error: Exception) -> None:
        """Show the error of a control."""
        self.say("This failed", str(error))

    def _swap(
        self, stage: Stage, first: Snapshot, values: Values | None = None
    ) -> None:
        """Replace the stage, and set its controls to `values`, in the clock's thread."""
        before = self.clock.stage
        self._clear()
        self.clock.put(stage, first)
        self._build()
        self._panel.restore(values or {})
        if (stage.view, stage.reach) != (before.view, before.reach):
            self._look_again()

    def _look_again(self) -> None:
        """Move the cameras of open windows to the initial view."""
        first = self.server.initial_camera
        for client in self.server.get_clients().values():
            with client.atomic():
                client.camera.position = first.position
                client.camera.look_at = first.look_at
                client.camera.fov = FIELD_OF_VIEW

    def _build(self) -> None:
        stage = self.clock.stage
        self._drawer = SceneDrawer(self.server, stage.layers, self)
        for group in stage.hidden:
            self._drawer.show(group, False)
        snapshot = self.clock.seen()
        self._drawer.draw(snapshot, follow=self.follow)
        camera = self.server.initial_camera
        camera.position = np.array(stage.view) * stage.reach + [0.0, 0.0, 0.6]
        camera.look_at = (0.0, 0.0, 0.9)
        camera.fov = FIELD_OF_VIEW
        for gizmo in stage.gizmos():
            self._add_gizmo(gizmo)
        self._panel = Panel(self)

    def _clear(self) -> None:
        self._panel.remove()
        for _, node in self._gizmos:
            node.remove()
        self._gizmos.clear()
        self._held.clear()
        self._drawer.remove()

    def show_layers(self, group: str, visible: bool) -> None:
        """Show or hide the layers of a group, from the next frame on."""
        self.clock.post(lambda: self._drawer.show(group, visible))

    def _show(self, snapshot: Snapshot) -> None:
        """Show a snapshot in all windows; called 60 times a second by the clock."""
        self._drawer.draw(snapshot, follow=self.follow)
        for gizmo, node in self._gizmos:
            if gizmo.name not in self._held:
                place = gizmo.place()
                if not np.allclose(place, node.position, atol=1e-4):
                    node.position = place
        self._panel.update(snapshot)
        # Otherwise viser waits for more messages, and sends fewer frames than it gets.
        self.server.flush()

    def _add_gizmo(self, gizmo: Gizmo) -> None:
        free = gizmo.axes
        planes = not all(free)
        node = self.server.scene.add_transform_controls(
            f"{ROOT}/{gizmo.name}", scale=gizmo.scale, active_axes=free,
            disable_rotations=True, disable_sliders=planes and sum(free) < 2,
            depth_test=False, position=gizmo.place(),
        )  # fmt: skip

        @node.on_update
        async def _(event: Any) -> None:
            if event.phase == "end":
                self._held.discard(gizmo.name)
                return
            self._held.add(gizmo.name)
            place = np.array(node.position)
            self.clock.post(lambda: gizmo.move(place))

        self._gizmos.append((gizmo, node))

    def _stick(self, name: str, value: float) -> None:
        """Forward a gamepad's axis to the panel that is shown when it is processed."""
        self.clock.post(lambda: self._panel.stick(name, value))

    def _button(self, task: str) -> None:
        """Forward a gamepad's button to the panel that is shown when it is processed."""
        self.clock.post(lambda: self._panel.button(task))

    def clicked(self, layer: str, instance: int, direction: Floats) -> None:
        """Forward a click to the stage; called by the scene."""
        click = Click(layer, instance, direction, self.impulse)

        def act() -> None:
            if self._drawer.has(layer, instance):
                self.clock.stage.click(click)

        self.clock.post(act)

    def dragged(self, drag: Drag) -> None:
        """Forward the start or the next move of a drag to the stage; called by the scene."""

        def act() -> None:
            if self._drawer.has(drag.layer, drag.instance):
                self.clock.stage.drag(drag)

        self.clock.post(act)

    def dropped(self) -> None:
        """Forward the end of a drag to the stage; called by the scene.

        Also when the dragging window is closed, or the dragged object removed.
        """

        def let_go() -> None:  # of the stage that is shown when it is processed
            self.clock.stage.let_go()

        self.clock.post(let_go)


def _begin(stage: Stage) -> Snapshot:
    """Begin a stage's first episode; closes the stage if that fails."""
    try:
        return stage.reset()
    except Exception:
        stage.close()
        raise


def _add_ground(server: Any) -> None:
    """A level floor with a grid, and light."""
    server.scene.add_grid(
        f"{ROOT}_grid", infinite_grid=True, cell_size=0.5, section_size=1.0,
        cell_color=(205, 210, 218), section_color=(170, 178, 190), shadow_opacity=0.25,
        fade_distance=40.0, plane_color=(238, 240, 243), plane_opacity=1.0,
    )  # fmt: skip
