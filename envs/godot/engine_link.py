"""The link to one engine: starting or attaching, hanging up, and what is left of a fault."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import ClassVar

from ambulo.configs.errors import BridgeError
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import (
    BadStatus,
    BridgeFault,
    Closed,
    EngineDied,
    Refused,
    Rejected,
    TimedOut,
)
from ambulo.envs.godot.locate import (
    check_version,
    find_engine,
    find_project,
    is_program,
)
from ambulo.envs.godot.settings import BridgeSettings
from ambulo.envs.godot.transport import (
    JSON,
    HttpConnection,
    Response,
    address_of,
    check_token,
)

_EXIT_PATIENCE = 0.3


class EngineLink:
    """One engine, of our own or attached to; subclasses know what it is used for.

    Methods raise `BridgeFault` for what another attempt may mend (call `drop`, then
    `open`), and other `BridgeError`s for what it cannot.
    """

    _owners: ClassVar[weakref.WeakValueDictionary[tuple[str, int], EngineLink]] = (
        weakref.WeakValueDictionary()
    )
    """The link that has configured each attached engine last, in this process."""

    def __init__(self, number: int, settings: BridgeSettings, log_folder: Path) -> None:
        """A link that is not yet open.

        Args:
            number: of the engine, for logs.
            settings: where the engine comes from.
            log_folder: of `engine-<number>.log`; not used when attached.

        Raises:
            BridgeError: no engine (of a version that will do) or no project found.
            ConfigError: the URL is none, or the token would leave this machine.
        """
        self.number = number
        self.failures = 0
        self._settings = settings
        self._process: EngineProcess | None = None
        self._connection: HttpConnection | None = None
        self._ready = False
        self._words = ""
        self._address: tuple[str, int] | None = None
        self.log_file = log_folder / f"engine-{number}.log"
        if settings.url is not None:
            self._address = address_of(settings.url)
            check_token(self._address[0], settings.token)
        else:
            self._project = self._binary = find_project(settings.project)
            if not is_program(self._project):
                self._binary = find_engine(settings.binary)
                check_version(self._binary)

    @property
    def name(self) -> str:
        """Name of the engine in messages."""
        if self._address is not None:
            return f"Godot at http://{self._address[0]}:{self._address[1]}"
        return f"Godot engine {self.number}"

    @property
    def pid(self) -> int | None:
        """Process id of an engine of our own that was started."""
        return None if self._process is None else self._process.pid

    @property
    def ready(self) -> bool:
        """Whether the engine is as this link has configured it."""
        if self._address is not None and self._owners.get(self._address) is not self:
            return False
        return self._ready

    def launch(self) -> None:
        """Begin to start an engine of our own that does not run."""
        if self._address is None and self._process is None:
            self._process = self._start()

    def open(self) -> None:
        """Start the engine or connect to it, and configure it."""
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
        self._ready = False
        self._configure()
        if self._address is not None:
            self._owners[self._address] = self
        self._ready = True

    def invalidate(self) -> None:
        """Have the engine configured again before the next use."""
        self._ready = False

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

    def _start(self) -> EngineProcess:
        """Start an engine of our own."""
        raise NotImplementedError

    def _configure(self) -> None:
        """Configure the engine that was connected to."""
        raise NotImplementedError
