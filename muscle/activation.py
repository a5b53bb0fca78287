"""Activation dynamics of MuJoCo's muscles, one step forward and inverted.

A muscle's activation follows its control with a lag (Millard et al. 2013): 10 ms up and 40 ms
down by default, both changing with the activation. A solver or network computes activations.
There are three ways to apply them in MuJoCo:

* write `data.act` (no lag; as Lee et al. 2019, who have no activation dynamics);
* write `control_for(...)` to `data.ctrl` (lag as the model has it, but the wanted
  activation is reached after the step whenever a control in [0, 1] can do so);
* write the activation to `data.ctrl` as it is (the full lag).
"""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import MuscleError


def next_activation(
    activation: Floats, control: Floats, constants: Floats, dt: float
) -> Floats:
    """Activations after `dt` seconds, by MuJoCo's Euler step, (..., m).

    Args:
        activation: Present activations, (..., m).
        control: Excitation, (..., m); clipped to [0, 1].
        constants: Time to rise and to fall, (2, m), [s]; see `time_constants`.
        dt: Time step, [s].
    """
    change = np.clip(control, 0.0, 1.0) - activation
    return activation + dt * change / _lag(change, activation, constants)


def control_for(
    activation: Floats, wanted: Floats, constants: Floats, dt: float
) -> Floats:
    """The control after which the activation is `wanted`, clipped to [0, 1], (..., m).

    The arguments are those of `next_activation`.
    """
    change = wanted - activation
    control = activation + change * _lag(change, activation, constants) / dt
    return np.clip(control, 0.0, 1.0)


def time_constants(model: mujoco.MjModel, actuator: Ints) -> Floats:
    """Time to rise and to fall of the muscles `actuator` (m,), (2, m), [s].

    Raises:
        MuscleError: An actuator has no muscle dynamics, or a smoothed one, whose inverse is not
            unique.
    """
    for i in actuator:
        name = model.actuator(int(i)).name
        if model.actuator_dyntype[i] != int(mujoco.mjtDyn.mjDYN_MUSCLE):
            raise MuscleError(f"actuator {name!r} has no muscle activation dynamics")
        if model.actuator_dynprm[i, 2] > 0.0:
            raise MuscleError(f"muscle {name!r}: set tausmooth to 0")
    return np.array(model.actuator_dynprm[actuator, :2].T, dtype=np.float64)


def _lag(change: Floats, activation: Floats, constants: Floats) -> Floats:
    """The time constant at this activation, [s]; rising and falling differ."""
    bend = 0.5 + 1.5 * np.clip(activation, 0.0, 1.0)
    return np.where(change > 0.0, constants[0] * bend, constants[1] / bend)
