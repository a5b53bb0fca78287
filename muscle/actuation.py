"""Muscle actuation of N simulations: activations that produce a requested torque.

Motors of a body, on joints that no muscle turns, exert their torque directly.

The exact solver (`muscle.solver`) or a muscle network distributes the torque over the
muscles every second physics step. The control goes through MuJoCo's activation dynamics (10 ms
up, 40 ms down; `muscle.activation`). The bounds are the activations that each muscle can reach
by the next refresh, so that antagonists compensate for muscles that cannot relax in time.

Solver and network have the same inputs and output: the fractions u in [0, 1] of each muscle's
reachable range for which `active` u is the torque `wanted`, the requested torque minus the
passive torque and the torque of the lower bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mujoco
import numpy as np
from mujoco.batch import Batch
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import ActivationCost
from ambulo.muscle.activation import control_for, next_activation, time_constants
from ambulo.muscle.conditions import Condition
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.dynamics import transmission_of_batch
from ambulo.muscle.muscle_nn import MuscleNN, group_factors
from ambulo.muscle.muscles import MuscleLayer, MuscleTorque
from ambulo.muscle.solver import solve

Listener = Callable[[Floats, Floats], None]
"""Called with `active` (n, na, m) and `wanted` (n, na) of n bodies that are refreshed."""


class MuscleActuation:
    """Controls of N bodies' muscles for the torques requested by stable PD."""

    def __init__(
        self,
        model: mujoco.MjModel,
        batch: Batch,
        *,
        refresh: int = 2,
        cost: ActivationCost | None = None,
        network: MuscleNN | None = None,
        state: Condition | None = None,
    ) -> None:
        """Create the actuation of the muscles of `model`.

        Args:
            model: Model of the bodies.
            batch: Their simulations.
            refresh: Physics steps between updates of the activations.
            cost: Cost of the solver.
            network: Used instead of the solver.
            state: Condition of the model's muscles, an input of networks trained over
                conditions. Healthy if None.

        Raises:
            MuscleError: No muscles, a network for others, or `refresh` below 1.
        """
        if refresh < 1:
            raise MuscleError(f"refresh: expected 1 or more steps, got {refresh}")
        self.layer = MuscleLayer(model, joint_coupling(model))
        self._transmission = transmission_of_batch(batch)
        self._qpos: Floats = batch.bind("qpos")
        self._act: Floats = batch.bind("act")
        self._motors = motor_rows(model, self.layer.dofs)
        self._limits = model.actuator_forcerange[self._motors[0]].T.copy()
        self._refresh = refresh
        self._cost = cost or ActivationCost()
        self._constants = time_constants(model, self.layer.table.actuator)
        self._dt = float(model.opt.timestep)
        count = len(self._qpos)
        self._age: Ints = np.zeros(count, dtype=np.int64)
        self._fresh = np.ones(count, dtype=np.bool_)
        self._dual = np.zeros((count, len(self.layer.coupling.actuated)))
        self.activation: Floats = np.zeros((count, self.layer.table.size))
        """Activations requested last. Shape (N, m)."""
        self.residual: Floats = np.zeros_like(self._dual)
        """Torque of the muscles minus the requested torque, at the last refresh, [N m]."""
        self.listener: Listener | None = None
        """Called with the inputs of every resolution, if not None."""
        self.network: MuscleNN | None = None
        """The resolver; None: the exact solver."""
        self.factors: Floats | None = None
        """Condition of the muscle groups, shared by all bodies, (2 G,); None: healthy."""
        if state is not None:
            self.factors = group_factors(self.layer.table.names, state)
        if network is not None:
            self.use(network)

    def use(self, network: MuscleNN) -> None:
        """Use `network` from now on; `MuscleError` if it is for other muscles."""
        if network.muscles != self.layer.table.names:
            raise MuscleError(
                f"muscle network: made for {len(network.muscles)} other muscles than the"
                f" {self.layer.table.size} of this body; train one for it"
            )
        self.network = network

    def apply(self, torque: Floats, out: Floats) -> None:
        """Fill the controls `out` (N, m) for torques on the joints (N, na), [N m]."""
        due = self._age % self._refresh == 0
        if due.any():
            self._resolve(torque, due)
        self._age += 1
        # Right after a reset, muscles count as active already.
        self._act[self._fresh] = self.activation[self._fresh]
        self._fresh[:] = False
        controls = control_for(self._act, self.activation, self._constants, self._dt)
        out[:, self.layer.table.actuator] = controls
        motors, rows = self._motors
        if len(motors):
            out[:, motors] = np.clip(torque[:, rows], *self._limits)

    def torques_with(self, numbers: Floats) -> MuscleTorque:
        """Torque of muscles with other constants in the present state.

        Args:
            numbers: `MuscleTable.packed` of each body, (N, 12, m).
        """
        return self.layer.evaluate(self._transmission, self._qpos, numbers)

    def reset(self, ids: Ints) -> None:
        """Clear the activations and solver states of simulations `ids`."""
        self._fresh[ids], self._age[ids] = True, 0
        self._act[ids], self._dual[ids] = 0.0, 0.0

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Copies of the state; activations belong to the simulation."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue from `state_dict`; `KeyError` or `ValueError` if it does not fit."""
        for name, array in self._arrays().items():
            if arrays[name].shape != array.shape:
                raise ValueError(
                    f"muscles: {name} has shape {arrays[name].shape}, not {array.shape}"
                )
            array[...] = arrays[name]

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "age": self._age, "fresh": self._fresh, "dual": self._dual,
            "activation": self.activation, "residual": self.residual,
        }  # fmt: skip

    def _resolve(self, torque: Floats, which: NDArray[np.bool_]) -> None:
        """Compute new activations of the bodies `which` (N,)."""
        muscles = self.layer.evaluate(self._transmission, self._qpos)
        demand = np.clip(torque, *muscles.capacity())
        low, high = self._reach()
        span = high - low
        rest = np.einsum("bim,bm->bi", muscles.active, low)
        active = np.ascontiguousarray(muscles.active * span[:, None])
        wanted = np.ascontiguousarray(demand - muscles.passive - rest)
        if self.listener is not None:
            self.listener(active[which], wanted[which])
        if self.network is None:
            found = solve(active, wanted, self._cost, start=self._dual)
            self._dual[which] = found.dual[which]
            share, residual = found.activation, found.residual
        else:
            factors = self.factors
            if factors is not None:
                factors = np.tile(factors, (len(wanted), 1))
            share = self.network.activations(active, wanted, factors)
            share[~np.isfinite(share).all(axis=1)] = 0.0
            residual = np.einsum("bim,bm->bi", active, share) - wanted
        self.activation[which] = (low + span * share)[which]
        # A faulty body has no capacity; its residual must not spoil saved states.
        self.residual[which] = np.nan_to_num(residual + demand - torque)[which]

    def _reach(self) -> tuple[Floats, Floats]:
        """Smallest and largest activations until the next refresh, (N, m) each."""
        low, high = self._act.copy(), self._act.copy()
        for _ in range(self._refresh):
            low = next_activation(low, np.zeros_like(low), self._constants, self._dt)
            high = next_activation(high, np.ones_like(high), self._constants, self._dt)
        low[self._fresh], high[self._fresh] = 0.0, 1.0
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def motor_rows(model: mujoco.MjModel, dofs: Ints) -> tuple[Ints, Ints]:
    """Return the motors of a model, (k,), and the rows of `dofs` (na,) that they drive, (k,).

    Raises:
        MuscleError: An actuator is neither a muscle nor a motor of a joint.
    """
    row_of = {int(dof): row for row, dof in enumerate(dofs)}
    motors, rows = [], []
    for u in range(model.nu):
        if int(model.actuator_gaintype[u]) == int(mujoco.mjtGain.mjGAIN_MUSCLE):
            continue
        joint = int(model.actuator_trnid[u, 0])
        drives = int(model.actuator_trntype[u]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        axis = int(np.abs(model.actuator_gear[u, :3]).argmax())
        dof = int(model.jnt_dofadr[joint]) + axis if drives else -1
        if dof not in row_of:
            name = model.actuator(u).name
            raise MuscleError(
                f"actuator {name!r} is neither muscle nor motor of a joint"
            )
        motors.append(u)
        rows.append(row_of[dof])
    return np.array(motors, dtype=np.int64), np.array(rows, dtype=np.int64)
