"""Gamepads: a virtual one of SDL's, pressed and moved through SDL itself."""

import ctypes
import importlib.util
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ambulo.viz.viewer.gamepad import DEAD, Gamepad, live, value_of_stick

OF_A_GAMEPAD = 1
"""SDL_JOYSTICK_TYPE_GAMECONTROLLER."""
OF_A_WHEEL = 2
"""SDL_JOYSTICK_TYPE_WHEEL."""
LEFT_X, LEFT_Y, RIGHT_X = 0, 1, 2
START, UP = 6, 11
"""SDL_CONTROLLER_BUTTON_START and _DPAD_UP."""


@pytest.mark.parametrize(
    ("low", "high", "stick", "value"),
    [
        (-0.2, 1.6, 1.0, 1.6), (-0.2, 1.6, -1.0, -0.2), (-0.2, 1.6, 0.0, 0.0),
        (-120.0, 120.0, 0.5, 60.0), (0.8, 1.6, 0.0, 0.8), (0.8, 1.6, -1.0, 0.8),
        (0.8, 1.6, 0.5, 1.2),
    ],
)  # fmt: skip
def test_value_of_a_stick(low: float, high: float, stick: float, value: float) -> None:
    assert value_of_stick(low, high, stick) == pytest.approx(value)


def test_a_stick_rests_in_its_dead_part() -> None:
    assert live(DEAD) == live(-DEAD) == live(0.0) == 0.0
    assert live(1.0) == 1.0
    assert live(-1.0) == -1.0
    assert live(-1.00003) == -1.0  # the least number of 16 bits
    assert 0.0 < live(DEAD + 0.01) < 0.02


@pytest.fixture
def sdl() -> Any:
    """The library that pygame-ce brings and has loaded."""
    if importlib.util.find_spec("pygame") is None:
        pytest.skip("needs ambulo[gamepad]")
    folder = Path(str(importlib.util.find_spec("pygame").origin)).parents[1]  # type: ignore[union-attr]
    found = sorted((folder / "pygame_ce.libs").glob("libSDL2-2*"))
    if not found:
        pytest.skip("no SDL beside pygame-ce")
    library = ctypes.CDLL(str(found[0]))
    library.SDL_JoystickOpen.restype = ctypes.c_void_p
    return library


class Heard:
    """What a gamepad has told."""

    def __init__(self) -> None:
        self.sticks: list[tuple[str, float]] = []
        self.buttons: list[str] = []
        self.said: list[str] = []


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    pad = Gamepad(
        lambda *moved: heard.sticks.append(moved),
        heard.buttons.append,
        heard.said.append,
    )
    pad.start()
    yield heard
    pad.stop()


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 30.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_gamepad_that_is_plugged_in_is_read(sdl: Any, heard: Heard) -> None:
    until(lambda: sdl.SDL_WasInit(0x2000))  # the controllers
    wheel = sdl.SDL_JoystickAttachVirtual(OF_A_WHEEL, 4, 4, 0)  # is passed over
    device = sdl.SDL_JoystickAttachVirtual(OF_A_GAMEPAD, 6, 15, 0)
    assert device >= 0
    until(lambda: heard.said == ["gamepad connected"])
    assert heard.sticks == []  # at rest
    pad = ctypes.c_void_p(sdl.SDL_JoystickOpen(device))
    sdl.SDL_JoystickSetVirtualAxis(pad, LEFT_Y, ctypes.c_int16(-32768))
    until(lambda: ("ahead", 1.0) in heard.sticks)
    sdl.SDL_JoystickSetVirtualAxis(pad, RIGHT_X, ctypes.c_int16(32767))
    until(lambda: ("turn", -1.0) in heard.sticks)
    sdl.SDL_JoystickSetVirtualAxis(pad, LEFT_X, ctypes.c_int16(-32768))
    until(lambda: ("side", 1.0) in heard.sticks)
    for button in (START, UP, START):
        sdl.SDL_JoystickSetVirtualButton(pad, button, 1)
        time.sleep(0.2)
        sdl.SDL_JoystickSetVirtualButton(pad, button, 0)
        time.sleep(0.2)
    until(lambda: heard.buttons == ["pause", "ahead", "pause"])
    # A lost gamepad lets its sticks go.
    sdl.SDL_JoystickClose(pad)
    sdl.SDL_JoystickDetachVirtual(device)
    until(lambda: heard.said[-1:] == ["gamepad lost"])
    until(lambda: dict(heard.sticks) == {"ahead": 0.0, "turn": 0.0, "side": 0.0})
    sdl.SDL_JoystickDetachVirtual(wheel)
