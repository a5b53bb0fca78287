"""The messages of `/rl/*`: settings, levels, states; JSON and the compact binary form.

A binary message is `AMB1`, then three little-endian uint32 (rows, numbers in a row, and
the engine's step counter), then the rows in little-endian float64. See
docs/godot_api.md.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.godot.errors import Malformed, VersionMismatch
from ambulo.envs.godot.transport import BINARY, Response
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import level_data
from ambulo.envs.vr.world.state import WorldState

API_VERSION = 1
"""Version of the HTTP API that this package speaks."""
CONTRACT_VERSION = 1
"""Version of docs/vr_world.md that this package expects."""
MAGIC = b"AMB1"
_HEADER = struct.Struct("<4sIII")

ROW_FIELDS = (
    "position", "yaw", "velocity", "yaw_rate", "command", "rays", "ray_ends",
    "ray_floors", "movers", "path", "contact_ticks", "collisions", "since_contact",
    "people_ticks", "people_collisions", "since_person", "moves", "snaps", "cooldown",
    "fell", "falling",
)  # fmt: skip
"""Parts of a state row in order: those of `WorldState`, and whether an env has lost
the floor below it."""


class RowLayout:
    """Where each part of a state lies in an engine's row of numbers."""

    def __init__(self, spec: WorldSpec) -> None:
        """The layout in worlds with these settings."""
        zeros = WorldState.zeros(1, spec.num_rays, surroundings=spec.surroundings)
        self.columns: dict[str, slice] = {}
        self.description: list[dict[str, Any]] = []
        at = 0
        for name in ROW_FIELDS:
            size = getattr(zeros, name).size
            if size > 0:
                self.columns[name] = slice(at, at + size)
                self.description.append({"name": name, "start": at, "size": size})
                at += size
        self.width = at
        self.sensed = self.columns["path"].start
        """Numbers up to the last that an agent senses."""

    def write(
        self, rows: Floats, state: WorldState, falling: Bools, envs: Ints | slice
    ) -> None:
        """Put `rows` (k, width) into the state of `envs` (k,)."""
        for name, columns in self.columns.items():
            array = falling if name == "falling" else getattr(state, name)
            array[envs] = rows[:, columns].reshape(len(rows), *array.shape[1:])

    def read(self, state: WorldState, falling: Bools, envs: Ints) -> Floats:
        """Rows (k, width) of the state of `envs` (k,)."""
        rows = np.empty((len(envs), self.width))
        for name, columns in self.columns.items():
            array = falling if name == "falling" else getattr(state, name)
            rows[:, columns] = array[envs].reshape(len(envs), -1)
        return rows


def spec_message(spec: WorldSpec, agents: int) -> bytes:
    """Body of `POST /rl/spec`."""
    return _json({"agents": agents, "spec": dataclasses.asdict(spec)})


def check_spec(answer: Any, layout: RowLayout, agents: int) -> None:
    """Whether the reply of `/rl/spec` is from an engine that this package can drive.

    Raises:
        VersionMismatch: another API, contract or state layout.
        Malformed: not such a reply, or for another number of agents.
    """
    if not isinstance(answer, Mapping) or "api_version" not in answer:
        raise Malformed("/rl/spec: the answer names no api_version")
    for key, ours in (
        ("api_version", API_VERSION),
        ("contract_version", CONTRACT_VERSION),
    ):
        if answer.get(key) != ours:
            raise VersionMismatch(
                f"the engine has {key} {answer.get(key)!r}, this package {ours}: "
                "use the godot/ project of the same version"
            )
    rows = answer.get("state_layout")
    found = [
        {key: row.get(key) for key in ("name", "start", "size")}
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping)
    ]
    if found != layout.description:
        raise VersionMismatch(
            f"the engine's state rows hold {_names(found)}, expected "
            f"{_names(layout.description)}: use the godot/ project of the same version"
        )
    if answer.get("agents") != agents:
        raise Malformed(f"/rl/spec: {answer.get('agents')!r} agents, not {agents}")


def levels_message(slots: Sequence[int], levels: Sequence[Level]) -> bytes:
    """Body of `POST /rl/levels`: what stands still; the rest is in `things_message`."""
    still = [dataclasses.replace(level, movers=(), people=None) for level in levels]
    data = [level_data(level) for level in still]
    return _json({"slots": list(slots), "levels": data})


def things_message(counts: Ints, rows: Floats) -> bytes:
    """Binary body of `POST /rl/things`: what moves in the level of each agent.

    Args:
        counts: number of things of each agent, shape (agents,).
        rows: of `ambulo.envs.vr.geometry.solid_kernels`, padded, shape (agents, M, 9).
    """
    used = [things[:count] for things, count in zip(rows, counts, strict=True)]
    agents = np.repeat(np.arange(len(counts)), counts)
    table = np.column_stack([agents, np.concatenate([np.zeros((0, 9)), *used])])
    values = np.ascontiguousarray(table, "<f8")
    return _HEADER.pack(MAGIC, *values.shape, 0) + values.tobytes()


def comfort_message(comfort: Floats) -> bytes:
    """Body of `POST /rl/comfort`: the comfort dial of each agent, in [0, 1]."""
    return _json({"comfort": comfort.tolist()})


def reset_message(agents: Ints, slots: Ints, poses: Floats) -> bytes:
    """Body of `POST /rl/reset`: poses are x [m], y [m], yaw [rad], or these and z [m]."""
    return _json(
        {"agents": agents.tolist(), "slots": slots.tolist(), "poses": poses.tolist()}
    )


def restore_message(agents: Ints, slots: Ints, rows: Floats) -> bytes:
    """Binary body of `POST /rl/state`: agent, slot and the state row.

    Not JSON: the engine's parser loses the last bits of a number.
    """
    values = np.ascontiguousarray(np.column_stack([agents, slots, rows]), "<f8")
    return _HEADER.pack(MAGIC, *values.shape, 0) + values.tobytes()


def step_message(actions: NDArray[Any]) -> bytes:
    """Binary body of `POST /rl/step`: the numbers alone."""
    return np.ascontiguousarray(actions, "<f8").tobytes()


def poses_message(bodies: Sequence[int], roots: Floats, rotations: Floats) -> bytes:
    """Binary body of `POST /body`: n bodies, roots (n, 3) [m], rotations (n, 23, 4)."""
    turns = rotations.reshape(len(roots), -1)
    values = np.ascontiguousarray(np.column_stack([bodies, roots, turns]), "<f8")
    return _HEADER.pack(MAGIC, *values.shape, 0) + values.tobytes()


def parse_states(response: Response, count: int, width: int) -> Floats:
    """The rows (count, width) of a JSON answer that lists `states`.

    Raises:
        Malformed: no such answer, or numbers that are not finite.
        BadStatus: an error of HTTP.
    """
    answer = response.checked().json()
    states = answer.get("states") if isinstance(answer, dict) else None
    try:
        rows = np.array(states, np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = np.empty(0)
    if rows.shape != (count, width):
        raise Malformed(f"expected {count} states of {width} numbers")
    return _finite(rows)


def parse_rows(response: Response, count: int, width: int) -> tuple[Floats, int]:
    """The rows (count, width) of a binary answer, and the engine's step counter.

    Raises:
        Malformed: no such answer, or numbers that are not finite.
        BadStatus: an error of HTTP.
    """
    response.checked()
    body = response.body
    if response.content_type != BINARY or len(body) < _HEADER.size:
        raise Malformed(
            f"expected {BINARY}, got {len(body)} bytes of {response.content_type!r}"
        )
    magic, rows, columns, counter = _HEADER.unpack_from(body)
    if (magic, rows, columns) != (MAGIC, count, width):
        raise Malformed(
            f"expected {count} rows of {width} numbers, got {magic!r}, {rows} x {columns}"
        )
    if len(body) != _HEADER.size + 8 * count * width:
        raise Malformed(f"{len(body)} bytes are not {count} rows of {width} numbers")
    values = np.frombuffer(body, "<f8", offset=_HEADER.size).reshape(count, width)
    return _finite(values), counter


def parse_table(response: Response, width: int) -> Floats:
    """The rows (n, width) of a binary answer with any number of them.

    Raises:
        Malformed: no such answer, or numbers that are not finite.
        BadStatus: an error of HTTP.
    """
    body = response.checked().body
    count = _HEADER.unpack_from(body)[1] if len(body) >= _HEADER.size else 0
    return parse_rows(response, count, width)[0]


def _finite(rows: Floats) -> Floats:
    if not np.isfinite(rows).all():
        raise Malformed("a state holds values that are not finite numbers")
    return rows


def _json(data: Any) -> bytes:
    return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def _names(rows: list[dict[str, Any]]) -> str:
    return ", ".join(f"{row['name']}[{row['size']}]" for row in rows) or "nothing"
