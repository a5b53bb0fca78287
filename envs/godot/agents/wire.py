"""The binary messages of `/agents/reset` and `/agents/step`; see docs/godot_api.md."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.godot.agents.spec import AgentKind, GameSpec, Rows
from ambulo.envs.godot.errors import Malformed
from ambulo.envs.godot.transport import BINARY, Response

MAGIC = b"AMB3"
GO_ON, IF_DONE, NOW = 0, 1, 2
"""Restart of an agent in a step: never; with its seed if its episode ends; after the step in
any case, and the step does not count."""
TERMINATED, TRUNCATED = 1, 2
Restarts = NDArray[np.int32]
_HEADER = struct.Struct("<4s7I")


class StepReply(NamedTuple):
    """State of the n agents of one engine after a step or a reset, kind by kind."""

    obs: list[Rows]
    """Observations of each kind, of the new episode where one has begun, (n_k, size)."""
    reward: Rows
    """Shape (n,)."""
    ended: NDArray[np.int32] | None
    """0, `TERMINATED` or `TRUNCATED`, shape (n,); None: no episode has ended or begun."""
    final: list[Rows]
    """Last observations of those of each kind that began an episode as theirs had ended."""
    modes: Restarts
    """Restarts of the request, shape (n,)."""
    infos: list[Rows]
    """Infos of each kind, shape (n_k, infos)."""
    script_errors: int
    finite: bool
    """Whether all rewards and observations are finite."""


def restarts(
    modes: int | NDArray[np.integer[Any]], seeds: NDArray[np.integer[Any]]
) -> Restarts:
    """The restart mode of each of N agents, and the seed of its next episode, (N, 2)."""
    pairs = np.empty((len(seeds), 2), "<i4")
    pairs[:, 0], pairs[:, 1] = modes, seeds
    return pairs


def message(pairs: Restarts, actions: Sequence[Rows] = ()) -> bytes:
    """Body of a reset, or with actions (one array for each kind) of a step."""
    numbers = [rows.astype("<f4", copy=False).tobytes() for rows in actions]
    return b"".join([pairs.tobytes(), *numbers])


def parse_reply(
    response: Response, spec: GameSpec, infos: Sequence[int], modes: Restarts
) -> StepReply | None:
    """The rows of an answer; None if there are other infos than `infos` of each kind.

    Raises:
        BadStatus: the engine refuses.
        Malformed: it is not such an answer.
    """
    body = response.checked().body
    if response.content_type != BINARY or len(body) < _HEADER.size:
        raise Malformed("/agents/step: not a binary answer")
    magic, agents, _, errors, columns, numbers, events, pictures = _HEADER.unpack_from(
        body
    )
    size = _HEADER.size + 4 * numbers + pictures
    if magic != MAGIC or agents != spec.agents or len(body) != size:
        raise Malformed("/agents/step: not an answer for these agents")
    if columns != sum(infos):
        return None
    values = np.frombuffer(body, "<f4", numbers, _HEADER.size)
    reader = _Reader(values, memoryview(body)[size - pictures :])
    reward, end = reader.numbers(agents), reader.numbers(agents)
    obs = [reader.observations(kind, kind.count) for kind in spec.kinds]
    ended, final = None, []
    if events:
        ended = end.view("<i4")
        renewed = (ended != 0) & (modes == IF_DONE)
        final = [
            reader.observations(kind, int(np.count_nonzero(renewed[own])))
            for kind, own in zip(spec.kinds, spec.rows, strict=True)
        ]
    finite = bool(np.isfinite(values[: reader.at]).all())
    said = [
        reader.numbers(kind.count * width).reshape(kind.count, width)
        for kind, width in zip(spec.kinds, infos, strict=True)
    ]
    if reader.at != numbers:
        raise Malformed("/agents/step: too many numbers")
    return StepReply(obs, reward, ended, final, modes, said, errors, finite)


class _Reader:
    """Reads the numbers and pictures of an answer from the front."""

    def __init__(self, values: Rows, pictures: memoryview) -> None:
        self._values, self._pictures = values, pictures
        self.at = self._byte = 0

    def numbers(self, count: int) -> Rows:
        """The next numbers, shape (count,)."""
        start, self.at = self.at, self.at + count
        if self.at > len(self._values):
            raise Malformed("/agents/step: too few numbers")
        return self._values[start : self.at]

    def observations(self, kind: AgentKind, count: int) -> Rows:
        """The next observations of `kind`, their pictures as numbers."""
        numbers = self.numbers(count * kind.numbers).reshape(count, kind.numbers)
        width = kind.observation_size - kind.numbers
        if width == 0:
            return numbers
        if len(self._pictures) < self._byte + count * width:
            raise Malformed("/agents/step: too few pictures")
        own = np.frombuffer(self._pictures, np.uint8, count * width, self._byte)
        self._byte += own.size
        own = own.reshape(count, width)
        parts, number, byte = [], 0, 0
        for part in kind.spec.observation:
            if part.is_picture:
                parts.append(own[:, byte : byte + part.size].astype(np.float32))
                byte += part.size
            else:
                parts.append(numbers[:, number : number + part.size])
                number += part.size
        return np.concatenate(parts, axis=1)
