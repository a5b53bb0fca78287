"""Unread datagrams, limited for each address, so that none crowds out the others."""

from __future__ import annotations

from collections import deque

from ambulo.rig_server.packets import Address

MOST = 64
"""Largest number of waiting datagrams of a known address; the oldest are dropped first."""
MOST_BYTES = 1 << 20
"""Largest size of waiting datagrams of a known address, [bytes]."""
STRANGERS, FIRST = 256, 4
"""Largest number of unknown addresses with waiting datagrams, and datagrams of each: a set-up
and frames."""


class Inbox:
    """Unread datagrams of each address."""

    def __init__(self) -> None:
        """Create it empty."""
        self.dropped = 0
        """Datagrams that were not kept."""
        self.strangers: dict[Address, None] = {}
        """Unknown addresses with a datagram, in rotation."""
        self._waiting: dict[Address, deque[bytes]] = {}
        self._sizes: dict[Address, int] = {}

    def put(self, data: bytes, address: Address, *, known: bool) -> None:
        """Add a datagram, or drop it or older ones of the same address."""
        if not known and address not in self.strangers:
            if len(self.strangers) >= STRANGERS:
                self.dropped += 1
                return
            self.strangers[address] = None
        waiting = self._waiting.setdefault(address, deque())
        self._sizes.setdefault(address, 0)
        waiting.append(data)
        self._sizes[address] += len(data)
        most = MOST if known else FIRST
        while len(waiting) > most or self._sizes[address] > MOST_BYTES:
            self._sizes[address] -= len(waiting.popleft())
            self.dropped += 1

    def take(self, address: Address) -> bytes | None:
        """Return the oldest datagram of an address, or None."""
        waiting = self._waiting.get(address)
        if waiting is None:
            return None
        data = waiting.popleft()
        self._sizes[address] -= len(data)
        if not waiting:
            del self._waiting[address], self._sizes[address]
        return data

    def next_stranger(self) -> Address | None:
        """Return the unknown address whose turn it is, or None.

        An address with more datagrams becomes the last, known or not.
        """
        while self.strangers:
            address = next(iter(self.strangers))
            del self.strangers[address]
            if address in self._waiting:
                if len(self._waiting[address]) > 1:
                    self.strangers[address] = None
                return address
        return None

    def waits(self, address: Address) -> bool:
        """Return whether a datagram of an address waits."""
        return address in self._waiting
