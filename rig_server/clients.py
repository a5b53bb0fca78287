"""The clients of a rig server, the model of each, and the models on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ambulo.rig_server import store
from ambulo.rig_server.character import (
    ClientCharacter,
    Models,
    Thresholds,
)
from ambulo.rig_server.layout import RigError, RigLayout
from ambulo.rig_server.packets import Address, Fault, PacketError
from ambulo.rig_server.shares import LARGE, FairShares

log = logging.getLogger(__name__)

TAKEOVER = 2.0
"""Silence after which a new session may take over the model of an old one, [s]."""


@dataclass(frozen=True)
class ServerConfig:
    """Settings of a server."""

    models: Path | None = None
    """Folder of learned rigs; None: nothing is stored."""
    secret: bytes = b""
    """Shared secret; with one, only signed datagrams of version 2 are accepted."""
    version_1: bool = True
    """Whether version 1 is supported (never with a secret)."""
    max_clients: int = 32
    idle_seconds: float = 60.0
    """Silence after which a client is removed (its model is kept on disk), [s]."""
    save_seconds: float = 20.0
    """Time between two saves of a changed model, [s]."""
    max_models: int = 256
    """Largest number of learned rigs in the folder; those unused longest are removed first."""
    max_model_bytes: int = 2**30
    """Largest total size of them, [bytes]."""
    sequences: bool = True
    """Whether free runs are learned too."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    """Thresholds of answers."""


class Clients:
    """The characters of all clients, in rotation; models are loaded and saved here."""

    def __init__(
        self, config: ServerConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.characters: dict[tuple[Address, int], ClientCharacter] = {}
        """Characters by address and session (0 in version 1)."""
        self.damaged_files = 0
        self.saver = store.Saver()
        self._config, self._clock = config, clock
        self.by_address: dict[Address, list[ClientCharacter]] = {}
        """The characters of each address, in rotation."""
        self.answers: FairShares[Address] = FairShares()
        """Order in which clients' datagrams and frames are processed."""
        self.lessons: FairShares[ClientCharacter] = FairShares()
        """Order in which characters learn or run free."""
        self._swept = clock()

    def of(self, address: Address) -> list[ClientCharacter]:
        """The characters of an address."""
        return self.by_address.get(address, [])

    def weight(self, address: Address) -> float:
        """Cost factor of a second of work for an address: larger for large rigs."""
        bones = max((len(c.layout.bones) for c in self.of(address)), default=0)
        return 1.0 + bones / LARGE

    def next_to_answer(self, address: Address) -> ClientCharacter | None:
        """The next client of an address, in rotation, with a frame waiting."""
        mine = self.of(address)
        for character in mine:
            if character.queue:
                mine.remove(character)
                mine.append(character)
                return character
        return None

    def next_to_learn(self) -> ClientCharacter | None:
        """The next client with a learning task or a free run waiting."""
        return self.lessons.next(
            lambda character: bool(character.pending or character.runs)
        )

    def admit(
        self, address: Address, version: int, session: int, layout: RigLayout
    ) -> ClientCharacter:
        """A new client with the model of its rig: taken over, from disk, or new."""
        now = self._clock()
        if len(self.characters) >= self._config.max_clients:
            oldest = min(self.characters.values(), key=lambda c: c.heard)
            if now - oldest.heard < min(10.0, self._config.idle_seconds):
                # First of all: refusing must cost next to nothing.
                raise PacketError(Fault.FULL, f"{len(self.characters)} clients already")
        path, models = self._free_place(layout, now)
        if len(self.characters) >= self._config.max_clients:
            self.forget(min(self.characters.values(), key=lambda c: c.heard))
        if models is None:
            models = self._loaded(layout, path)
        character = ClientCharacter(address, version, session, models, path)
        character.heard = character.saved_at = now
        character.saved_learned = models.learner.progress.learned
        self.characters[address, session] = character
        self.by_address.setdefault(address, []).append(character)
        self.answers.add(address, address[0])
        self.lessons.add(character, address[0])
        log.info("%s:%d: %s, version %d", *address, path.stem, version)
        return character

    def rename(self, character: ClientCharacter, layout: RigLayout) -> ClientCharacter:
        """Replace the model of a client of version 1, which no message can refuse."""
        log.warning(
            "%s:%d: another skeleton than %s; it is kept as %s",
            *character.address, character.layout.name, layout.name,
        )  # fmt: skip
        self.forget(character)
        result = self.admit(character.address, 1, 0, layout)
        result.same_skeleton = True
        return result

    def _free_place(self, layout: RigLayout, now: float) -> tuple[Path, Models | None]:
        """A file for a new client of `layout`, and a model left behind for it.

        Simultaneous clients of the same rig have files, and models, of their own.
        """
        folder = self._config.models or Path()
        used = {c.path: c for c in self.characters.values()}
        for number in range(1, len(used) + 2):
            name = layout.name if number == 1 else f"{layout.name}~{number}"
            path = folder / store.file_name(layout.named(name))
            other = used.get(path)
            if other is None:
                return path, None
            if now - other.heard > TAKEOVER and other.layout == layout:
                models = other.models
                self.forget(other)
                return path, models
        raise AssertionError("unreachable: one more name than clients")

    def _loaded(self, layout: RigLayout, path: Path) -> Models:
        """The model in `path`; a new one if it is missing or unusable."""
        config = self._config
        models = Models(layout, config.thresholds, sequences=config.sequences)
        if config.models is None:
            return models
        # It may still be in the queue of writes.
        self.saver.flush()
        if not path.is_file():
            return models
        try:
            store.restore(path, models.learner, models.sequence)
            models.gate.update()
            return models
        except RigError as error:
            self.damaged_files += 1
            log.warning("%s; learning anew", error)
            return Models(layout, config.thresholds, sequences=config.sequences)

    def forget(self, character: ClientCharacter) -> None:
        """Remove a client after saving its model."""
        self.save(character)
        self.drop(character)

    def drop(self, character: ClientCharacter) -> None:
        """Remove a client and its model."""
        address = character.address
        if self.characters.pop((address, character.session), None) is None:
            return
        self.lessons.remove(character, address[0])
        self.by_address[address].remove(character)
        if not self.by_address[address]:
            del self.by_address[address]
            self.answers.remove(address, address[0])

    def sweep(self) -> None:
        """Remove silent clients and save changed models; cheap, to be called often."""
        now = self._clock()
        if now - self._swept < 0.5:
            return
        self._swept = now
        for character in list(self.characters.values()):
            if now - character.heard > self._config.idle_seconds:
                self.forget(character)
        # One at a time: serialising a model takes milliseconds.
        oldest = min(self.characters.values(), key=lambda c: c.saved_at, default=None)
        if oldest and now - oldest.saved_at > self._config.save_seconds:
            self.save(oldest)

    def save(self, character: ClientCharacter) -> None:
        """Hand a changed model to the saver."""
        learned = character.models.learner.progress.learned
        character.saved_at = self._clock()
        if self._config.models is None or learned == character.saved_learned:
            return
        character.saved_learned = learned
        data = store.to_bytes(character.models.learner, character.models.sequence)
        if self._has_room(character.path, len(data)):
            self.saver.put(character.path, data)

    def _has_room(self, path: Path, size: int) -> bool:
        """Whether a model of `size` bytes may be written; removes unused ones if needed."""
        used = {character.path for character in self.characters.values()}
        config = self._config
        try:
            room = store.make_room(
                path, size, used, config.max_models, config.max_model_bytes
            )
        except OSError as error:
            log.warning("%s: %s", path.parent, error.strerror)
            return True  # the saver tries, and counts failures
        if not room and not self.saver.failed:
            log.warning("%s: not saved: the folder of models is full", path)
        self.saver.failed += not room
        return room

    def close(self) -> None:
        """Save every model and wait until all is on disk."""
        for character in list(self.characters.values()):
            self.forget(character)
        self.saver.close()
