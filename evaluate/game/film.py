"""Film of an episode of a game, in the pictures that its engine draws."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from ambulo.envs.offscreen import Frame
from ambulo.envs.vr.world.render import write_video
from ambulo.evaluate.game.engines import KindsBatch
from ambulo.evaluate.game.play import Player, steps_of
from ambulo.viz.picture import pixels

MOST_SECONDS = 60.0
"""Longest film, [s]."""
LAST_HOLD = 0.6
"""How long the end stays in the picture, [s]."""


def write_game_film(
    path: Path, batch: KindsBatch, player: Player, opponent: Player
) -> None:
    """Film the first agent's next episode in real time, a frame a step; closes the game.

    Args:
        path: .mp4 or .gif file.
        batch: Seeded agents of a game that draws.
        player: Acts for the first teams.
        opponent: Acts for the others.

    Raises:
        RenderError: No encoder, or the file cannot be written.
        BridgeError: The game ends, or draws nothing.
    """
    fps = 1.0 / batch.game.spec.step_seconds
    with batch.game:
        write_video(_frames(batch, player, opponent, fps), path, fps)


def _frames(
    batch: KindsBatch, player: Player, opponent: Player, fps: float
) -> Iterator[Frame]:
    """Pictures after each step of the episode; the last one stays for a while."""
    played = steps_of(batch, player, opponent, batch.team == 0)
    for info, ended in islice(played, max(1, round(MOST_SECONDS * fps))):
        if not np.any(info.get("bridge_fault", False)):  # the engine has to start again
            frame = pixels(batch.game.picture())
            yield frame
        if 0 in ended:
            break
    for _ in range(round(LAST_HOLD * fps)):
        yield frame
