"""How well feedback holds the body on a fitted clip or cycle: it is disturbed, and counted."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.balance import (
    STEPPING,
    WALKING,
    BalanceController,
    Weights,
    controller_of,
)
from ambulo.envs.reference.clips.raw_clip import lowest_points
from ambulo.envs.reference.linearization import Step, deviations, follow, start
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.envs.simulation.simulation import CharacterSimulation

LARGEST_OFFSET, LARGEST_DEVIATION = 0.8, 2.0
"""Largest offset of a joint target, [rad], and largest deviation that feedback reads."""
FALLEN_HEIGHT, FALLEN_TILT = 0.25, 0.8
"""A root that is so much lower, [m], or so far turned, [rad], from its clip has fallen."""
PUSH_TIME = 0.2
"""Duration of a push, [s]."""
LEAST_LEFT = 1.0
"""Least time from a random start to the clip's end, [s]."""
CYCLIC_SECONDS = 6.0
"""For how long bodies follow a cycle, [s]."""


@dataclass(frozen=True)
class Disturbance:
    """What is done to a body at its start."""

    name: str
    """For the report."""
    position: float = 0.0
    """Standard deviation of turned joints and of the root's orientation, [rad]."""
    velocity: float = 0.0
    """Standard deviation of their velocities, [rad/s]."""
    impulse: float = 0.0
    """Horizontal push of the root in a random direction, [N s]."""


STANDARD = (
    Disturbance("0.05 rad + 0.5 rad/s", position=0.05, velocity=0.5),
    Disturbance("0.1 rad + 1 rad/s", position=0.1, velocity=1.0),
    Disturbance("20 N s", impulse=20.0),
    Disturbance("40 N s", impulse=40.0),
)
"""The disturbances of a report."""
PERSON = 70.0
"""Mass of whom the standard pushes are for, [kg]; users' own bodies get theirs by mass."""


@dataclass(frozen=True)
class Trial:
    """A test that chooses one of several controllers."""

    choices: tuple[Weights, ...]
    """Their costs."""
    disturbances: tuple[Disturbance, ...]
    """What is done to the bodies, in tests of their own whose mean counts."""
    bodies: int = 40
    """Bodies of each controller."""
    seconds: float = CYCLIC_SECONDS
    """For how long they follow a cycle, [s]."""
    seed: int = 0
    """Of starts and disturbances; reports use other ones than 1000."""
    enough: float = 1.0
    """Fraction that stays up from which no other controller is tried."""
    leash: float = LARGEST_DEVIATION
    """Largest distance from its place, along X and Y, that feedback reads, [m]."""
    drift: float = np.inf
    """Speed at which a body drifts from its place that counts as a fall, [m/s]."""


PUSHED = STANDARD[2]
"""What is done to the bodies that try a gait, or stand."""
BOTH = Disturbance("trial", position=0.05, velocity=0.5, impulse=20.0)
"""The two standard disturbances at once."""
UPRIGHT = Weights(
    effort=20.0,
    place=0.01,
    height_and_turn=300.0,
    joint=0.01,
    root_rate=2.0,
    joint_rate=0.001,
)
"""Costs of bodies on small feet, which stay upright whatever becomes of place and posture."""
CLIP = Trial(
    (
        Weights(effort=30.0),
        Weights(effort=10.0),
        Weights(effort=10.0, place=0.1, joint_rate=0.1),
        Weights(effort=30.0, place=0.1, joint_rate=0.1),
        Weights(effort=3.0, place=0.1, root_rate=1.0, joint_rate=0.1),
        UPRIGHT,
    ),
    (BOTH, PUSHED),
    seed=1000,
)
"""For clips. A jump wants its place held, a slow walk wants to step away: no choice is best for
all."""
CYCLE = replace(
    CLIP, choices=(WALKING, replace(WALKING, effort=30.0), *CLIP.choices[:2])
)
"""For cycles: a cheaper effort holds faster gaits."""
STANDING = Trial(
    (WALKING, STEPPING, UPRIGHT), (PUSHED,), bodies=24, seconds=4.0, enough=0.95
)
"""For bodies of the user's own that stand."""


def push_scale(character: Character) -> float:
    """Pushes over those of a person: 1, or in proportion to the mass of a user's own body."""
    if character.standing is None:
        return 1.0
    return float(character.model.body_mass.sum()) / PERSON


def survival(
    character: Character,
    table: ReferenceTable,
    controller: BalanceController | None,
    disturbance: Disturbance,
    *,
    control_dt: float,
    bodies: int = 40,
    seed: int = 0,
    seconds: float = CYCLIC_SECONDS,
    leash: float = LARGEST_DEVIATION,
    drift: float = np.inf,
) -> float:
    """Share of bodies that do not fall until the clip's end, or for `seconds` of a cycle.

    Each begins at a random control step, of a clip at least `LEAST_LEFT` before the end, its
    lowest point as high as the reference's.

    Args:
        character: The body.
        table: A fitted clip or cycle.
        controller: Its feedback; None: the reference's torque alone.
        disturbance: What is done to the bodies.
        control_dt: Duration of a control step, [s].
        bodies: How many.
        seed: Of starts and disturbances.
        seconds: How long a cycle, which has no end, is followed, [s].
        leash: Largest distance from its place that feedback reads, [m].
        drift: Mean speed away from its place that counts as a fall, [m/s].
    """
    random = np.random.default_rng(seed)
    simulation = CharacterSimulation(
        character,
        bodies,
        substeps=round(control_dt / character.model.opt.timestep),
        threads=0,
    )
    count = round(table.period / control_dt)
    latest = count if table.periodic else count - round(LEAST_LEFT / control_dt)
    latest = max(1, latest)
    time: Floats = random.integers(0, latest, bodies) * np.float64(control_dt)
    _put(simulation, character, table, disturbance, time, random)
    heading = random.uniform(0.0, 2.0 * np.pi, bodies)
    directions = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    impulse = disturbance.impulse * push_scale(character)
    force = impulse / PUSH_TIME * directions
    root = int(character.model.jnt_bodyid[0])
    fell = np.zeros(bodies, dtype=bool)
    end = time + seconds if table.periodic else table.period
    while (live := simulation.time < end - 0.5 * control_dt).any():
        pushed = simulation.time - time < PUSH_TIME
        simulation.push[:, root, :2] = np.where(pushed[:, None], force, 0.0)
        step_with_feedback(simulation, table, controller, leash)
        fell |= fallen(simulation, table) & live
    apart = np.linalg.norm(deviations(simulation, table)[0][:, :2], axis=1)
    fell |= apart > drift * (simulation.time - time)
    return float(1.0 - fell.mean())


def best_feedback(
    character: Character,
    table: ReferenceTable,
    slopes: Sequence[Sequence[Step]],
    dofs: Ints,
    control_dt: float,
    trial: Trial,
) -> tuple[BalanceController, float]:
    """The feedback along a clip or cycle that holds most bodies, and which fraction it holds.

    Args:
        character: The body.
        table: What it does.
        slopes: Slopes of its K control steps along it, measured in one or more ways.
        dofs: Degrees of freedom whose targets move.
        control_dt: Duration of a control step, [s].
        trial: How the choice is made.
    """
    tried: list[tuple[float, BalanceController]] = []
    for steps, weights in itertools.product(slopes, trial.choices):
        controller = controller_of(
            character, steps, dofs, weights, periodic=table.periodic
        )
        rates = [
            survival(
                character, table, controller, disturbance, control_dt=control_dt,
                bodies=trial.bodies, seed=trial.seed, seconds=trial.seconds,
                leash=trial.leash, drift=trial.drift,
            )
            for disturbance in trial.disturbances
        ]  # fmt: skip
        held = float(np.mean(rates))
        tried.append((held, controller))
        if held >= trial.enough:
            break
    held, controller = max(tried, key=lambda one: one[0])
    return controller, held


def step_with_feedback(
    simulation: CharacterSimulation,
    table: ReferenceTable,
    controller: BalanceController | None,
    leash: float = LARGEST_DEVIATION,
) -> None:
    """One control step along a reference with its feedback; `leash` as of `survival`."""
    if controller is None:
        follow(simulation, table, np.zeros_like(simulation.qvel))
        return
    deviation, velocity = deviations(simulation, table)
    deviation[:, :2] = np.clip(deviation[:, :2], -leash, leash)
    bound = LARGEST_DEVIATION
    offsets = controller.offsets(
        table.phase(simulation.time),
        np.clip(deviation, -bound, bound),
        np.clip(velocity, -bound, bound),
    )
    follow(simulation, table, np.clip(offsets, -LARGEST_OFFSET, LARGEST_OFFSET))


def fallen(simulation: CharacterSimulation, table: ReferenceTable) -> Bools:
    """Which bodies lie low or are turned beside their clip, or exploded. Shape (N,)."""
    deviation, _ = deviations(simulation, table)
    low = np.abs(deviation[:, 2]) > FALLEN_HEIGHT
    turned = np.linalg.norm(deviation[:, 3:6], axis=1) > FALLEN_TILT
    return np.asarray(low | turned | (simulation.fault > 0))


def _put(
    simulation: CharacterSimulation,
    character: Character,
    table: ReferenceTable,
    disturbance: Disturbance,
    time: Floats,
    random: np.random.Generator,
) -> None:
    """Start at `time` (N,), [s], turned and moved as the disturbance says."""
    qpos, qvel, torque = table.at(time)
    turned = random.normal(size=qvel.shape)
    turned[:, :3] = 0.0
    faster = random.normal(size=qvel.shape)
    faster[:, :3] = 0.0
    if disturbance.position > 0.0:
        height = lowest_points(qpos, character)
        qpos = simulation.tangent.moved(qpos, disturbance.position * turned)
        qpos[:, 2] += height - lowest_points(qpos, character)
    start(simulation, time, qpos, qvel + disturbance.velocity * faster, torque)
