"""Engines that are used together: started side by side, their faults counted and borne."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from ambulo.configs.errors import BridgeError
from ambulo.envs.godot.engine_link import EngineLink
from ambulo.envs.godot.errors import BridgeFault
from ambulo.envs.godot.settings import BridgeSettings

log = logging.getLogger(__name__)

FIRST_PAUSE = 0.25
"""Pause before the second attempt after a fault; each further one is twice as long, [s]."""
LONGEST_PAUSE = 10.0
"""Longest pause between two attempts, [s]."""
Link = TypeVar("Link", bound=EngineLink)


class EngineFleet(Generic[Link]):
    """The engines of one world or game; `faults` counts every fault by kind."""

    def __init__(
        self, settings: BridgeSettings, make: Callable[[Path], Sequence[Link]]
    ) -> None:
        """Start the engines, or connect to the one that `settings` names.

        Args:
            settings: where the engines come from.
            make: links, not yet open, for a folder of logs.

        Raises:
            BridgeError: no engine, or one that cannot be started, reached or driven.
        """
        self.faults: Counter[str] = Counter()
        self.closed = False
        self._settings = settings
        self._folder: Path | None = None
        self._temporary: weakref.finalize[..., EngineFleet[Link]] | None = None
        self.links = list(make(self._log_folder()))
        try:
            for link in self.links:  # engines start side by side
                link.launch()
            for link in self.links:
                self._open_first(link)
        except BaseException:
            self._keep_logs()
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """Process ids of the engines that were started here."""
        return [link.pid for link in self.links if link.pid is not None]

    def grow(self, make: Callable[[Path], Sequence[Link]]) -> None:
        """Start more engines; see the constructor."""
        more = list(make(self._log_folder()))
        self.links += more
        for link in more:
            link.launch()
        for link in more:
            self._open_first(link)

    def open(self, link: Link) -> None:
        """One attempt to open a link again, after a pause that grows with its failures."""
        if link.failures > 1:
            time.sleep(min(FIRST_PAUSE * 2 ** (link.failures - 2), LONGEST_PAUSE))
        link.open()

    def close(self) -> None:
        """End the engines that were started here; hang up on others."""
        if self.faults and not self.closed:
            counts = ", ".join(f"{kind} {n}" for kind, n in self.faults.most_common())
            log.info("faults in all: %s", counts)
        self.closed = True
        for link in self.links:
            link.close()
        if self._temporary is not None:
            self._temporary()

    def _open_first(self, link: Link) -> None:
        """Open a link; what fails at the very start is not tried again."""
        try:
            link.open()
        except BridgeFault as fault:
            found = link.drop(fault)
            text = f"{link.name}: {found}{link.last_words(found)}"
            if self._settings.log_folder is not None:
                # The caller's folder, which may go with what could not begin.
                text = text.replace(f"[{link.log_file}: ", "[the engine's log: ")
            raise BridgeError(text) from fault

    def note(self, link: Link, fault: BridgeFault, what: str) -> None:
        """Count and log a fault, and hang up.

        Raises:
            BridgeError: too many in a row.
        """
        link.failures += 1
        found = link.drop(fault)
        self.faults[found.kind] += 1
        self._keep_logs()
        limit = self._settings.max_failures
        log.warning(
            "%s: %s; %s (fault %d of at most %d in a row, %d in all)",
            link.name, found, what, link.failures, limit, self.faults.total(),
        )  # fmt: skip
        if link.failures >= limit:
            raise BridgeError(
                f"{link.name} has failed {link.failures} times in a row, the last time: "
                f"{found}{link.last_words(found)}"
            ) from fault

    def _log_folder(self) -> Path:
        """The folder of the engines' logs; a temporary one goes when all went well."""
        if self._folder is not None:
            return self._folder
        if self._settings.log_folder is not None or self._settings.url is not None:
            return self._settings.log_folder or Path()
        folder = self._folder = Path(tempfile.mkdtemp(prefix="ambulo-godot-"))
        remove: Callable[..., Any] = shutil.rmtree
        self._temporary = weakref.finalize(self, remove, folder, ignore_errors=True)
        return folder

    def _keep_logs(self) -> None:
        if self._temporary is not None:
            self._temporary.detach()
            self._temporary = None
