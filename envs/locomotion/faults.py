"""The state of an exploded simulation as a file, for replay."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ambulo.envs.locomotion.simulation import FAULTS
from ambulo.motion.formats.disk import write_bytes
from ambulo.motion.formats.npz import packed

if TYPE_CHECKING:
    from ambulo.envs.locomotion.batch import LocomotionBatch

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def report_faults(batch: LocomotionBatch, players: Ints, actions: Floats) -> None:
    """Log each new fault of `players`, and keep its state if that is wanted."""
    folder = batch.config.environment.fault_folder
    for player in players:
        reason = FAULTS[int(batch.simulation.fault[player])]
        where = ""
        if folder is not None:
            state = batch.simulation.fault_state[int(player)]
            path = save_fault(Path(folder), batch, int(player), state, actions)
            where = f"; state in {path}"
        time = batch.episode.steps[player] * batch.simulation.dt
        log.warning("body %d at %.2f s: %s%s", player, time, reason, where)


def save_fault(
    folder: Path,
    batch: LocomotionBatch,
    player: int,
    state: tuple[Floats, Floats],
    actions: Floats,
) -> Path:
    """Write the state before body `player` exploded; the file's path.

    An NPZ file: qpos, qvel, the phase, the action and the moving frame, and a JSON header
    that says what it is of.
    """
    steps = int(batch.episode.steps[player])
    header = {
        "format": "ambulo-fault",
        "character": batch.character.name,
        "reference": batch.reference.name,
        "reason": FAULTS[int(batch.simulation.fault[player])],
        "steps": steps,
    }
    folder.mkdir(parents=True, exist_ok=True)
    number = len(list(folder.glob("fault_*.npz")))
    path = folder / f"fault_{number:04d}_body{player}_step{steps}.npz"
    arrays: dict[str, NDArray[np.generic]] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "qpos": state[0],
        "qvel": state[1],
        "phase": batch.phase[player : player + 1].copy(),
        "action": actions[player].copy(),
        "anchor": batch.anchor[player].copy(),
    }
    write_bytes(path, packed(arrays))
    return path
