"""The agents of a game, in the pictures that its engine draws."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Ints
from ambulo.configs.batch import TaskBatch
from ambulo.viz.viewer.snapshot import Layer, Picture, PictureLayer, Snapshot
from ambulo.viz.viewer.stage import Choice, Control, PlainStage, Plot, WriteFilm

FILM_SECONDS = 10.0
LAYER = "game/picture"
TERM = "reward/"
"""Beginning of the names of reward terms among the infos."""
TERMS = 8
"""Largest number of reward terms in a plot."""


class GamePlayer(Protocol):
    """Acts for all agents; see `evaluate.game.play.Player`."""

    def act(self, batch: Any, /) -> NDArray[np.generic]:
        """Return actions of all agents."""

    def reset(self, rows: Ints, /) -> None:
        """Forget the episodes of `rows` (k,)."""


class GameStage(PlainStage):
    """All agents of a game; the first one's rewards are plotted."""

    reach = 3.2
    view = (0.0, -1.0, 0.06)

    def __init__(
        self,
        batch: TaskBatch,
        players: Mapping[str, GamePlayer],
        picture: Callable[[], bytes],
        dt: float,
        title: str,
        seed: int = 0,
    ) -> None:
        """Agents of a game that draws; only this stage steps it.

        Args:
            batch: The agents.
            players: What may act, by name; the first one does at first.
            picture: Returns the present picture, an image file.
            dt: Duration of a step in the game, [s].
            title: Title.
            seed: Of the first agent's first episode.
        """
        self.batch, self.title, self.dt = batch, title, dt
        self.layers: Mapping[str, Layer] = {LAYER: PictureLayer()}
        self._players, self._picture = players, picture
        self._acting = next(iter(players))
        self._time, self._seed = 0.0, seed
        self._pictures: deque[Picture] = deque(maxlen=max(1, round(FILM_SECONDS / dt)))
        self._terms: tuple[str, ...] = ()

    def reset(self) -> Snapshot:
        """Begin new episodes of all agents, and make a step, which draws them."""
        count = self.batch.num_envs
        self.batch.seed([self._seed + row for row in range(count)])
        self._seed += count
        self._begin(np.arange(count))
        self._pictures.clear()
        return self._step(cut=True)

    def step(self) -> Snapshot:
        """One step of all agents."""
        return self._step(cut=False)

    def controls(self) -> Mapping[str, Sequence[Control]]:
        """What acts."""
        names = tuple(self._players)
        if len(names) == 1:
            return {}
        choice = Choice("Player", names, self._acting, self._choose, "What acts")
        return {"Agents": [choice]}

    def plots(self) -> Sequence[Plot]:
        """Rewards of the first agent."""
        return [Plot("reward", "reward of the first agent", ("total", *self._terms))]

    def film(self) -> WriteFilm | None:
        """Film of the last ten seconds."""
        from ambulo.envs.vr.world.render import write_video
        from ambulo.viz.picture import pixels

        pictures, dt = tuple(self._pictures), self.dt
        if not pictures:
            return None
        return lambda path: write_video(
            (pixels(p.data) for p in pictures), path, 1.0 / dt
        )

    def close(self) -> None:
        """End the engine."""
        self.batch.close()

    def _choose(self, name: str) -> None:
        self._acting = name
        self._players[name].reset(np.arange(self.batch.num_envs))

    def _begin(self, rows: Ints) -> None:
        self.batch.reset(rows)
        for player in self._players.values():
            player.reset(rows)

    def _step(self, *, cut: bool) -> Snapshot:
        actions = self._players[self._acting].act(self.batch)
        _, rewards, terminated, truncated, info = self.batch.step(actions)
        self._time += self.dt
        ended = np.flatnonzero(terminated | truncated)
        if np.any(info.get("bridge_fault", False)):
            self._begin(
                ended
            )  # starts the engine again; without it there is no picture
            ended = ended[:0]
        picture = Picture(self._picture())
        self._pictures.append(picture)
        names = [name for name in info if name.startswith(TERM)][:TERMS]
        self._terms = tuple(name.removeprefix(TERM) for name in names)
        values = {name: float(info[name][0]) for name in names}
        values["reward/total"] = float(rewards[0])
        if len(ended):
            self._begin(ended)
        return Snapshot(self._time, np.zeros(3), {LAYER: picture}, values, cut)
