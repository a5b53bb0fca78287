"""The link to one engine: starting or attaching, versions, levels, and its messages."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import BridgeError
from ambulo.envs.godot import protocol
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import (
    BadStatus,
    BridgeFault,
    Closed,
    EngineDied,
    Malformed,
    Refused,
    Rejected,
    TimedOut,
)
from ambulo.envs.godot.locate import check_version, find_engine, find_project
from ambulo.envs.godot.scene_map import enter_scene
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import (
    BINARY,
    JSON,
    HttpConnection,
    Response,
    address_of,
    check_token,
)
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level

LEVELS_PER_REQUEST = 16
"""Most levels that are sent in one message."""
OBSTACLES_PER_REQUEST = 5000
"""A message with this many obstacles takes no further level."""
_EXIT_PATIENCE = 0.3
_COUNTER = 1 << 32


class EngineLink:
    """One engine, of our own or attached to, that holds some of the envs.

    Methods raise `BridgeFault` for what another attempt may mend (call `drop`, then
    `open`), and other `BridgeError`s for what it cannot.
    """

    _owners: ClassVar[weakref.WeakValueDictionary[tuple[str, int], EngineLink]] = (
        weakref.WeakValueDictionary()
    )
    """The link that has configured each attached engine last, in this process."""

    def __init__(
        self,
        number: int,
        envs: Ints,
        spec: WorldSpec,
        settings: BridgeSettings,
        log_folder: Path,
    ) -> None:
        """A link that is not yet open.

        Args:
            number: of the engine, for logs.
            envs: indices of the envs that the engine holds, ascending, without gaps.
            spec: settings of the world.
            settings: where the engine comes from.
            log_folder: of `engine-<number>.log`; not used when attached.

        Raises:
            BridgeError: no engine (of a version that will do) or no project found.
            ConfigError: the URL is none, or the token would leave this machine.
        """
        self.number, self.envs = number, envs
        self.first, self.agents = int(envs[0]), len(envs)
        self.rows = slice(self.first, self.first + self.agents)
        self.failures = 0
        self.layout = protocol.RowLayout(spec)
        self._spec, self._settings = spec, settings
        self._process: EngineProcess | None = None
        self._connection: HttpConnection | None = None
        self._ready = False
        self._has_things = False
        self._comfort = np.ones(self.agents)
        self._known: dict[int, Level] = {}
        self._counter: int | None = None
        self._words = ""
        self._address: tuple[str, int] | None = None
        self.log_file = log_folder / f"engine-{number}.log"
        if settings.url is not None:
            self._address = address_of(settings.url)
            check_token(self._address[0], settings.token)
        else:
            self._project = find_project(settings.project)
            self._binary = find_engine(settings.binary)
            check_version(self._binary)

    @property
    def name(self) -> str:
        """What a message calls the engine."""
        if self._address is not None:
            return f"Godot at http://{self._address[0]}:{self._address[1]}"
        return f"Godot engine {self.number}"

    @property
    def pid(self) -> int | None:
        """Process id of an engine of our own that was started."""
        return None if self._process is None else self._process.pid

    @property
    def ready(self) -> bool:
        """Whether the engine holds this link's settings, envs and levels."""
        if self._address is not None and self._owners.get(self._address) is not self:
            return False
        return self._ready

    def launch(self) -> None:
        """Begin to start an engine of our own that does not run."""
        if self._address is None and self._process is None:
            self._process = EngineProcess(
                self._binary,
                self._project,
                self.log_file,
                agents=self.agents,
                scene=self._settings.scene,
                frames=max(1, round(1.0 / self._spec.decision_dt)),
            )

    def open(self) -> None:
        """Start the engine or connect to it, check its version, and configure it.

        It then holds no levels and no envs.
        """
        self.launch()
        if self._connection is None:
            if self._address is not None:
                host, port = self._address
            else:
                assert self._process is not None
                host, port = "127.0.0.1", self._process.wait_until_ready()
            self._connection = HttpConnection(
                host, port, timeout=self._settings.timeout, token=self._settings.token
            )
        self._known, self._counter, self._ready = {}, None, False
        self._has_things = False
        self._comfort = np.ones(self.agents)
        body = protocol.spec_message(self._spec, self.agents)
        answer = self._must("/rl/spec", body).json()
        protocol.check_spec(answer, self.layout, self.agents)
        if self._settings.scene is not None:
            enter_scene(self._connection, self._settings.scene)
        if self._address is not None:
            self._owners[self._address] = self
        self._ready = True

    def invalidate(self) -> None:
        """Have the engine configured, and the envs restored, before the next use."""
        self._ready = False

    def forget(self, slots: Sequence[int]) -> None:
        """Levels of these slots must be sent again before the next env enters."""
        for slot in slots:
            self._known.pop(slot, None)

    def send_levels(self, slots: Ints, levels: dict[int, Level]) -> None:
        """Send the levels of `slots` that the engine does not have; a scene is there."""
        if self._settings.scene is not None:
            return
        missing = [s for s in dict.fromkeys(slots.tolist()) if s not in self._known]
        part: dict[int, Level] = {}
        obstacles = 0
        for slot in missing:
            level = part[slot] = levels[slot]
            obstacles += len(level.boxes) + len(level.cylinders) + len(level.holes)
            full = len(part) >= LEVELS_PER_REQUEST or obstacles >= OBSTACLES_PER_REQUEST
            if full or slot == missing[-1]:
                body = protocol.levels_message(list(part), list(part.values()))
                self._must("/rl/levels", body)
                self._known.update(part)
                part, obstacles = {}, 0

    def send_things(self, counts: Ints, rows: Floats) -> None:
        """Say where what moves is at the end of the next decision (`MovingThings`)."""
        if not (counts.any() or self._has_things):
            return
        body = protocol.things_message(counts, rows)
        self._ask("/rl/things", body, BINARY).checked()
        self._has_things = bool(counts.any())

    def send_comfort(self, comfort: Floats) -> None:
        """Say where the comfort dials (agents,) are, if they have changed."""
        if not np.array_equal(comfort, self._comfort):
            self._must("/rl/comfort", protocol.comfort_message(comfort))
            self._comfort = comfort.copy()

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> Floats:
        """Place `envs` (of this link) and return their rows (k, width)."""
        body = protocol.reset_message(envs - self.first, slots, poses)
        response = self._ask("/rl/reset", body)
        return protocol.parse_states(response, len(envs), self.layout.width)

    def restore(self, envs: Ints, slots: Ints, rows: Floats) -> None:
        """Put `envs` into states that were read before."""
        body = protocol.restore_message(envs - self.first, slots, rows)
        self._ask("/rl/state", body, BINARY).checked()

    def send_step(self, actions: NDArray[Any]) -> None:
        """Send the actions of this link's envs; `receive_step` must follow."""
        assert self._connection is not None
        self._connection.send(
            "POST", "/rl/step", protocol.step_message(actions),
            content_type=BINARY, accept=BINARY,
        )  # fmt: skip

    def receive_step(self) -> Floats:
        """Rows (agents, width) after the decision."""
        assert self._connection is not None
        response = self._connection.receive()
        rows, counter = protocol.parse_rows(response, self.agents, self.layout.width)
        if self._counter is not None and counter != (self._counter + 1) % _COUNTER:
            raise Malformed(
                f"decision {counter} came after {self._counter}: "
                "someone else drives this engine, or it was restarted"
            )
        self._counter = counter
        return rows

    def drop(self, fault: BridgeFault) -> BridgeFault:
        """Hang up; an engine of our own that hangs, has died or fails again is ended.

        Returns:
            The fault as it turns out to be: `EngineDied` if the engine is gone.
        """
        self._ready = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        process = self._process
        if process is None:
            return fault
        self._words = process.tail()
        patience = _EXIT_PATIENCE if isinstance(fault, Closed | Refused) else 0.0
        ending = process.ending(patience)
        if ending or self.failures > 1 or isinstance(fault, EngineDied | TimedOut):
            process.kill()
            self._process = None
        if ending and not isinstance(fault, EngineDied):
            return EngineDied(f"the engine has ended ({ending})")
        return fault

    def last_words(self, fault: BridgeError) -> str:
        """The end of the engine's log, unless `fault` tells it already."""
        return (
            f" {self._words}" if self._words and self._words not in str(fault) else ""
        )

    def close(self) -> None:
        """Hang up and end an engine of our own; attached ones go on."""
        self._ready = False
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._process is not None:
            self._process.stop()
            self._process = None

    def _must(self, path: str, body: bytes) -> Response:
        """The answer to a POST of JSON that only a wrong partner refuses."""
        try:
            return self._ask(path, body).checked()
        except BadStatus as error:
            if error.status >= 500:
                raise
            raise Rejected(f"{self.name} refuses {path}: {error}") from None

    def _ask(self, path: str, body: bytes, content_type: str = JSON) -> Response:
        if self._connection is None:
            raise Closed("the link to the engine is not open")
        return self._connection.request("POST", path, body, content_type=content_type)


def split_envs(num_envs: int, engines: int) -> list[Ints]:
    """Split N environments into consecutive, near-equal ranges, one for each engine."""
    count = max(1, min(engines, num_envs))
    return list(np.array_split(np.arange(num_envs), count))
