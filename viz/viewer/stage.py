"""The interface of a viewer's content: it steps and can be drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ambulo.configs.arrays import Floats
from ambulo.viz.viewer.snapshot import Layer, Snapshot

Post = Callable[[Callable[[], object]], None]
"""Runs a function in the thread that steps, between two steps."""

WriteFilm = Callable[[Path], object]
"""Writes a film of its copied history, in any thread; raises `RenderError`."""


@dataclass(frozen=True)
class Slider:
    """A number of the stage that can be changed while it runs."""

    label: str
    low: float
    high: float
    value: float
    step: float
    change: Callable[[float], object]
    """Called in the stepping thread."""
    hint: str = ""
    stick: str = ""
    """The axis of a gamepad that moves it, of `gamepad.STICKS`; empty: none."""


@dataclass(frozen=True)
class Choice:
    """One of several options of the stage that can be changed while it runs."""

    label: str
    options: tuple[str, ...]
    value: str
    change: Callable[[str], object]
    """Called in the stepping thread."""
    hint: str = ""


@dataclass(frozen=True)
class Switch:
    """An option of the stage that is on or off."""

    label: str
    value: bool
    change: Callable[[bool], object]
    """Called in the stepping thread."""
    hint: str = ""


@dataclass(frozen=True)
class Press:
    """An action of the stage."""

    label: str
    press: Callable[[], object]
    """Called in the stepping thread."""
    hint: str = ""


Control = Slider | Choice | Switch | Press


@dataclass(frozen=True)
class Gizmo:
    """A draggable point of the scene."""

    name: str
    place: Callable[[], Floats]
    """Its present position, [m]. Shape (3,)."""
    move: Callable[[Floats], object]
    """Called in the stepping thread, with a new position (3,), [m]."""
    axes: tuple[bool, bool, bool] = (True, True, True)
    """Axes along which it moves."""
    scale: float = 0.3
    """Its size, [m]."""


@dataclass(frozen=True, eq=False)
class Click:
    """A click on an instance of a layer."""

    layer: str
    """Name of the layer."""
    instance: int
    """Row of the instance."""
    direction: Floats
    """Unit vector from the camera to the clicked point. Shape (3,)."""
    impulse: float
    """Size of a push, [N s]."""


@dataclass(frozen=True, eq=False)
class Drag:
    """A drag of an instance of a layer."""

    layer: str
    """Name of the layer."""
    instance: int
    """Row of the instance."""
    start: Floats
    """Present drawn position of the held point, [m]. Shape (3,)."""
    end: Floats
    """The pointer, in the plane through the first `start` that faces the camera, [m]. Shape
    (3,)."""
    eye: Floats
    """Position of the camera, [m]. Shape (3,)."""


@dataclass(frozen=True)
class Plot:
    """A plot against time of the numbers `NAME/series` of snapshots."""

    name: str
    title: str
    series: tuple[str, ...]


class Stage(Protocol):
    """Content of a viewer; all methods except `__init__` are called from one thread."""

    title: str
    """A title line."""
    dt: float
    """Duration of a step, [s]."""
    reach: float
    """Initial distance of the camera, [m]."""
    view: tuple[float, float, float]
    """Direction from the target to the camera."""
    hidden: frozenset[str]
    """Groups of layers (first parts of their names) that are hidden at first."""
    pushable: bool
    """Whether `push` has an effect."""
    note: str
    """A line on the effect of clicks; empty: none."""

    @property
    def layers(self) -> Mapping[str, Layer]:
        """Layers of the snapshots, by name; a stage may add some."""

    def reset(self) -> Snapshot:
        """Begin a new episode."""

    def step(self) -> Snapshot:
        """Make one step; a finished episode restarts."""

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Return the stage's own controls, by the name of their folder."""

    def gizmos(self) -> Sequence[Gizmo]:
        """Return the draggable points of the scene."""

    def plots(self) -> Sequence[Plot]:
        """Return the plots."""

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        """Push a body by an impulse (3,), [N s]; ignored without a body."""

    def click(self, click: Click) -> None:
        """Handle a click on one of the clickable layers."""

    def drag(self, drag: Drag) -> None:
        """Handle the start or the next move of a drag of one of these layers."""

    def let_go(self) -> None:
        """Handle the end of a drag, even without one."""

    def film(self) -> WriteFilm | None:
        """Return a function that writes a film of the latest seconds; None: no film."""

    def close(self) -> None:
        """Free the stage's resources."""


class PlainStage:
    """Defaults of a stage without controls, gizmos, plots, pushes and films."""

    reach = 5.0
    view = (0.75, -0.6, 0.32)
    hidden: frozenset[str] = frozenset()
    pushable = False
    note = ""

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Return no controls."""
        return {}

    def gizmos(self) -> Sequence[Gizmo]:
        """Return no gizmos."""
        return ()

    def plots(self) -> Sequence[Plot]:
        """Return no plots."""
        return ()

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        """Do nothing."""

    def click(self, click: Click) -> None:
        """Do nothing."""

    def drag(self, drag: Drag) -> None:
        """Do nothing."""

    def let_go(self) -> None:
        """Do nothing."""

    def film(self) -> WriteFilm | None:
        """Return None: no film."""
        return None

    def close(self) -> None:
        """Do nothing."""


def numbers(prefix: str, values: Mapping[str, Any]) -> dict[str, float]:
    """Return values as `prefix/name`, for `Snapshot.values`."""
    return {f"{prefix}/{name}": float(value) for name, value in values.items()}
