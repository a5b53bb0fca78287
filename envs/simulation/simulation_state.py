"""The physics of a `CharacterSimulation` as plain arrays, to go on from later."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.envs.simulation.simulation import CharacterSimulation

Arrays = dict[str, NDArray[Any]]

_STATE = ("time", "qpos", "qvel", "act", "ctrl", "xfrc_applied")
"""What MuJoCo integrates, and what acts on it."""
_GUESS = "qacc_warmstart"
"""The solver's first guess of the next step."""
_LAST_STEP = ("constraint", "torque", "fault")
"""What the next step takes from the last one, in the simulation's own arrays."""
_ACTUATION = "actuation."
"""Begins the names of what the actuation remembers."""


def capture_simulation(simulation: CharacterSimulation) -> Arrays:
    """Everything that the next step depends on, as copies by name."""
    arrays = {name: simulation.bind(name).copy() for name in (*_STATE, _GUESS)}
    for name in _LAST_STEP:
        arrays[name] = getattr(simulation, name).copy()
    kept = simulation.actuation.state_dict()
    return arrays | {f"{_ACTUATION}{name}": array for name, array in kept.items()}


def restore_simulation(simulation: CharacterSimulation, arrays: Arrays) -> None:
    """Put `capture_simulation`'s arrays back; the next step is bit for bit the same.

    Raises:
        KeyError: An array is missing.
        ValueError: One has another shape: it is of another model or count.
    """
    for name in _STATE:
        _put(simulation.bind(name), arrays[name], name)
    simulation.forward(np.arange(simulation.count), int(mujoco.mjtStage.mjSTAGE_VEL))
    _put(simulation.bind(_GUESS), arrays[_GUESS], _GUESS)
    for name in _LAST_STEP:
        _put(getattr(simulation, name), arrays[name], name)
    simulation.actuation.load_state_dict(
        {
            name.removeprefix(_ACTUATION): array
            for name, array in arrays.items()
            if name.startswith(_ACTUATION)
        }
    )


def _put(target: NDArray[Any], values: NDArray[Any], name: str) -> None:
    if target.shape != values.shape:
        raise ValueError(f"{name} has shape {values.shape}, not {target.shape}")
    target[...] = values
