"""Muscle report of a roll-out: activation, force, length, speed, energy.

Metabolic power follows Bhargava, Pandy and Anderson, "A phenomenological model for estimating
metabolic energy consumption in muscle contraction", Journal of Biomechanics 37(1), 2004: heat
of activation, maintenance and shortening, plus mechanical work. The models have no muscle
masses or fibre types: the mass is peak force / specific tension * density * optimal length, and
half of each muscle is slow (both can be set).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.muscle.muscles import MuscleTable, fibre_state, gain_and_bias

SPECIFIC_TENSION = 0.25e6
"""Peak stress of a muscle, [Pa]; the value of Bhargava et al."""
DENSITY = 1059.7
"""Density of muscle, [kg/m^3] (Mendez and Keys 1960)."""
_ACTIVATION_HEAT = (40.0, 133.0)
"""Activation heat of slow and fast fibres, [W/kg]."""
_MAINTENANCE_HEAT = (74.0, 111.0)
"""Maintenance heat of slow and fast fibres at the optimal length, [W/kg]."""
_LENGTHS, _MAINTAINED = (0.5, 1.0, 1.5), (0.5, 1.0, 0.0)
"""Maintenance heat over the fibre length, relative to that at the optimal length."""


@dataclass(frozen=True)
class MuscleReport:
    """Series of m muscles over T samples."""

    names: tuple[str, ...]
    """Names of the muscles."""
    dt: float
    """Time between samples, [s]."""
    activation: Floats
    """Activation in [0, 1], (T, m)."""
    force: Floats
    """Pull, active and passive, (T, m), [N]."""
    passive_force: Floats
    """The passive part, (T, m), [N]."""
    length: Floats
    """Length of the fibres, (T, m), in optimal lengths."""
    velocity: Floats
    """Velocity of the fibres, (T, m), [optimal lengths / s]; negative shortens."""
    work_rate: Floats
    """Mechanical power given by the fibres' active force, (T, m), [W]."""
    metabolic_rate: Floats
    """Metabolic power, (T, m), [W]; no resting metabolism."""

    @property
    def energy(self) -> float:
        """Metabolic energy of all muscles, [J]."""
        return float(self.metabolic_rate.sum() * self.dt)

    def cost_of_transport(self, mass: float, distance: float) -> float:
        """Metabolic energy per kilogram and metre, [J / (kg m)]."""
        if not (mass > 0.0 and distance > 0.0):
            raise MuscleError(
                "cost of transport: mass and distance must be positive, got"
                f" {mass:g} kg and {distance:g} m"
            )
        return self.energy / (mass * distance)

    def rows(self) -> list[dict[str, float | str]]:
        """One row per muscle for a table, the most expensive first."""
        order = np.argsort(-self.metabolic_rate.sum(axis=0), kind="stable")
        return [
            {
                "muscle": self.names[i],
                "mean_activation": float(self.activation[:, i].mean()),
                "peak_activation": float(self.activation[:, i].max()),
                "mean_force_N": float(self.force[:, i].mean()),
                "peak_force_N": float(self.force[:, i].max()),
                "shortest": float(self.length[:, i].min()),
                "longest": float(self.length[:, i].max()),
                "work_J": float(self.work_rate[:, i].sum() * self.dt),
                "metabolic_J": float(self.metabolic_rate[:, i].sum() * self.dt),
            }
            for i in order
        ]


def muscle_report(
    table: MuscleTable,
    activation: Floats,
    length: Floats,
    velocity: Floats,
    dt: float,
    *,
    slow_share: float = 0.5,
) -> MuscleReport:
    """Compute the report of m muscles.

    Args:
        table: The muscles.
        activation: Activations, (T, m).
        length: Actuator lengths, (T, m), [m].
        velocity: Actuator velocities, (T, m), [m/s].
        dt: Time between samples, [s].
        slow_share: Fraction of slow fibres in each muscle.

    Raises:
        MuscleError: No samples, or series of different shapes.
    """
    shape = activation.shape
    if len(shape) != 2 or not shape[0] or shape[1] != table.size:
        raise MuscleError(
            f"muscle report: expected (T > 0, {table.size}) activations, got {shape}"
        )
    if length.shape != shape or velocity.shape != shape:
        raise MuscleError("muscle report: the series differ in shape")
    gain, bias = gain_and_bias(table, length, velocity)
    resting, _ = gain_and_bias(table, length, np.zeros_like(velocity))
    fibre, speed = fibre_state(table, length, velocity)
    active = -gain * activation
    work = -active * velocity
    return MuscleReport(
        names=table.names,
        dt=dt,
        activation=activation,
        force=active - bias,
        passive_force=-bias,
        length=fibre,
        velocity=speed,
        work_rate=work,
        metabolic_rate=metabolic_rate(
            table, activation, fibre, velocity, active, -resting * activation,
            slow_share=slow_share,
        ),
    )  # fmt: skip


def muscle_mass(table: MuscleTable) -> Floats:
    """Mass of each muscle, (m,), [kg]."""
    return table.peak_force / SPECIFIC_TENSION * DENSITY * table.optimal_length


def metabolic_rate(
    table: MuscleTable,
    activation: Floats,
    fibre: Floats,
    velocity: Floats,
    active_force: Floats,
    isometric_force: Floats,
    *,
    slow_share: float = 0.5,
) -> Floats:
    """Metabolic power of Bhargava et al. 2004, not below zero, (T, m), [W].

    Args:
        table: The muscles.
        activation: Activation, also used as excitation, (T, m).
        fibre: Fibre lengths, (T, m), in optimal lengths.
        velocity: Fibre velocities, (T, m), [m/s].
        active_force: Active force, (T, m), [N].
        isometric_force: Active force at this length and activation without motion, [N].
        slow_share: Fraction of slow fibres.
    """
    fast_share = 1.0 - slow_share
    slow = slow_share * np.sin(0.5 * np.pi * activation)
    fast = fast_share * (1.0 - np.cos(0.5 * np.pi * activation))
    start = _ACTIVATION_HEAT[0] * slow + _ACTIVATION_HEAT[1] * fast
    hold = _MAINTENANCE_HEAT[0] * slow + _MAINTENANCE_HEAT[1] * fast
    heat = muscle_mass(table) * (start + np.interp(fibre, _LENGTHS, _MAINTAINED) * hold)
    shortening = 0.16 * isometric_force + 0.18 * active_force
    moving = np.where(velocity <= 0.0, shortening, 0.157 * active_force)
    return np.maximum(heat - (moving + active_force) * velocity, 0.0)
