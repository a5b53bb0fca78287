"""Many copies of a character, stepped together under stable PD control."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import mujoco
import numpy as np
from numba import njit
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion_env import Backend
from ambulo.envs.characters.character import Character
from ambulo.envs.simulation.physics import Physics, make_physics
from ambulo.envs.simulation.tangent import Tangent
from ambulo.envs.state_arrays import Arrays, flattened, part_of
from ambulo.muscle.dynamics import dynamics_of_batch
from ambulo.muscle.spd import SpdController

log = logging.getLogger(__name__)


_FORWARD = int(mujoco.mjtStage.mjSTAGE_ACC)
_VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)

FASTEST = 100.0
"""Generalised velocity above which a simulation counts as exploded, [m/s], [rad/s]."""

FAULTS = (
    "",
    "not finite: a position or velocity is NaN or infinite",
    f"exploded: a velocity above {FASTEST:.0f} m/s or rad/s",
    "unsolvable: stable PD found no torque",
)
"""Reasons by code; 0 is no fault."""
NOT_FINITE, TOO_FAST, UNSOLVABLE = 1, 2, 3

_STATE = ("time", "qpos", "qvel", "act", "ctrl", "xfrc_applied")
"""Inputs of MuJoCo's integration."""
_GUESS = "qacc_warmstart"
"""The solver's initial guess of the next step."""
_LAST_STEP = ("constraint", "torque", "fault")
"""Arrays of the simulation itself that the next step needs from the last one."""


def log_mujoco_warnings() -> None:
    """Send MuJoCo's warnings to `logging`, unless a handler is installed already.

    MuJoCo would print them and write a file into the working folder. An unstable body is
    reported as a fault, so its warning has level DEBUG.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_log_warning)


def _log_warning(message: str) -> None:
    unstable = "simulation is unstable" in message
    log.log(logging.DEBUG if unstable else logging.WARNING, "MuJoCo: %s", message)


class Actuation(Protocol):
    """Turns the joint torques of stable PD into controls."""

    def apply(self, torque: Floats, out: Floats) -> None:
        """Fill the controls `out` (N, nu) for torques on the independent axes, [N m]."""

    def reset(self, ids: Ints) -> None:
        """Clear the state of `ids`."""

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Copies of the state between steps, by name."""
        ...

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`."""


class TorqueMotors:
    """One motor for each joint's degree of freedom, with a largest torque."""

    def __init__(self, model: mujoco.MjModel) -> None:
        """Look the motors' limits up."""
        self._low, self._high = model.actuator_forcerange.T.copy()

    def apply(self, torque: Floats, out: Floats) -> None:
        """Clip the torque to the motors' limits."""
        _clip(torque, self._low, self._high, out)

    def reset(self, ids: Ints) -> None:
        """Do nothing: motors have no state."""

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return an empty dictionary."""
        return {}

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Do nothing."""


class CharacterSimulation:
    """N simulations of one character, driven by targets of their joints.

    In every substep, stable PD turns target positions, target velocities and a feed-forward
    torque into a torque, and the actuation turns that into controls.
    """

    def __init__(
        self,
        character: Character,
        count: int,
        *,
        substeps: int = 5,
        threads: int = 1,
        model: mujoco.MjModel | None = None,
        actuation: Callable[[Physics], Actuation] | None = None,
        backend: Backend = "cpu",
    ) -> None:
        """Simulations at the model's rest.

        Args:
            character: The body.
            count: N.
            substeps: Physics steps of a control step.
            threads: Threads that step.
            model: The body in another world; the character's own if None.
            actuation: Creates the actuation of the bodies from their simulations; the
                character's own if None.
            backend: Physics back end; see `make_physics` for errors.
        """
        if count < 1 or substeps < 1:
            raise ConfigError("a simulation needs at least one body and one substep")
        log_mujoco_warnings()
        self.character, self.count, self.substeps = character, count, substeps
        self.model = character.model if model is None else model
        # Otherwise MuJoCo silently resets a body that explodes within a step.
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self.dt = float(self.model.opt.timestep) * substeps
        self.tangent = Tangent(self.model)
        self._batch = make_physics(self.model, count, threads, backend)
        self._spd = SpdController(self.model, character.gains)
        makes = actuation or character.actuation
        self.actuation: Actuation = (
            TorqueMotors(self.model) if makes is None else makes(self._batch)
        )
        self.driven: Ints = self._spd.coupling.independent[6:]
        """Degrees of freedom of the joints that are tied to no other. Shape (nr,)."""
        all_driven = len(self.driven) == self.model.nv - 6
        self._driven = slice(6, None) if all_driven else self.driven
        self.ctrl: Floats = self._batch.bind("ctrl")
        self.qpos: Floats = self._batch.bind("qpos")
        self.qvel: Floats = self._batch.bind("qvel")
        self.time: Floats = self._batch.bind("time")
        live = dynamics_of_batch(self._batch)
        self._constraint_now = live.constraint
        self.constraint: Floats = np.zeros((count, self.model.nv))
        """Constraint forces of the last step, which stable PD reads. Shape (N, nv)."""
        self._before = replace(
            live,
            qpos=self.qpos.copy(),
            qvel=self.qvel.copy(),
            constraint=self.constraint,
        )
        """Input of stable PD: the state at the start of a step, and its forces."""
        self.push: Floats = self._batch.bind("xfrc_applied")
        """External force and moment on each body, [N], [N m]. Shape (N, nbody, 6)."""
        self._warmstart: Floats = self._batch.bind("qacc_warmstart")
        self.torque: Floats = np.zeros((count, len(self.driven)))
        """Requested torque of the independent joint axes in the last substep, [N m]."""
        self.fault: Ints = np.zeros(count, dtype=np.int64)
        """Why a simulation stopped, as in `FAULTS`; 0 while it runs."""
        self.fault_state: dict[int, tuple[Floats, Floats]] = {}
        """qpos and qvel before the step in which a simulation exploded, for replay."""

    def bind(self, field: str) -> Floats:
        """A live array (N, ...) of an `MjData` field; only state may be written to."""
        values: Floats = self._batch.bind(field)
        return values

    def copy_data(self, sim: int, data: mujoco.MjData) -> None:
        """Fill `data`, of this model, with the complete state of simulation `sim`."""
        self._batch.get_data(sim, data)

    def use_models(self, models: Sequence[mujoco.MjModel]) -> None:
        """Run simulation i on `models[i]`: edited copies of the model, of the same sizes.

        Call it again after an edit. Back end `cpu` only.
        """
        self._batch.set_models(models)

    def forward(self, ids: Ints, stage: int = _FORWARD) -> None:
        """Update the fields derived from the state of `ids`, up to a MuJoCo stage."""
        self._batch.forward(ids.astype(np.int32), stage)

    def reset(
        self,
        ids: Ints,
        time: Floats,
        qpos: Floats,
        qvel: Floats,
        ctrl: Floats | None = None,
    ) -> None:
        """Set the states of simulations `ids` (n,): time (n,), qpos (n, nq), qvel (n, nv).

        `ctrl` (n, nu) are the present controls; zero if None.
        """
        self._warmstart[ids] = 0.0
        self.ctrl[ids], self.push[ids], self.torque[ids] = 0.0, 0.0, 0.0
        self.time[ids], self.qpos[ids], self.qvel[ids] = time, qpos, qvel
        self.fault[ids] = 0
        for sim in ids:
            self.fault_state.pop(int(sim), None)
        self.actuation.reset(ids)
        if ctrl is not None:
            self.ctrl[ids] = ctrl
        self.forward(ids)
        self.constraint[ids] = self._constraint_now[ids]

    def state_dict(self) -> Arrays:
        """Everything that the next step depends on, as copies by name."""
        arrays = {name: self.bind(name).copy() for name in (*_STATE, _GUESS)}
        arrays |= {name: getattr(self, name).copy() for name in _LAST_STEP}
        return arrays | flattened({"actuation": self.actuation.state_dict()})

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`; the next step is bit for bit the same.

        Raises:
            KeyError: An array is missing.
            ValueError: An array has another shape: of another model or count.
        """
        for name in _STATE:
            _put(self.bind(name), arrays[name], name)
        self.forward(np.arange(self.count), _VELOCITY)
        _put(self.bind(_GUESS), arrays[_GUESS], _GUESS)
        for name in _LAST_STEP:
            _put(getattr(self, name), arrays[name], name)
        self.actuation.load_state_dict(part_of(arrays, "actuation"))

    def step(
        self, target: Floats, velocity: Floats, torque: Floats | None = None
    ) -> None:
        """One substep towards `target` (N, nq) and `velocity` (N, nv).

        `torque` (N, nv) is a feed-forward that the controller takes into account.
        """
        np.copyto(self._before.qpos, self.qpos)
        np.copyto(self._before.qvel, self.qvel)
        wanted, solved = self._spd.torques(
            self._before, target, target_velocity=velocity, external=torque
        )
        if torque is None:
            self.torque[:] = wanted[:, 6:]
        else:
            np.add(wanted[:, 6:], torque[:, self._driven], out=self.torque)
        self.actuation.apply(self.torque, self.ctrl)
        if np.count_nonzero(solved) < self.count:
            self._stop(~solved, UNSOLVABLE)
        self._batch.step(stage=_VELOCITY)
        np.copyto(self.constraint, self._constraint_now)
        if not _slower(self.qvel, FASTEST):
            self._stop(~(np.abs(self.qvel).max(axis=1) < FASTEST), TOO_FAST)
        if np.count_nonzero(self.fault):
            self._park(np.flatnonzero(self.fault))

    def _stop(self, which: Bools, reason: int) -> None:
        """Record why simulations `which` stop, and the state that led to it."""
        for sim in np.flatnonzero(which & (self.fault == 0)):
            before = self._before.qpos[sim].copy(), self._before.qvel[sim].copy()
            states = np.concatenate([*before, self.qpos[sim], self.qvel[sim]])
            self.fault[sim] = reason if np.isfinite(states).all() else NOT_FINITE
            self.fault_state[int(sim)] = before
        self._park(np.flatnonzero(which))

    def _park(self, ids: Ints) -> None:
        """Reset stopped simulations to rest, so that they stay cheap and finite."""
        self.qpos[ids], self.qvel[ids] = self.model.qpos0, 0.0
        self.ctrl[ids], self.push[ids], self._warmstart[ids] = 0.0, 0.0, 0.0
        self.torque[ids] = 0.0
        self.forward(ids)
        self.constraint[ids] = self._constraint_now[ids]


def _put(target: NDArray[Any], values: NDArray[Any], name: str) -> None:
    if target.shape != values.shape:
        raise ValueError(f"{name} has shape {values.shape}, not {target.shape}")
    target[...] = values


@njit(cache=True)
def _slower(speeds: Floats, limit: float) -> bool:
    """Whether all |`speeds`| (N, nv) are below `limit`; False for NaN."""
    for b in range(speeds.shape[0]):
        for i in range(speeds.shape[1]):
            if not abs(speeds[b, i]) < limit:
                return False
    return True


@njit(cache=True)
def _clip(values: Floats, low: Floats, high: Floats, out: Floats) -> None:
    """Fill `out` (N, n) with `values` between `low` and `high` (n,); NaN stays NaN."""
    for b in range(values.shape[0]):
        for i in range(values.shape[1]):
            value = values[b, i]
            value = max(value, low[i])
            out[b, i] = high[i] if value > high[i] else value
