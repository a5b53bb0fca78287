"""The live rig server: datagrams in, answers out, one model for each client.

One thread does all the work, one piece at a time. A piece reads a datagram of the next address
(`sessions`) and answers a frame of it. Without waiting datagrams, the piece learns from an
answered frame, or makes a free run, of the client with the least server time so far. The
socket is emptied between two pieces. While answers wait, learning gets a
tenth of the time: after `PATIENCE` answers in a row, and nine times the duration of the last
learning task, one piece learns. Queues are bounded: the oldest datagrams and frames are
dropped, the oldest learning tasks are skipped, and all are counted.
"""

from __future__ import annotations

import logging
import operator
import secrets
import time
from collections.abc import Callable

import numpy as np

from ambulo.rig_server import messages, packets, packets_v1
from ambulo.rig_server.character import (
    RUNS,
    ClientCharacter,
    FrameBatch,
    LearningTask,
    Timer,
    Waiting,
)
from ambulo.rig_server.clients import Clients, ServerConfig
from ambulo.rig_server.frames import RigFrame, checked_frames
from ambulo.rig_server.layout import LEGS, RigLayout, legs_named, legs_of
from ambulo.rig_server.messages import ErrorCode, Kind, Option, Result
from ambulo.rig_server.packets import Address, Fault, Packet, PacketError
from ambulo.rig_server.sessions import STRANGERS, SessionServer
from ambulo.rig_server.shares import LessonPace

log = logging.getLogger(__name__)

PORT = 6003
"""The published port."""
STATUS_EVERY = 30
"""Frames between two STATUS messages."""
_LEARN = operator.methodcaller("learn")


class RigServer(SessionServer[ClientCharacter]):
    """All clients of one socket."""

    hello = Kind.HELLO
    max_sessions = 8

    def __init__(
        self,
        config: ServerConfig,
        send: Callable[[bytes, Address], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """A server without clients.

        Args:
            config: Limits, thresholds, files and the shared secret.
            send: Sends a datagram to an address.
            clock: Monotonic clock, [s]; work is measured with it, too.
        """
        self.config = config
        self.clients = Clients(config, clock)
        super().__init__(
            config.secret, send, clock, self.clients.characters, self.clients.answers
        )
        self._handlers |= {
            Kind.FRAMES: self._frames,
            Kind.STATUS_REQUEST: self._status_request,
            Kind.NEXT_REQUEST: self._next_request,
        }
        self.pings = 0
        self._pace = LessonPace()
        self._ready: set[Address] = set()
        """Addresses of which a datagram or a frame waits."""
        self._names: dict[Address, RigLayout] = {}

    @property
    def characters(self) -> dict[tuple[Address, int], ClientCharacter]:
        """Characters by address and session (0 in version 1)."""
        return self.clients.characters

    # Incoming messages

    def forget(self, client: ClientCharacter) -> None:
        """Remove a client after saving its model."""
        self.clients.forget(client)

    def drop(self, client: ClientCharacter) -> None:
        """Remove a client and its model."""
        self.clients.drop(client)

    def offer(self, data: bytes, address: Address) -> None:
        """Queue a datagram, which is read when it is its address' turn."""
        self._ready.add(address if address in self.clients.by_address else STRANGERS)
        super().offer(data, address)

    def read(self, data: bytes, address: Address) -> None:
        """Process a datagram of version 1 or 2."""
        if data[:4] == packets.MAGIC:
            super().read(data, address)
        else:
            self._receive_v1(data, address)

    def _receive_v1(self, data: bytes, address: Address) -> None:
        if self.config.secret or not self.config.version_1:
            raise PacketError(Fault.SECRET, "version 1 is not spoken here")
        message = packets_v1.decode(data)
        if isinstance(message, packets_v1.Ping):
            self.pings += 1
            return
        character = self.characters.get((address, 0))
        if isinstance(message, packets_v1.Setup):
            layout = legs_named([name for _, name in message.names])
            if character is not None and character.layout != layout:
                self.clients.forget(character)
            self._names[address] = layout
            while len(self._names) > 4 * self.config.max_clients:
                del self._names[next(iter(self._names))]
            return
        frames = checked_frames(LEGS, message.values)
        if character is None:
            named = self._names.get(address, LEGS)
            character = self.clients.admit(address, 1, 0, named)
        if character.other_skeleton(frames[0]):
            character = self.clients.rename(character, legs_of(frames[0].offsets))
        character.heard = self._clock()
        batch = FrameBatch(0, len(frames))
        self._enqueue(character, batch, frames, Option.LEARN | Option.PREDICT, True)

    def begin(self, packet: Packet, address: Address) -> None:
        """Answer a HELLO: a new session, or one that the client has already."""
        try:
            hello = messages.decode_hello(packet.payload)
        except PacketError as error:
            self.fail(address, packet, ErrorCode.BAD_RIG, str(error))
            raise
        mine = self.clients.of(address)
        character = next(
            (c for c in mine if c.nonce == hello.nonce and c.layout == hello.layout),
            None,
        )
        if character is None:
            self.make_room(address)
            session = secrets.randbits(63) + 1
            try:
                character = self.clients.admit(address, 2, session, hello.layout)
            except PacketError as error:
                self.fail(address, packet, ErrorCode.FULL, str(error))
                raise
            character.nonce, character.heard = hello.nonce, self._clock()
        welcome = messages.Welcome(
            hello.nonce,
            character.models.learner.progress.frames,
            character.layout.frame_size,
            character.layout.output_size,
            character.models.gate.started,
        )
        self.reply(character, Kind.WELCOME, messages.encode_welcome(welcome))

    def _frames(self, character: ClientCharacter, packet: Packet) -> None:
        layout = character.layout
        try:
            message = messages.decode_frames(packet.payload, layout.frame_size)
            frames = checked_frames(layout, message.values)
        except PacketError as error:
            character.refused += 1
            self._ack(character, packet.sequence, Result.REFUSED)
            log.debug("%s: %s", layout.name, error)
            raise
        if other := character.other_skeleton(frames[0]):
            character.refused += 1
            self.fail(character.address, packet, ErrorCode.BAD_RIG, other)
            raise PacketError(Fault.CONTENT, other)
        batch = FrameBatch(packet.sequence, len(frames))
        follows = packet.sequence == character.last_frames + 1
        character.last_frames = max(character.last_frames, packet.sequence)
        self._enqueue(character, batch, frames, message.options, follows)

    def _status_request(self, character: ClientCharacter, _: Packet) -> None:
        self.reply(character, Kind.STATUS, messages.encode_status(character.status()))

    def _next_request(self, character: ClientCharacter, packet: Packet) -> None:
        messages.decode_next_request(packet.payload)
        if len(character.runs) >= RUNS:
            text = f"{RUNS} free runs wait already"
            self.fail(character.address, packet, ErrorCode.FULL, text)
            raise PacketError(Fault.BUSY, text)
        character.runs.append(packet)

    def _free_run(self, character: ClientCharacter) -> None:
        packet = character.runs.popleft()
        count = messages.decode_next_request(packet.payload)
        run = character.free_run(
            min(count, messages.most_next(character.layout.output_size))
        )
        if run is None:
            self.fail(
                character.address, packet, ErrorCode.NOT_READY, "no walk learned yet"
            )
            return
        self.reply(character, Kind.NEXT, messages.encode_next(messages.Next(run)))

    # Work

    def work(self) -> bool:
        """Read and answer, or else learn; False if there is no work."""
        if self._pace.is_due and self._learn():
            return True
        address = self.clients.answers.next(self._ready.__contains__)
        if address is None:
            return self._learn()
        start = self._clock()
        self._serve(address)
        spent = self._clock() - start
        weight = self.clients.weight(address)
        self.clients.answers.charge(address, address[0] or STRANGERS, weight * spent)
        self._pace.answered(spent)
        return True

    def _serve(self, address: Address) -> None:
        """Read a datagram of a known or unknown address, and answer a frame of it."""
        datagram = self.take(address)
        sender = address if datagram is None else datagram[1]
        if datagram is not None:
            self.receive(*datagram)
        character = self.clients.next_to_answer(sender)
        if character is not None:
            self._guarded(character, self._work_on)
        if not self._has_work(address):
            self._ready.discard(address)

    def _has_work(self, address: Address) -> bool:
        """Whether a datagram or a frame of an address waits."""
        return self.waits(address) or any(
            character.queue for character in self.clients.of(address)
        )

    def _learn(self) -> bool:
        """Learn, or run free, for the next client; False if no client has such work."""
        character = self.clients.next_to_learn()
        if character is None:
            return False
        start, source = self._clock(), character.address[0]
        self._guarded(character, self._free_run if character.runs else _LEARN)
        spent = self._clock() - start
        self._pace.learned(spent)
        self.clients.lessons.charge(character, source, spent)
        return True

    def _guarded(
        self, character: ClientCharacter, run: Callable[[ClientCharacter], None]
    ) -> None:
        """Run work of a client; removes the client if it fails."""
        try:
            run(character)
        except Exception:
            # Its own stream broke it: the other clients continue, and it starts again.
            log.exception("%s: given up", character.path.stem)
            self.broken += 1
            self.clients.drop(character)

    def _work_on(self, character: ClientCharacter) -> None:
        timer, waiting = Timer(), character.queue.popleft()
        models, batch = character.models, waiting.batch
        to_learn = models.answer(waiting)
        batch.left -= 1
        batch.learned += to_learn
        if not batch.left:
            self._answer(character, batch)
        character.waits.append(self._clock() - waiting.arrived)
        if to_learn:
            character.postpone(LearningTask(models.learner.memory.seen, timer.read()))
        else:
            character.work.append(timer.read())

    def _answer(self, character: ClientCharacter, batch: FrameBatch) -> None:
        """Reply to a datagram whose frames have been processed."""
        if character.version == 1:
            if batch.answers:
                character.answered += 1
                self.send(
                    packets_v1.encode_prediction(batch.answers[-1]), character.address
                )
            return
        if batch.answers:
            character.answered += 1
            answer = messages.Answer(
                batch.sequence, np.array(batch.reached), np.array(batch.answers)
            )
            self.reply(character, Kind.PREDICTION, messages.encode_answer(answer))
        else:
            result = Result.LEARNED if batch.learned else Result.SEEN
            self._ack(character, batch.sequence, result)
        if character.models.learner.progress.frames % STATUS_EVERY == 0:
            self._status_request(character, Packet(0, 0, 0, b""))

    def sweep(self) -> None:
        """Remove silent clients and save changed models; cheap, to be called often."""
        self.clients.sweep()

    def close(self) -> None:
        """Save every model and wait until all is on disk."""
        self.clients.close()

    # Small steps

    def _enqueue(
        self,
        character: ClientCharacter,
        batch: FrameBatch,
        frames: list[RigFrame],
        options: Option,
        follows: bool,
    ) -> None:
        now, before = self._clock(), character.dropped
        self._ready.add(character.address)
        for i, frame in enumerate(frames):
            waiting = Waiting(batch, frame, options, follows or i > 0, now)
            for emptied in character.enqueue(waiting):
                self._answer(character, emptied)
        if character.dropped > before:
            self.faults[Fault.BUSY] += character.dropped - before

    def _ack(self, character: ClientCharacter, sequence: int, result: Result) -> None:
        payload = messages.encode_ack(messages.Ack(sequence, result))
        self.reply(character, Kind.ACK, payload)
