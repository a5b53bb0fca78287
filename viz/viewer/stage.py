"""The interface of what a viewer shows: something that steps and can be drawn."""

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
"""Writes a film of what it has copied, in any thread; raises `RenderError`."""


@dataclass(frozen=True)
class Slider:
    """A number that the stage takes while it runs."""

    label: str
    low: float
    high: float
    value: float
    step: float
    change: Callable[[float], object]
    """Called in the thread that steps."""
    hint: str = ""
    stick: str = ""
    """The axis of a gamepad that moves it, of `gamepad.STICKS`; empty: none."""


@dataclass(frozen=True)
class Choice:
    """One of several options that the stage takes while it runs."""

    label: str
    options: tuple[str, ...]
    value: str
    change: Callable[[str], object]
    """Called in the thread that steps."""
    hint: str = ""


@dataclass(frozen=True)
class Switch:
    """Something of the stage that is on or off."""

    label: str
    value: bool
    change: Callable[[bool], object]
    """Called in the thread that steps."""
    hint: str = ""


@dataclass(frozen=True)
class Press:
    """Something that the stage does once."""

    label: str
    press: Callable[[], object]
    """Called in the thread that steps."""
    hint: str = ""


Control = Slider | Choice | Switch | Press


@dataclass(frozen=True)
class Gizmo:
    """A point of the scene that is dragged."""

    name: str
    place: Callable[[], Floats]
    """Where it is now, [m]. Shape (3,)."""
    move: Callable[[Floats], object]
    """Called in the thread that steps, with a new place (3,), [m]."""
    axes: tuple[bool, bool, bool] = (True, True, True)
    """Along which axes it moves."""
    scale: float = 0.3
    """[m]."""


@dataclass(frozen=True, eq=False)
class Click:
    """A click on an instance of a layer."""

    layer: str
    """Name of the layer."""
    instance: int
    """Row of the instance."""
    direction: Floats
    """Unit vector from the camera to what was clicked. Shape (3,)."""
    impulse: float
    """Size of a push, [N s]."""


@dataclass(frozen=True, eq=False)
class Drag:
    """An instance of a layer that the mouse holds."""

    layer: str
    """Name of the layer."""
    instance: int
    """Row of the instance."""
    start: Floats
    """Where the point of it that is held is drawn now, [m]. Shape (3,)."""
    end: Floats
    """The pointer, in the plane of the first `start` that faces the camera, [m]. Shape (3,)."""
    eye: Floats
    """The camera, [m]. Shape (3,)."""


@dataclass(frozen=True)
class Plot:
    """A plot against time of the numbers `NAME/series` of snapshots."""

    name: str
    title: str
    series: tuple[str, ...]


class Stage(Protocol):
    """What is shown; all methods but `__init__` are called from one thread."""

    title: str
    """A line that says what is shown."""
    dt: float
    """Duration of a step, [s]."""
    reach: float
    """Distance of the camera at the start, [m]."""
    view: tuple[float, float, float]
    """Direction from what the camera looks at to the camera."""
    hidden: frozenset[str]
    """Groups of layers (first parts of their names) that are not shown at first."""
    pushable: bool
    """Whether `push` pushes."""
    note: str
    """A line on what clicks do; empty: nothing."""

    @property
    def layers(self) -> Mapping[str, Layer]:
        """What snapshots are made of, by name; a stage may add some."""

    def reset(self) -> Snapshot:
        """Begin a new episode."""

    def step(self) -> Snapshot:
        """Go on by one step; a finished episode begins anew."""

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """Return the stage's own controls, by the name of their folder."""

    def gizmos(self) -> Sequence[Gizmo]:
        """Return what is dragged in the scene."""

    def plots(self) -> Sequence[Plot]:
        """Return the plots."""

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        """Push a body by an impulse (3,), [N s]; ignored where there is nothing to push."""

    def click(self, click: Click) -> None:
        """Take a click on one of the layers that are clickable."""

    def drag(self, drag: Drag) -> None:
        """Take the start or the next move of a drag of one of these layers."""

    def let_go(self) -> None:
        """Take the end of a drag; also where none was begun."""

    def film(self) -> WriteFilm | None:
        """Return what writes a film of the latest seconds; None: it cannot be filmed."""

    def close(self) -> None:
        """Free what the stage holds."""


class PlainStage:
    """Defaults of a stage without controls, gizmos, plots, pushes and films."""

    reach = 5.0
    view = (0.75, -0.6, 0.32)
    hidden: frozenset[str] = frozenset()
    pushable = False
    note = ""

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """No controls."""
        return {}

    def gizmos(self) -> Sequence[Gizmo]:
        """No gizmos."""
        return ()

    def plots(self) -> Sequence[Plot]:
        """No plots."""
        return ()

    def push(self, copy: int, body: int, impulse: Floats) -> None:
        """Nothing to push."""

    def click(self, click: Click) -> None:
        """Nothing to click on."""

    def drag(self, drag: Drag) -> None:
        """Nothing to drag."""

    def let_go(self) -> None:
        """Nothing is held."""

    def film(self) -> WriteFilm | None:
        """No film."""
        return None

    def close(self) -> None:
        """Nothing to free."""


def numbers(prefix: str, values: Mapping[str, Any]) -> dict[str, float]:
    """Return values as `prefix/name`, for `Snapshot.values`."""
    return {f"{prefix}/{name}": float(value) for name, value in values.items()}
