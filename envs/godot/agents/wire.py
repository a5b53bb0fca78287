"""The binary messages of `/agents/reset` and `/agents/step`; see docs/godot_api.md."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.envs.godot.agents.spec import AgentKind, GameSpec, Rows
from ambulo.envs.godot.errors import Malformed
from ambulo.envs.godot.transport import BINARY, Response

MAGIC = b"AMB2"
GO_ON, IF_DONE, NOW = 0, 1, 2
"""Restart of an agent in a step: never; with its seed if its episode ends; after the step in
any case, and the step does not count."""
TERMINATED, TRUNCATED = 1, 2
_HEADER = struct.Struct("<4s7I")
_HEAD = 2


@dataclass(frozen=True)
class KindRows:
    """What the agents of one kind of one engine have after a step; n of them."""

    obs: Rows
    """Observations, of the new episode where one has begun, shape (n, observation_size)."""
    reward: Rows
    ended: NDArray[np.int8]
    """0, `TERMINATED` or `TRUNCATED`, shape (n,)."""
    infos: Rows
    """Shape (n, infos)."""
    final: Rows
    """Last observations of the agents that began an episode as theirs had ended, in order."""


@dataclass(frozen=True)
class StepReply:
    """The answer to a step or a reset, by kind."""

    kinds: tuple[KindRows, ...]
    counter: int
    script_errors: int


def modes_message(modes: Ints, seeds: Ints, actions: Sequence[Rows] = ()) -> bytes:
    """Body of a reset, or with actions (one array for each kind) of a step."""
    pairs = np.empty((len(modes), 2), "<i4")
    pairs[:, 0], pairs[:, 1] = modes, seeds
    return pairs.tobytes() + b"".join(rows.astype("<f4").tobytes() for rows in actions)


def parse_reply(
    response: Response, spec: GameSpec, infos: Sequence[int], modes: Ints
) -> StepReply | None:
    """The rows of an answer; None if there are other infos than `infos` of each kind.

    Raises:
        BadStatus: the engine refuses.
        Malformed: it is not such an answer.
    """
    body = response.checked().body
    if response.content_type != BINARY or len(body) < _HEADER.size:
        raise Malformed("/agents/step: not a binary answer")
    magic, agents, counter, errors, columns, numbers, finals, pictures = (
        _HEADER.unpack_from(body)
    )
    size = _HEADER.size + 4 * numbers + pictures
    if magic != MAGIC or agents != spec.agents or len(body) != size:
        raise Malformed("/agents/step: not an answer for these agents")
    if columns != sum(infos):
        return None
    values = np.frombuffer(body, "<f4", numbers, _HEADER.size)
    bytes_ = np.frombuffer(body, np.uint8, pictures, _HEADER.size + 4 * numbers)
    at = byte_at = 0
    heads: list[tuple[Rows, Rows]] = []
    for kind, width in zip(spec.kinds, infos, strict=True):
        row = _HEAD + width + kind.numbers
        end = at + kind.count * row
        head = values[at:end].reshape(kind.count, row)
        at = end
        byte_at, obs = _merged(kind, head[:, _HEAD + width :], bytes_, byte_at)
        heads.append((head, obs))
    first, result = 0, []
    for kind, width, (head, obs) in zip(spec.kinds, infos, heads, strict=True):
        ended = head[:, 1].astype(np.int8)
        count = 0
        if ended.any():
            own = modes[first : first + kind.count]
            count = int(np.count_nonzero((ended != 0) & (own == IF_DONE)))
        first += kind.count
        end = at + count * kind.numbers
        if end > len(values):
            raise Malformed(f"/agents/step: {finals} last observations are too few")
        last = values[at:end].reshape(count, kind.numbers)
        byte_at, final = _merged(kind, last, bytes_, byte_at)
        at = end
        result.append(
            KindRows(obs, head[:, 0], ended, head[:, _HEAD : _HEAD + width], final)
        )
    if at != len(values):
        raise Malformed(f"/agents/step: {finals} last observations are too many")
    return StepReply(tuple(result), counter, errors)


def _merged(
    kind: AgentKind, numbers: Rows, pictures: NDArray[np.uint8], at: int
) -> tuple[int, Rows]:
    """Rows of observations from their numbers and pictures, and where the next are."""
    width = kind.observation_size - kind.numbers
    if width == 0:
        return at, numbers
    end = at + len(numbers) * width
    own = pictures[at:end].reshape(len(numbers), width)
    parts, number, byte = [], 0, 0
    for part in kind.observation:
        if part.picture:
            parts.append(own[:, byte : byte + part.size].astype(np.float32))
            byte += part.size
        else:
            parts.append(numbers[:, number : number + part.size])
            number += part.size
    return end, np.concatenate(parts, axis=1)
