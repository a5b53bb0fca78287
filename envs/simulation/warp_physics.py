"""Physics of many simulations on MuJoCo Warp: single precision, on a GPU or Warp's CPU.

Callers see arrays in main memory and double precision, as with `mujoco.batch.Batch`. Every call
sends the state to the device, and fetches the state and the bound fields. Time is counted here,
so that it keeps its precision.

Differences from MuJoCo's own engine that matter are listed in docs/gpu.md.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import AmbuloError, ConfigError

MAX_CONSTRAINTS = 512
"""Constraint rows of one simulation: contacts (4 rows each), limits and couplings."""
MAX_CONTACTS = 96
"""Contacts of one simulation, averaged over all."""
_STATE = ("qpos", "qvel", "act", "ctrl", "xfrc_applied", "qacc_warmstart")
"""Fields that callers may write."""
_INTEGRATED = ("qpos", "qvel", "act", "qacc_warmstart")
"""Fields of `_STATE` that a step changes."""
_VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)


class WarpPhysics:
    """N simulations of one model in MuJoCo Warp; see `Physics` for the interface."""

    def __init__(self, model: mujoco.MjModel, count: int) -> None:
        """Simulations at the model's rest.

        Raises:
            ConfigError: MuJoCo Warp is not installed, or does not support the model.
        """
        try:
            import mujoco_warp
            import warp
        except ImportError as error:
            raise ConfigError(
                f"backend = warp needs the package {error.name}: pip install 'ambulo[gpu]'"
            ) from None
        warp.config.log_level = warp.LOG_WARNING
        self._warp, self._engine = warp, mujoco_warp
        self._model, self._count = _without_autoreset(model), count
        self._template = mujoco.MjData(self._model)
        try:
            self._device_model = mujoco_warp.put_model(self._model)
        except NotImplementedError as error:
            raise ConfigError(
                f"backend = warp: MuJoCo Warp does not support this body "
                f"({str(error).rstrip('.')}); use backend = cpu"
            ) from None
        self._device_model.opt.deterministic = mujoco_warp.DeterminismType.ALL
        self._device_model.opt.warn_overflow = False
        self._data = mujoco_warp.make_data(
            self._model, nworld=count, nconmax=MAX_CONTACTS, njmax=MAX_CONSTRAINTS
        )
        kinds = mujoco_warp.OverflowType
        self._no_room = int(kinds.ALL & ~(kinds.ITERATIONS | kinds.LS_ITERATIONS))
        self._graphs: dict[str, Any] = {}
        self._fields: dict[str, NDArray[Any]] = {
            name: _repeated(getattr(self._template, name), count) for name in _STATE
        }
        self._time: Floats = np.zeros(count)
        self._derived: dict[str, NDArray[Any]] = {}
        self._last: tuple[Floats, Floats] | None = None
        """Positions and velocities for which the device's derived fields are valid."""

    def set_models(self, models: object, /) -> None:
        """Not supported: all simulations have one model on the device."""
        raise ConfigError(
            "backend = warp: bodies in different levels need backend = cpu"
        )

    @property
    def device(self) -> str:
        """The device that computes, such as `cuda:0` or `cpu`."""
        return str(self._data.qpos.device)

    def bind(self, name: str) -> NDArray[Any]:
        """A live array (N, ...) of a field of `MjData`.

        Raises:
            AttributeError: MuJoCo Warp has no such field.
        """
        if name == "time":
            return self._time
        if name in self._fields:
            return self._fields[name]
        if name not in self._derived:
            getattr(self._data, name)
            like = np.asarray(getattr(self._template, name))
            self._derived[name] = _repeated(np.zeros_like(like), self._count)
            self._fetch({name: self._derived[name]})
        return self._derived[name]

    def step(self, *, stage: int) -> None:
        """Advance all by one time step; then compute derived fields up to `stage`."""
        self._send()
        if not self._is_current():
            self._run("step1")
        self._run("step2")
        self._fetch({name: self._fields[name] for name in _INTEGRATED})
        self._time += float(self._model.opt.timestep)
        self._run("step1" if stage <= _VELOCITY else "forward")
        self._fetch(self._derived)
        self._note()

    def forward(self, ids: NDArray[Any], stage: int) -> None:
        """Compute the fields derived from the state of `ids` (n,), up to a stage of MuJoCo.

        The device computes all simulations; only those of `ids` are fetched.
        """
        self._send()
        self._run("step1" if stage <= _VELOCITY else "forward")
        guess = {} if stage <= _VELOCITY else {"qacc_warmstart"}
        guesses = {name: self._fields[name] for name in guess}
        self._fetch(self._derived | guesses, ids)
        self._note()

    def get_data(self, sim: int, data: mujoco.MjData) -> mujoco.MjData:
        """Fill `data` with the complete state of simulation `sim`."""
        self._send()
        self._engine.get_data_into(data, self._model, self._data, world_id=sim)
        data.time = self._time[sim]
        for name, values in self._fields.items():
            np.copyto(getattr(data, name), values[sim])
        return data

    def _send(self) -> None:
        """Send the state to the device."""
        for name, values in self._fields.items():
            if values.size:
                getattr(self._data, name).assign(values.astype(np.float32))

    def _fetch(
        self, fields: dict[str, NDArray[Any]], ids: NDArray[Any] | None = None
    ) -> None:
        """Copy fields, of all simulations or of `ids`, from the device."""
        rows = slice(None) if ids is None else ids
        for name, values in fields.items():
            found = getattr(self._data, name).numpy().reshape(values.shape)
            values[rows] = found[rows]
        overflow = self._data.overflow.numpy() & self._no_room
        if overflow.any():
            raise AmbuloError(
                f"backend = warp: simulation {int(np.argmax(overflow != 0))} has more "
                f"contacts or constraints than there is room for ({MAX_CONTACTS}, "
                f"{MAX_CONSTRAINTS}); use backend = cpu"
            )

    def _is_current(self) -> bool:
        """Whether the derived fields match the positions and velocities."""
        if self._last is None:
            return False
        now = (self._fields["qpos"], self._fields["qvel"])
        return all(map(np.array_equal, self._last, now))

    def _note(self) -> None:
        self._last = (self._fields["qpos"].copy(), self._fields["qvel"].copy())

    def _run(self, name: str) -> None:
        """Run a function of MuJoCo Warp; on a GPU as a recorded CUDA graph."""
        function: Callable[..., None] = getattr(self._engine, name)
        if not self._data.qpos.device.is_cuda:
            function(self._device_model, self._data)
            return
        if name not in self._graphs:
            function(self._device_model, self._data)  # compiles, before the recording
            with self._warp.ScopedCapture() as capture:
                function(self._device_model, self._data)
            self._graphs[name] = capture.graph
            self._send()
        self._warp.capture_launch(self._graphs[name])


def _without_autoreset(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of `model` without the flag that disables auto-reset, which Warp does not have."""
    found = copy.copy(model)
    found.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    return found


def _repeated(values: Any, count: int) -> NDArray[Any]:
    """`values` (...) as an array (count, ...) of its own."""
    row = np.asarray(values)
    kind = np.float64 if row.dtype.kind == "f" else row.dtype
    return np.array(np.broadcast_to(row, (count, *row.shape)), kind)
