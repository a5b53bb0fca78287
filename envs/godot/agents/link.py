"""The link to one engine that plays a game: its spec, its steps, and what its scripts break."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.cores import usable_cores
from ambulo.configs.errors import ConfigError
from ambulo.envs.godot.agents.spec import GameSpec, Rows, info_names
from ambulo.envs.godot.agents.wire import Restarts, StepReply, message, parse_reply
from ambulo.envs.godot.engine import MAIN_SCENE, EngineProcess
from ambulo.envs.godot.engine_link import EngineLink
from ambulo.envs.godot.errors import BadStatus, Closed, Malformed, Rejected
from ambulo.envs.godot.locate import find_drawing_engine, is_program
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import BINARY, Response

log = logging.getLogger(__name__)

SPIN = 1000
"""How long an engine that has a core beside the trainer awaits a step without sleep, [us]."""
STEADY = 100
"""Steps without a fault after which earlier faults of an engine count no more: a game that
fails again after a few steps cannot be trained."""
PICTURE = "/debug/screenshot"
TICKS_PER_SECOND = 60
"""Physics ticks per second of a project that does not say."""
_TICKS = re.compile(r"^common/physics_ticks_per_second\s*=\s*(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class GameSettings(BridgeSettings):
    """A game and how it is stepped; `scene` None is the one that the project starts with."""

    action_repeat: int | None = None
    """Physics ticks of a step; None: as the scene says, or 8."""
    speed_up: int | None = None
    """Physics ticks of a frame of the game; None: as the scene says, or 1."""
    headless: bool = True
    """Draw nothing; cameras of agents and pictures need an engine that draws."""
    strict: bool | None = None
    """Whether an error in any script ends the game; else it is logged. None: unless the agents
    follow the contract of godot-rl."""

    def __post_init__(self) -> None:
        """Raise `ConfigError` for a number that the engine would refuse."""
        for name, most in (("action_repeat", 1000), ("speed_up", 100)):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and 1 <= value <= most):
                raise ConfigError(
                    f"{name} = {value!r}: must be a whole number from 1 to {most}"
                )


class GameLink(EngineLink):
    """One engine with all agents of a scene; `open` does not reset them."""

    _settings: GameSettings

    def __init__(self, number: int, settings: GameSettings, log_folder: Path) -> None:
        """A link that is not yet open; see `EngineLink`."""
        super().__init__(number, settings, log_folder)
        self.spec: GameSpec | None = None
        self.infos: list[list[str]] = []
        """Names of the infos of each kind."""
        self.lost = False
        """Whether the engine broke down and its agents have not been reset since."""
        self._errors = self._steps = 0
        self._modes = np.zeros(0, np.int32)
        """Modes of the agents, in the request that was sent."""

    def note_step(self) -> None:
        """Count a step without a fault."""
        self._steps += 1
        if self._steps >= STEADY:
            self.failures = 0

    def picture(self) -> bytes:
        """The frame that was drawn last, a PNG file.

        Raises:
            BridgeError: the engine draws nothing, or has broken down.
        """
        if self._connection is None:
            raise Closed(f"{self.name} has broken down: reset its agents first")
        try:
            return self._connection.request("GET", PICTURE).checked().body
        except BadStatus as error:
            raise Rejected(f"{self.name}: {error.said}") from None

    def _start(self) -> EngineProcess:
        settings = self._settings
        draws = not settings.headless and not is_program(self._project)
        return EngineProcess(
            find_drawing_engine(settings.binary) if draws else self._binary,
            self._project,
            self.log_file,
            game=settings.scene or MAIN_SCENE,
            seed=self.number,
            spin=SPIN if self.number < usable_cores() - 1 else 0,
            headless=settings.headless,
            frames=ticks_per_second(self._project),
        )

    def _configure(self) -> None:
        settings = self._settings
        body = {"action_repeat": settings.action_repeat, "speed_up": settings.speed_up}
        try:
            reply = self._ask("/agents/spec", json.dumps(body).encode()).checked()
        except BadStatus as error:
            if error.status >= 500:
                raise
            raise Rejected(f"{self.name}: {error.said}") from None
        answer = reply.json()
        spec = GameSpec.from_answer(answer)
        if self.spec is not None and spec != self.spec:
            raise Rejected(
                f"{self.name}: its agents are others than before the restart"
            )
        self.spec, self.infos = spec, info_names(answer)
        self._errors = self._steps = 0
        self._heed_errors(answer)

    def send(self, path: str, pairs: Restarts, actions: Sequence[Rows] = ()) -> None:
        """Send a reset or a step of all agents; `receive` must follow."""
        if self._connection is None:
            raise Malformed("the link to the engine is not open")
        self._modes = pairs[:, 0]
        body = message(pairs, actions)
        self._connection.send("POST", path, body, content_type=BINARY, accept=BINARY)

    def receive(self) -> StepReply:
        """The answer.

        Raises:
            Rejected: an agent or a script breaks a rule.
        """
        assert self._connection is not None
        assert self.spec is not None
        response: Response = self._connection.receive()
        try:
            reply = self._parsed(response)
            if reply is None:  # there are new infos
                answer = (
                    self._connection.request("GET", "/agents/spec").checked().json()
                )
                self.infos = info_names(answer)
                reply = self._parsed(response)
        except BadStatus as error:
            if error.status >= 500:
                raise
            raise Rejected(f"scene {self.spec.scene}: {error.said}") from None
        if reply is None:
            raise Malformed("/agents/step: infos change all the time")
        if reply.script_errors != self._errors:
            answer = self._connection.request("GET", "/agents/spec").checked().json()
            self._heed_errors(answer)
        return reply

    def _parsed(self, response: Response) -> StepReply | None:
        assert self.spec is not None
        counts = [len(names) for names in self.infos]
        return parse_reply(response, self.spec, counts, self._modes)

    def _heed_errors(self, answer: dict[str, Any]) -> None:
        """Raise or log the first error of the game's scripts, if there is a new one."""
        assert self.spec is not None
        first = not self._errors
        self._errors = int(answer.get("script_errors", 0))
        if not self._errors:
            return
        text = f"scene {self.spec.scene}: a script fails: {answer.get('script_error')}"
        strict = self._settings.strict
        if strict or (strict is None and not self.spec.godot_rl):
            raise Rejected(text)
        if first:
            log.warning("%s: %s", self.name, text)


def ticks_per_second(project: Path) -> int:
    """Physics ticks per second in the settings of a project."""
    if project.is_file():
        return TICKS_PER_SECOND
    text = (project / "project.godot").read_text(encoding="utf-8", errors="replace")
    match = _TICKS.search(text)
    return int(match[1]) if match else TICKS_PER_SECOND
