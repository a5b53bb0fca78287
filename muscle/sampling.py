"""Random poses, muscle torques there, and feasible target torques.

For the training and test of a muscle network, and for bounds of a model's strength. Poses are
drawn uniformly in the joint limits of the independent joints; coupled joints follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.configs.jobs import Apply, here
from ambulo.muscle.conditions import Condition, table_with
from ambulo.muscle.coupling import FREE
from ambulo.muscle.dynamics import transmission_of_data
from ambulo.muscle.muscle_nn import ReducedPattern, muscle_groups
from ambulo.muscle.muscles import MuscleLayer

_STILL = 1e-9
"""Torque of a full activation below which an entry is not in the pattern, [N m]."""
_TOGETHER = 250
"""Poses of a job."""


@dataclass(frozen=True)
class MuscleSamples:
    """Muscle torques in N poses."""

    pattern: ReducedPattern
    """Pattern of the entries `values`."""
    values: Floats
    """Entries of JtA, (N, P), [N m]."""
    passive: Floats
    """Jtp, (N, na), [N m]."""
    groups: Floats
    """Force factors, then length factors of the muscle groups, (N, 2 G)."""

    @property
    def active(self) -> Floats:
        """JtA, (N, na, m), [N m]."""
        return self.pattern.full(self.values)


def _drawn_pose(
    layer: MuscleLayer, rng: np.random.Generator, speed: float = 2.0
) -> tuple[Floats, Floats]:
    """Positions (nq,) and velocities (nv,) of independent joints, without couplings."""
    model = layer.model
    qpos = np.array(model.qpos0)
    low, high = model.jnt_range.T
    limited = (model.jnt_limited != 0) & (model.jnt_type > FREE + 1)
    qpos[model.jnt_qposadr[limited]] = rng.uniform(low[limited], high[limited])
    qvel = np.zeros(model.nv)
    qvel[layer.dofs] = rng.normal(0.0, speed, len(layer.dofs))
    return qpos, qvel


def _closed(layer: MuscleLayer, qpos: Floats, qvel: Floats) -> tuple[Floats, Floats]:
    """The pose with its couplings satisfied."""
    coupling = layer.coupling
    qpos = coupling.closed(qpos)
    return qpos, coupling.closed_velocity(qpos[None], qvel[None])[0]


def sample_muscles(
    layer: MuscleLayer,
    count: int,
    rng: np.random.Generator,
    *,
    pattern: ReducedPattern | None = None,
    weakness: tuple[float, float] = (1.0, 1.0),
    shortness: tuple[float, float] = (1.0, 1.0),
    apply: Apply = here,
) -> MuscleSamples:
    """Muscle torques in `count` random poses.

    All random numbers are drawn here, so that the samples do not depend on the workers.

    Args:
        layer: Muscles of the model.
        count: Number of poses.
        rng: Random generator.
        pattern: Entries of JtA to keep; default: all that are nonzero in these poses.
        weakness: Range of the force factor of a muscle group. Half of the groups of a pose are
            healthy, the factors of the others are uniform.
        shortness: Range of the length factor of a group.
        apply: Applies the work to the poses.

    Raises:
        MuscleError: An entry outside of `pattern` is nonzero.
    """
    if count < 1:
        raise MuscleError(f"poses: expected 1 or more, got {count}")
    names, group = muscle_groups(layer.table.names)
    scale = np.ones((count, 2, len(names)))
    for k, (low, high) in enumerate((weakness, shortness)):
        ill = rng.random((count, len(names))) < 0.5
        scale[:, k] = np.where(ill, rng.uniform(low, high, ill.shape), 1.0)
    healthy = bool((scale == 1.0).all())
    states = None if healthy else scale[:, :, group]
    poses = _portions(layer, count, rng, states)
    parts = list(apply(_muscles_in, layer, poses, _Poses.name))
    entries, passive = (np.concatenate(each) for each in zip(*parts, strict=True))
    pattern = pattern or _pattern(entries)
    values = pattern.reduce(entries)
    missed = np.abs(entries).sum() - np.abs(values).sum()
    if missed > _STILL * entries.size:
        raise MuscleError("a muscle moves a joint that the pattern does not have")
    return MuscleSamples(pattern, values, passive, scale.reshape(count, -1))


@dataclass(frozen=True, eq=False)
class _Poses:
    """B random poses, whose couplings are not satisfied yet."""

    qpos: Floats
    """Positions, (B, nq)."""
    qvel: Floats
    """Velocities, (B, nv)."""
    state: Floats | None
    """Force and length factors of the muscles, (B, 2, m); None: healthy."""

    def name(self) -> str:
        """Their name in errors."""
        return f"muscles in {len(self.qpos)} poses"


def _portions(
    layer: MuscleLayer, count: int, rng: np.random.Generator, states: Floats | None
) -> Iterator[_Poses]:
    """Poses in portions for the workers; `states` are those of all, (N, 2, m)."""
    for begin in range(0, count, _TOGETHER):
        end = min(begin + _TOGETHER, count)
        drawn = [_drawn_pose(layer, rng) for _ in range(begin, end)]
        qpos, qvel = (np.array(each) for each in zip(*drawn, strict=True))
        yield _Poses(qpos, qvel, None if states is None else states[begin:end])


def _muscles_in(layer: MuscleLayer, poses: _Poses) -> tuple[Floats, Floats]:
    """JtA (B, na, m) and Jtp (B, na) in B poses, [N m]."""
    data = mujoco.MjData(layer.model)
    active, passive = [], []
    for i, pose in enumerate(zip(poses.qpos, poses.qvel, strict=True)):
        data.qpos[:], data.qvel[:] = _closed(layer, *pose)
        mujoco.mj_fwdPosition(layer.model, data)
        mujoco.mj_fwdVelocity(layer.model, data)
        numbers = None
        if poses.state is not None:
            state = Condition(*poses.state[i])
            numbers = table_with(layer.table, state).packed()[None]
        muscles = layer.evaluate(transmission_of_data(data), data.qpos[None], numbers)
        active.append(muscles.active[0])
        passive.append(muscles.passive[0])
    return np.array(active), np.array(passive)


def random_activations(count: int, muscles: int, rng: np.random.Generator) -> Floats:
    """Random activations for feasible targets, from rest to full effort, (count, m)."""
    level = rng.random((count, 1))
    share = 0.2 + 0.8 * rng.random((count, 1))
    used = rng.random((count, muscles)) < share
    return level * used * rng.random((count, muscles))


def feasible_targets(samples: MuscleSamples, rng: np.random.Generator) -> Floats:
    """Feasible active torques (requested minus passive), (N, na), [N m]."""
    active = samples.active
    activation = random_activations(len(active), active.shape[2], rng)
    return np.einsum("bim,bm->bi", active, activation)


def _pattern(active: Floats) -> ReducedPattern:
    """The entries of JtA (N, na, m) that are nonzero in any pose."""
    rows, muscles = np.nonzero((np.abs(active) > _STILL).any(axis=0))
    return ReducedPattern(rows, muscles, (active.shape[1], active.shape[2]))
