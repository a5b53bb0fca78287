"""From a target pose to muscle activations: stable PD, then the solver or the network.

The torque of stable PD is cut to what the muscles can give at that state, the passive
torque is taken off, and the rest is asked of the active fibres. Activations are held for
`refresh` simulation steps. How they reach MuJoCo is a choice (`activation` explains it):
`direct` writes them, `inverse` sends the control that the activation dynamics needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.muscle import ActivationCost, SpdGains
from ambulo.muscle.activation import control_for, time_constants
from ambulo.muscle.conditions import Condition
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.dynamics import (
    Dynamics,
    Transmission,
    dynamics_of_data,
    make_current,
    transmission_of_data,
)
from ambulo.muscle.errors import MuscleError
from ambulo.muscle.muscle_nn import MuscleNN
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import group_factors
from ambulo.muscle.solver import solve
from ambulo.muscle.spd import SpdController


@dataclass(frozen=True)
class Effort:
    """What was asked of the muscles of B simulations, and what they were told."""

    activation: Floats
    """In [0, 1], (B, m)."""
    wanted: Floats
    """Torque of stable PD within the muscles' capacity, passive torque included, (B, na)."""
    residual: Floats
    """Torque that the activations make minus `wanted`, (B, na), [N m]."""
    dual: Floats
    """Warm start of the exact solver, (B, na)."""
    solved: Bools
    """False where a state was not finite, (B,); activations are 0 there."""


class MuscleControl:
    """Drives the muscles of one model towards target poses."""

    def __init__(
        self,
        model: mujoco.MjModel,
        gains: SpdGains,
        *,
        cost: ActivationCost | None = None,
        network: MuscleNN | None = None,
        state: Condition | None = None,
        refresh: int = 2,
        mode: Literal["direct", "inverse"] = "direct",
    ) -> None:
        """Resolve everything on `model`.

        Args:
            model: with muscles.
            gains: of stable PD.
            cost: of the exact solver.
            network: used instead of the solver.
            state: in which condition the model's muscles already are; a network that was
                trained so is told. Healthy if None.
            refresh: simulation steps for which activations are held.
            mode: how activations reach MuJoCo.

        Raises:
            MuscleError: no muscles, gains that fit no joint, or a network for others.
        """
        if refresh < 1:
            raise MuscleError(f"refresh: expected 1 or more steps, got {refresh}")
        coupling = joint_coupling(model)
        self.spd = SpdController(model, gains, coupling)
        self.layer = MuscleLayer(model, coupling)
        if network is not None and network.muscles != self.layer.table.names:
            raise MuscleError(
                f"muscle network: made for {len(network.muscles)} other muscles than the"
                f" {self.layer.table.size} of this model; train one for it"
            )
        self._cost = cost or ActivationCost()
        self._network = network
        self._factors = None
        if state is not None:
            self._factors = group_factors(self.layer.table.names, state)[None]
        self._refresh = refresh
        self._constants = (
            time_constants(model, self.layer.table.actuator)
            if mode == "inverse"
            else None
        )
        self._views: tuple[mujoco.MjData, Dynamics, Transmission] | None = None

    def effort(
        self,
        dynamics: Dynamics,
        transmission: Transmission,
        target: Floats,
        previous: Effort | None = None,
    ) -> Effort:
        """Activations for B simulations.

        Args:
            dynamics: of the simulations.
            transmission: of the simulations.
            target: wanted positions as in qpos, (B, nq).
            previous: of the last call, to start from; a reset row may stay in it.
        """
        muscles = self.layer.evaluate(transmission, dynamics.qpos)
        actuated = self.layer.coupling.actuated
        torque, solved = self.spd.torques(dynamics, target)
        wanted = np.clip(torque[:, actuated], *muscles.capacity())
        active = np.ascontiguousarray(wanted - muscles.passive)
        dual = np.zeros_like(wanted)
        if self._network is None:
            start = None if previous is None else previous.dual
            found = solve(muscles.active, active, self._cost, start=start)
            activation, dual = found.activation, found.dual
        else:
            factors = self._factors
            if factors is not None:
                factors = np.repeat(factors, len(active), axis=0)
            activation = self._network.activations(muscles.active, active, factors)
        solved &= np.isfinite(wanted).all(axis=1) & np.isfinite(activation).all(axis=1)
        activation[~solved] = 0.0
        return Effort(
            activation, wanted, muscles.torque(activation) - wanted, dual, solved
        )

    def step(
        self,
        data: mujoco.MjData,
        target: Floats,
        steps: int,
        previous: Effort | None = None,
    ) -> Effort:
        """Advance one simulation by `steps` towards `target` (nq,); the last effort.

        Raises:
            MuscleError: the state is not finite.
        """
        model, which = self.spd.model, self.layer.table.actuator
        make_current(model, data)
        if self._views is None or self._views[0] is not data:
            self._views = (data, dynamics_of_data(data), transmission_of_data(data))
        _, dynamics, transmission = self._views
        for k in range(steps):
            mujoco.mj_step1(model, data)
            if previous is None or k % self._refresh == 0:
                previous = self.effort(dynamics, transmission, target[None], previous)
                if not previous.solved[0]:
                    raise MuscleError(
                        f"muscles at t = {data.time:.3f} s: the state or the target is"
                        " not finite; reset the simulation"
                    )
            self._tell(data, which, previous.activation[0])
            mujoco.mj_step2(model, data)
        if previous is None:
            raise MuscleError(f"steps: expected 1 or more, got {steps}")
        return previous

    def _tell(
        self,
        data: mujoco.MjData,
        which: np.ndarray[tuple[int], np.dtype[np.int64]],
        activation: Floats,
    ) -> None:
        """Give MuJoCo the activations of the muscles `which`."""
        address = self.spd.model.actuator_actadr[which]
        if self._constants is None:
            data.act[address] = activation
            data.ctrl[which] = activation  # nothing is left to follow
            return
        dt = self.spd.model.opt.timestep
        now = data.act[address]
        data.ctrl[which] = control_for(now, activation, self._constants, dt)
