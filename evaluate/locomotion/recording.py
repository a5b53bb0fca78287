"""Recordings of evaluations: arrays by step and body, from which all scores are computed."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.locomotion.reward import turn_rate
from ambulo.envs.simulation.frames import along_heading
from ambulo.evaluate.locomotion.gait_probe import (
    AngleProbe,
    ForceProbe,
    MetabolicProbe,
    SlipProbe,
    TorqueProbe,
    leg_joints,
)
from ambulo.evaluate.shared.rollout import Step

_ENDS = {"fell": "fell", "fault": "fault", "succeeded": "is_success"}
"""Key of `info` at the end of an episode by field of `Recording`."""
WATCHED = 8
"""Bodies of a recording whose ground forces and poses are kept too."""


@dataclass(frozen=True, eq=False)
class Recording:
    """One episode of each of N bodies, sampled after each of T control steps.

    What stands after the end of an episode is of no meaning; `standing` tells.
    """

    dt: float
    """Duration of a control step, [s]."""
    weight: float
    """Body weight, [N]."""
    joints: tuple[str, ...]
    """The J joints of the skeleton but its root."""
    legs: tuple[int, ...]
    """Which of them are hips, knees and ankles."""
    standing: Bools
    """The step belongs to the episode and did not end it by a fall or a fault. (T, N)."""
    played: Bools
    """The step belongs to the episode. Shape (T, N)."""
    succeeded: Bools
    """The task was done at the end. Shape (N,)."""
    fell: Bools
    """Ended by a fall. Shape (N,)."""
    fault: Ints
    """Why the simulation stopped (`simulation.FAULTS`); 0: it did not. Shape (N,)."""
    reward: Floats
    """Shape (T, N)."""
    velocity: Floats
    """Root velocity ahead and to the left, in its own heading, [m/s]. (T, N, 2)."""
    turn: Floats
    """Turning rate of the root, [rad/s]. Shape (T, N)."""
    yaw: Floats
    """Heading of the root from the commanded one, [rad]. Shape (T, N)."""
    wanted: Floats
    """Commanded speed, [m/s], and turning rate, [rad/s]. Shape (T, N, 2)."""
    moved: Floats
    """Horizontal way of the root in the step, [m]. Shape (T, N)."""
    power: Floats
    """Mean absolute power of all joints, [W]. Shape (T, N)."""
    metabolic: Floats
    """Metabolic power of all muscles, [W]; NaN without muscles. Shape (T, N)."""
    action: Floats
    """Mean squared action. Shape (T, N)."""
    joint_error: NDArray[np.float32]
    """Angle between each joint and its reference, [rad]. Shape (T, N, J)."""
    place_error: NDArray[np.float32]
    """Distance of each joint's place, seen from the root, from its reference, [m].
    Shape (T, N, J)."""
    root_error: Floats
    """Distance of the root from its reference, [m]. Shape (T, N)."""
    angles: NDArray[np.float32]
    """Hip, knee and ankle of the left and right leg (`gait_probe`), [rad].
    Shape (T, N, 2, 3)."""
    lowest: NDArray[np.float32]
    """Height of the lowest point of the left and right sole, [m]. Shape (T, N, 2)."""
    slip: Floats
    """Sum of the speeds of standing sole parts, [m/s]. Shape (T, N)."""
    slip_parts: Ints
    """How many stood. Shape (T, N)."""
    torque_error: Floats
    """Sum of squares of the torque that acted minus that of stable PD, [N^2 m^2].
    Shape (T, N)."""
    torque_best: Floats
    """Torque error of the least-squares optimum of the muscles. Shape (T, N)."""
    torque: Floats
    """Sum of squares of the torque of stable PD, [N^2 m^2]. Shape (T, N)."""
    torques: int
    """Joint axes in these sums."""
    watched: Ints
    """The bodies whose forces and poses were kept, the first of each part. Shape (K,)."""
    force: Floats
    """Vertical force of their left and right foot, [N]. Shape (T, K, 2)."""
    poses: Floats
    """Their positions. Shape (T, K, nq)."""

    @property
    def episodes(self) -> int:
        """N."""
        return self.standing.shape[1]

    @property
    def returns(self) -> Floats:
        """Sum of the rewards of each episode, its last step included. Shape (N,)."""
        return (self.reward * self.played).sum(axis=0)

    @property
    def survived(self) -> Bools:
        """On their feet to the end. Shape (N,)."""
        return ~self.fell & (self.fault == 0)


def joined(parts: list[Recording]) -> Recording:
    """Recordings of the same length and body side by side."""
    first = parts[0]
    if len(parts) == 1:
        return first
    whole: dict[str, Any] = {}
    for field in fields(Recording):
        values = [getattr(part, field.name) for part in parts]
        if isinstance(values[0], np.ndarray):
            whole[field.name] = np.concatenate(values, axis=min(values[0].ndim - 1, 1))
    before = np.cumsum([0, *(part.episodes for part in parts[:-1])])
    shifted = [part.watched + n for part, n in zip(parts, before, strict=True)]
    whole["watched"] = np.concatenate(shifted)
    return replace(first, **whole)


class Recorder:
    """Fills a `Recording` while a batch plays."""

    def __init__(self, batch: LocomotionBatch, steps: int) -> None:
        """Room for `steps` steps of all bodies."""
        count = batch.num_envs
        self._batch, self._row = batch, 0
        self._angles, self._slip = AngleProbe(batch), SlipProbe(batch)
        self._force = ForceProbe(batch, min(count, WATCHED))
        self._joints = _JointProbe(batch)
        self._torque, self._metabolic = TorqueProbe(batch), MetabolicProbe(batch)
        self._steps = steps
        self._root = batch.simulation.qpos[:, :2].copy()
        self._series: dict[str, Any] = {}
        names = batch.character.skeleton.joints[1:]
        legs = leg_joints(batch.character)
        self._fixed: dict[str, Any] = {
            "dt": batch.simulation.dt,
            "weight": batch.weight,
            "joints": names,
            "legs": tuple(int(joint) - 1 for joint in legs),
            "fell": np.zeros(count, np.bool_),
            "fault": np.zeros(count, np.int64),
            "succeeded": np.zeros(count, np.bool_),
            "torques": self._torque.size,
            "watched": np.arange(self._force.bodies),
        }

    def add(self, step: Step) -> Bools:
        """Take in a step; whose episode goes on, (N,)."""
        actions, info = step.actions, step.info
        batch, state = self._batch, self._batch.state
        ended = step.running & ~step.going
        for name, key in _ENDS.items():
            self._fixed[name][ended] = info[key][ended]
        joint_error, place_error = self._joints.now()
        slip, slip_parts = self._slip.step()
        torque_error, torque_best, torque = self._torque.now()
        qpos = batch.simulation.qpos
        self._put(
            standing=step.running & ~step.terminated,
            played=step.running,
            reward=step.rewards,
            velocity=state.heading[:, :2],
            turn=turn_rate(state),
            yaw=state.yaw,
            wanted=self._wanted(),
            moved=np.linalg.norm(qpos[:, :2] - self._root, axis=1),
            power=np.asarray(info["power"], np.float64),
            metabolic=self._metabolic.now(),
            action=np.square(np.clip(actions, -1.0, 1.0))
            .mean(axis=1)
            .astype(np.float64),
            joint_error=joint_error.astype(np.float32),
            place_error=place_error.astype(np.float32),
            root_error=np.linalg.norm(state.deviation[:, :3], axis=1),
            angles=self._angles.now().astype(np.float32),
            lowest=state.soles.reshape(-1, 2, 3).min(axis=2).astype(np.float32),
            slip=slip,
            slip_parts=slip_parts,
            torque_error=torque_error,
            torque_best=torque_best,
            torque=torque,
            force=self._force.now(),
            poses=qpos[: self._force.bodies],
        )
        self._row += 1
        return step.going

    def _put(self, **values: NDArray[Any]) -> None:
        """Store what a step showed, by field of `Recording`."""
        for name, value in values.items():
            if name not in self._series:
                shape = (self._steps, *value.shape)
                self._series[name] = np.zeros(shape, value.dtype)
            self._series[name][self._row] = value

    def begin_step(self) -> None:
        """Note where bodies are; call it after resets, before each step."""
        self._root = self._batch.simulation.qpos[:, :2].copy()
        self._slip.begin()

    def recording(self) -> Recording:
        """All steps; those after the last episode's end belong to none."""
        return Recording(**self._fixed, **self._series)

    def _wanted(self) -> Floats:
        """Commands of the task: speed and turning rate. Shape (N, 2)."""
        batch = self._batch
        traits = batch.config.environment.traits
        if traits.commands and not traits.clips:
            return batch.command[:, :2]
        follows = not (traits.still or traits.clips)
        speed = batch.blend.speed if follows else np.zeros(batch.num_envs)
        return np.stack([speed, np.zeros(batch.num_envs)], axis=1)


class _JointProbe:
    """How far joints are from the reference, in angle and place."""

    def __init__(self, batch: LocomotionBatch) -> None:
        """Places of the reference's joints at each phase of each gait."""
        character, model = batch.character, batch.simulation.model
        names = character.skeleton.joints[1:]
        dofs = [character.dofs(name) for name in names]
        starts = np.cumsum([0, *(len(own) for own in dofs[:-1])])
        self._dofs, self._starts = np.concatenate(dofs), starts
        self._bodies = [body_of_joint(character, j) for j in range(1, len(names) + 1)]
        self._root = body_of_joint(character, 0)
        self._batch = batch
        self._places = batch.simulation.bind("xpos")
        qpos = batch.gaits.qpos
        data = mujoco.MjData(model)
        self._table = np.empty((*qpos.shape[:2], 3 * len(names)))
        for gait, phase in np.ndindex(*qpos.shape[:2]):
            data.qpos[:] = qpos[gait, phase]
            mujoco.mj_kinematics(model, data)
            seen = data.xpos[self._bodies] - data.xpos[self._root]
            self._table[gait, phase] = seen.ravel()

    def now(self) -> tuple[Floats, Floats]:
        """Errors of angle, [rad], and of place seen from the root, [m], each (N, J)."""
        batch = self._batch
        squares = np.square(batch.state.deviation[:, self._dofs])
        angle = np.sqrt(np.add.reduceat(squares, self._starts, axis=1))
        wanted = batch.gaits.sample(self._table, batch.phase, batch.blend)
        seen = self._places[:, self._bodies] - self._places[:, self._root, None]
        level = along_heading(seen, batch.reference_frame[:, 2])
        back = np.concatenate([level, seen[..., 2:]], axis=-1)
        off = back - wanted.reshape(back.shape)
        return angle, np.linalg.norm(off, axis=-1)
