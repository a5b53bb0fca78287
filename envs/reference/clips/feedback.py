"""Feedback along a fitted clip or cycle: of several regulators, what holds most bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ambulo.configs.arrays import Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import (
    WALKING,
    BalanceController,
    Weights,
    controller_of,
)
from ambulo.envs.reference.clips.survival import Disturbance, survival
from ambulo.envs.reference.linearization import Step
from ambulo.envs.reference.reference_table import ReferenceTable

CHOICES = (
    Weights(effort=30.0),
    Weights(effort=10.0),
    Weights(effort=10.0, place=0.1, joint_rate=0.1),
    Weights(effort=30.0, place=0.1, joint_rate=0.1),
    Weights(effort=3.0, place=0.1, root_rate=1.0, joint_rate=0.1),
)
"""Costs that are tried. A jump wants its place held, a slow walk wants to step away: no
choice is best for all clips."""
CYCLIC_CHOICES = (WALKING, replace(WALKING, effort=30.0), *CHOICES[:2])
"""Those for cycles: a cheaper effort holds faster gaits."""
TRIAL = Disturbance("trial", position=0.05, velocity=0.5, impulse=20.0)
"""What is done to the bodies of a trial: the two standard disturbances at once."""
BODIES = 40
"""Bodies in each trial."""
SEED = 1000
"""Of the trials; reports use other seeds."""


def best_feedback(
    character: Character,
    table: ReferenceTable,
    steps: Sequence[Step],
    dofs: Ints,
    control_dt: float,
) -> BalanceController:
    """The feedback along a clip or cycle that holds most bodies under `TRIAL`.

    Args:
        character: The body.
        table: What it does.
        steps: Slopes of its K control steps along it.
        dofs: Degrees of freedom whose targets move.
        control_dt: Duration of a control step, [s].
    """
    choices = CYCLIC_CHOICES if table.periodic else CHOICES
    controllers = [
        controller_of(character, steps, dofs, weights, periodic=table.periodic)
        for weights in choices
    ]
    held = [
        survival(
            character, table, controller, TRIAL,
            control_dt=control_dt, bodies=BODIES, seed=SEED,
        )
        for controller in controllers
    ]  # fmt: skip
    return controllers[held.index(max(held))]
