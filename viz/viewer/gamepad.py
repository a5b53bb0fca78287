"""A gamepad of this machine: its sticks move sliders, its buttons pause, restart and push.

The browser's page has no access to gamepads (viser does not support any), but it runs on the
machine of the server, which reads them through SDL (pygame-ce).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

log = logging.getLogger(__name__)

STICKS = ("ahead", "side", "turn")
"""Axes of the sticks: left stick up, left stick left, right stick left; from -1 to 1."""
BUTTONS = {
    "start": "pause", "b": "reset", "dpad_up": "ahead", "dpad_left": "left",
    "dpad_down": "back", "dpad_right": "right",
}  # fmt: skip
"""Task of a button, by its SDL name."""
DEAD = 0.12
"""Dead zone of a stick, as a fraction of its range."""
_PERIOD = 1.0 / 60.0
_AFTER_FAILURE = 2.0
"""Pause after a failure, [s]: a lasting one must not fill the log."""
_FULL = 32767.0


def value_of_stick(low: float, high: float, stick: float) -> float:
    """Return the value in [low, high] for a stick in [-1, 1]; at rest the one nearest to 0."""
    rest = min(max(0.0, low), high)
    end = high if stick >= 0.0 else low
    return rest + abs(stick) * (end - rest)


def live(stick: float) -> float:
    """Return the deflection beyond the dead zone, in [-1, 1]."""
    beyond = max(0.0, min(abs(stick), 1.0) - DEAD) / (1.0 - DEAD)
    return beyond if stick >= 0.0 else -beyond


class Gamepad:
    """Reads the first gamepad in a thread of its own, even if it is plugged in later."""

    def __init__(
        self,
        moved: Callable[[str, float], object],
        pressed: Callable[[str], object],
        said: Callable[[str], object],
    ) -> None:
        """Create it without reading.

        Args:
            moved: Receives each change of an axis of `STICKS`, in [-1, 1]; its rest once.
            pressed: Receives each pressed button, as a value of `BUTTONS`.
            said: Receives messages about connected and removed gamepads.
        """
        self._moved, self._pressed, self._said = moved, pressed, said
        self._stop = threading.Event()
        self._pad: Any = None
        self._axes = dict.fromkeys(STICKS, 0.0)
        self._down: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="gamepad", daemon=True)

    @staticmethod
    def readable() -> bool:
        """Whether the package that reads gamepads is installed."""
        return importlib.util.find_spec("pygame") is not None

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        # No window, no sound; signals stay with the program; no other window takes the gamepad.
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")
        os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
        os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
        try:
            import pygame
            from pygame._sdl2 import controller

            pygame.display.init()
            controller.init()
        except Exception as error:  # such as an SDL that does not start
            log.warning("gamepads are not read: %s", error)
            return
        while not self._stop.wait(_PERIOD):
            pygame.event.pump()
            try:
                self._read(pygame, controller)
            except Exception:  # an error of a button's task must not end the reading
                log.exception("a gamepad's input failed")
                self._stop.wait(_AFTER_FAILURE)
        controller.quit()
        pygame.display.quit()

    def _read(self, pygame: Any, controller: Any) -> None:
        """Report changes since the last reading."""
        if self._pad is not None and not self._pad.attached():
            self._pad = None
            self._said("gamepad lost")
        if self._pad is None:
            for name in STICKS:
                self._move(name, 0.0)
            # Joysticks and steering wheels are counted, too, but are no gamepads.
            found = filter(controller.is_controller, range(controller.get_count()))
            first = next(found, None)
            if first is None:
                return
            self._pad = controller.Controller(first)
            self._said("gamepad connected")
        axis = self._pad.get_axis
        self._move("ahead", -axis(pygame.CONTROLLER_AXIS_LEFTY) / _FULL)
        self._move("side", -axis(pygame.CONTROLLER_AXIS_LEFTX) / _FULL)
        self._move("turn", -axis(pygame.CONTROLLER_AXIS_RIGHTX) / _FULL)
        for name, task in BUTTONS.items():
            number = getattr(pygame, f"CONTROLLER_BUTTON_{name.upper()}")
            if not self._pad.get_button(number):
                self._down.discard(name)
            elif name not in self._down:
                self._down.add(name)
                self._pressed(task)

    def _move(self, name: str, stick: float) -> None:
        value = live(stick)
        if value != self._axes[name]:
            self._axes[name] = value
            self._moved(name, value)
