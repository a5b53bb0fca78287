"""Physics back ends, which step many simulations of one model.

`cpu` is `mujoco.batch.Batch`, in double precision on threads. `warp` is MuJoCo Warp, in single
precision on a CUDA device or, without one, on Warp's own CPU device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import mujoco
from mujoco.batch import Batch
from numpy.typing import NDArray

from ambulo.configs.locomotion_env import Backend


class Physics(Protocol):
    """N simulations of one model; the part of `mujoco.batch.Batch` that Ambulo uses."""

    def bind(self, name: str, /) -> NDArray[Any]:
        """A live array (N, ...) of a field of `MjData`.

        State is read at the next call; derived fields are written by every call.
        """
        ...

    def step(self, *, stage: int) -> None:
        """Advance all by one time step; then compute derived fields up to `stage`."""
        ...

    def forward(self, ids: NDArray[Any], stage: int, /) -> None:
        """Compute the fields derived from the state of `ids`, up to a stage of MuJoCo."""
        ...

    def set_models(self, models: Sequence[mujoco.MjModel], /) -> None:
        """Run simulation i on `models[i]`, whose data have the same layout."""
        ...

    def get_data(self, sim: int, data: mujoco.MjData, /) -> Any:
        """Fill `data` with the complete state of simulation `sim`."""
        ...


def make_physics(
    model: mujoco.MjModel, count: int, threads: int, backend: Backend = "cpu"
) -> Physics:
    """Make `count` simulations of `model`.

    Args:
        model: Model of all simulations; not copied.
        count: N.
        threads: CPU threads that step; of `cpu` only.
        backend: `cpu` or `warp`.

    Raises:
        ConfigError: `warp` without its packages, or with a model that it does not support.
    """
    if backend == "warp":
        from ambulo.envs.simulation.warp_physics import WarpPhysics

        return WarpPhysics(model, count)
    return Batch(model, count, threads, persistent=True)
