"""Tell the user why the first process waits: numba compiles kernels, which it then keeps."""

from __future__ import annotations

import logging

from numba.core import event

log = logging.getLogger(__name__)

_KIND = "numba:compile"


class _FirstCompilation(event.Listener):  # type: ignore[misc]
    """Logs one line at the first kernel that is compiled, not read from disk."""

    told = False

    def on_start(self, event: object) -> None:
        """Log the line."""
        if not self.told:
            self.told = True
            log.warning(
                "compiling numerical kernels for this machine: up to a minute, once"
            )

    def on_end(self, event: object) -> None:
        """Nothing to tell."""


def tell_of_compilation() -> None:
    """From now on, log a line at the first compilation of this process."""
    if not _LISTENERS:
        _LISTENERS.append(_FirstCompilation())
        event.register(_KIND, _LISTENERS[0])


_LISTENERS: list[_FirstCompilation] = []
