"""Recorded play of a game's agents: JSON files of the add-on, and of godot-rl's recorder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ambulo.common.paths import resolve_path
from ambulo.configs.agent_spec import AgentSpec
from ambulo.configs.arrays import Singles
from ambulo.configs.base import read_json
from ambulo.configs.errors import ConfigError, nearest
from ambulo.evaluate.game.play import EpisodeTable

FORMAT = "ambulo-demonstration"
"""Value of `format` in files of the add-on, one episode each."""
MAX_BYTES = 2**28
"""Largest file that is read, [bytes]."""


@dataclass
class Demonstrations:
    """The recorded episodes of one kind of agent."""

    obs: list[Singles] = field(default_factory=list)
    """Observations of each episode, (steps, size)."""
    actions: list[Singles] = field(default_factory=list)
    """Rows of actions in them, (steps, width)."""
    table: EpisodeTable = field(default_factory=EpisodeTable)
    """Scores of the episodes."""


def read_demonstrations(
    folder: str, kinds: Sequence[AgentSpec]
) -> dict[str, Demonstrations]:
    """Return the recordings in a folder by kind of agent.

    Raises:
        ConfigError: No recordings, or one that does not fit to `kinds`; it is named.
    """
    place = resolve_path(folder)
    files = sorted(place.glob("*.json")) if place.is_dir() else [place]
    if not files:
        raise ConfigError(f"{place}: no recordings (*.json)")
    found: dict[str, Demonstrations] = {}
    for file in files:
        data = read_json(file, MAX_BYTES)
        try:
            if isinstance(data, list):
                _read_godot_rl(data, kinds, found)
            else:
                _read_episode(data, kinds, found)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ConfigError(f"{file}: no recording of this game: {error}") from None
    return found


def _read_episode(
    data: Mapping[str, Any],
    kinds: Sequence[AgentSpec],
    found: dict[str, Demonstrations],
) -> None:
    """Add one episode that the add-on has recorded."""
    if data.get("format") != FORMAT:
        raise ValueError(f"format is not {FORMAT!r}")
    kind = _kind(str(data.get("kind")), kinds)
    steps = len(data["reward"])
    obs = [_rows(data["observation"], p.name, steps, p.size) for p in kind.observation]
    acted = [_rows(data["action"], p.name, steps, p.width) for p in kind.action]
    success = data.get("success")
    _add(
        found, kind, np.concatenate(obs, axis=1), np.concatenate(acted, axis=1),
        float(np.sum(data["reward"])), math.nan if success is None else float(success),
    )  # fmt: skip


def _read_godot_rl(
    data: Sequence[Any], kinds: Sequence[AgentSpec], found: dict[str, Demonstrations]
) -> None:
    """Add the trajectories of godot-rl's recorder, which has one kind and no rewards."""
    if len(kinds) > 1:
        raise ValueError("it does not say which kind of agent it is of")
    kind = kinds[0]
    for seen, acted in data:
        steps = len(acted)
        actions = np.array(acted, np.float32).reshape(steps, kind.action_width)
        obs = np.array(seen, np.float32)[:steps].reshape(steps, kind.observation_size)
        _add(found, kind, obs, actions, math.nan, math.nan)


def _add(
    found: dict[str, Demonstrations],
    kind: AgentSpec,
    obs: Singles,
    actions: Singles,
    total: float,
    success: float,
) -> None:
    if not (np.isfinite(obs).all() and np.isfinite(actions).all()):
        raise ValueError("a number is not finite")
    for part in kind.action:
        values = actions[:, kind.action_slices()[part.name]]
        most = 1.0 if part.choices is None else part.choices - 1.0
        least = -1.0 if part.choices is None else 0.0
        if ((values < least) | (values > most)).any():
            raise ValueError(f"action {part.name!r}: beyond {least:g} to {most:g}")
    demos = found.setdefault(kind.name, Demonstrations())
    demos.obs.append(obs)
    demos.actions.append(actions)
    if not math.isnan(total):
        demos.table.returns.append(total)
        demos.table.lengths.append(len(obs))
        demos.table.successes.append(success)


def _rows(parts: Mapping[str, Any], name: str, steps: int, size: int) -> Singles:
    rows: Singles = np.array(parts[name], np.float32).reshape(steps, size)
    return rows


def _kind(name: str, kinds: Sequence[AgentSpec]) -> AgentSpec:
    """Return the kind called `name`, whose team, if it has one, is behind an @."""
    for kind in kinds:
        if kind.name == name.partition("@")[0]:
            return kind
    names = [kind.name for kind in kinds]
    raise ValueError(
        f"kind {name!r}: the game has {', '.join(names)}{nearest(name, names)}"
    )
