"""Envs that share one body and follow its gait, with the reward of Generative GaitNet.

The reward is that of Park et al., "Generative GaitNet: Predictive Simulation", SIGGRAPH 2022,
with the constants of the authors' code: r = 2 r_head r_average r_step + r_metabolic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.gait import GaitSpace
from ambulo.configs.gait_env import GaitConfig
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.gait_body import gait_body
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.body import body_of_joint, effector_bodies
from ambulo.envs.locomotion.extra_parts import ExtraPart
from ambulo.envs.locomotion.reward import Terms, imitation_terms
from ambulo.envs.reference.gait_legs import LegPoses, legs_body
from ambulo.envs.reference.gait_reference import gait_reference
from ambulo.envs.reference.gaits import Blend
from ambulo.envs.reference.reference import Reference
from ambulo.envs.state_arrays import Arrays
from ambulo.motion.quaternion_kernels import product
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_mean
from ambulo.muscle.actuation import MuscleActuation

PARAMETERS = "parameters"
"""Name of the observation part with the normalised parameters."""
PHASE_ACTION = "phase"
"""Name of the last action, which warps the phase."""
HISTORY = 64
"""Longest window of the average velocity, [control steps]."""
LEASH = 0.1
"""Largest distance of the reference frame from the body along the path, [m]. Speed is rewarded
by the average velocity, not by the position."""
LEAST_HISTORY = 6
"""Shortest window of a valid average velocity, [control steps]."""


@dataclass(frozen=True)
class GaitErrors:
    """Inputs of the reward; arrays over N bodies."""

    head_change: Floats
    """Change of the head's velocity since the last step, [m/s]. Shape (N, 3)."""
    head_turn: Floats
    """Angle of the head from its mean orientation, [rad]. Shape (N,)."""
    velocity: Floats
    """Mean velocity over the last cycle minus the target velocity, along the reference frame,
    [m/s]. Shape (N, 2)."""
    step: Floats
    """Position of the stance foot minus the planned one, [m]. Shape (N, 3)."""
    effort: Floats
    """Mean squared torque over its limit, or mean squared activation. Shape (N,)."""


def gait_factors(errors: GaitErrors, weights: GaitConfig) -> Terms:
    """The reward factors of Park et al., each in (0, 1], (N,)."""
    beyond = np.maximum(np.abs(errors.step) - weights.step_tolerance, 0.0)
    return {
        "head": np.exp(-weights.head_velocity * _square(errors.head_change) / 3.0)
        * np.exp(-weights.head_rotation * np.square(errors.head_turn)),
        "average": np.exp(-weights.average_velocity * _square(errors.velocity)),
        "step": np.exp(-weights.step * _square(weights.step_scale * beyond) / 3.0),
        "metabolic": np.exp(-weights.metabolic * errors.effort),
    }


def _square(vectors: Floats) -> Floats:
    squares: Floats = np.einsum("ni,ni->n", vectors, vectors)
    return squares


class GaitGroup(LocomotionBatch):
    """N envs with the body and the gait of one parameter vector.

    An action moves joint targets as in `LocomotionBatch`; its last number speeds up or slows
    down the phase. The observation ends with the normalised parameters.
    """

    extra_actions = (PHASE_ACTION,)

    def __init__(
        self,
        config: LocomotionConfig,
        healthy: Reference,
        space: GaitSpace,
        values: ArrayLike,
        *,
        num_envs: int,
        threads: int = 1,
    ) -> None:
        """Envs not yet reset.

        Args:
            config: All settings.
            healthy: The healthy gaits, whose controllers balance this one.
            space: The parameter space.
            values: The parameters. Shape (P,).
            num_envs: N.
            threads: CPU threads for the physics.

        Raises:
            GaitParameterError: A parameter is out of range.
            MotionError: The body cannot perform the gait of these parameters.
        """
        env = config.environment
        self.space, self.values = space, np.array(values, dtype=np.float64)
        legs = space.name == "myolegs"
        body = legs_body(space, values) if legs else gait_body(space, values)
        body.model.opt.timestep = env.control_dt / env.substeps
        reference = healthy if legs else gait_reference(space, values, body, healthy)
        self._warp: Floats = np.zeros(num_envs)
        super().__init__(config, reference, body, num_envs=num_envs, threads=threads)
        text = "gait parameters, 0 to 1 of their range"
        self.show(lambda _: ExtraPart(PARAMETERS, text, space.normalize(values)))
        self.action_size += 1
        self.action = np.zeros((num_envs, self.action_size))
        self._poses = LegPoses(body.model) if legs else None
        # With a rigid trunk, the head is at the root.
        head = roles_of(body.skeleton).get("head", 0)
        self._head = body_of_joint(body, head)
        self._feet = _feet(body)
        self._bodies_at = self.simulation.bind("xpos")
        self._turns = self.simulation.bind("xquat")
        self._looks = self._mean_look()
        self._limits = self._motor_limits()
        self._places: Floats = np.zeros((num_envs, HISTORY, 2))
        self._head_place: Floats = np.zeros((num_envs, 3))
        self._head_rate: Floats = np.zeros((num_envs, 3))
        period = self.reference.table.period
        self._cycle = int(np.clip(round(period / self.simulation.dt), 2, HISTORY - 1))

    _saved = (
        *LocomotionBatch._saved, "_warp", "_places", "_head_place", "_head_rate",
    )  # fmt: skip

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs` (k,), at `phases` (k,) or as configured."""
        self._warp[envs] = 0.0
        obs = super().reset(envs, phases=phases)
        self._places[envs] = self.simulation.qpos[envs, None, :2]
        self._head_place[envs] = self._bodies_at[envs, self._head]
        self._head_rate[envs] = 0.0
        return obs

    def step(self, actions: NDArray[np.generic]) -> BatchStep:
        """One control step; the info also holds the factors of the reward."""
        obs, reward, terminated, truncated, info = super().step(actions)
        info |= {f"factor/{name}": value for name, value in self.factors.items()}
        return obs, reward, terminated, truncated, info

    def start_info(self) -> Arrays:
        """Return the info of a reset: `episode_info` and the keys of a step."""
        info = super().start_info()
        return info | {f"factor/{n}": np.zeros(self.num_envs) for n in self.factors}

    def _named_terms(self) -> tuple[str, ...]:
        # The terms hold the state of the last steps; only `step` may advance it.
        memory = {name: getattr(self, name).copy() for name in self._saved}
        names = super()._named_terms()
        for name, array in memory.items():
            getattr(self, name)[...] = array
        return names

    def positions(self) -> Floats:
        """The 56 joint positions of the Park et al. format for all envs. Shape (N, 56)."""
        if self._poses is not None:
            return self._poses.positions(self._bodies_at, self._turns)
        return self.character.get_positions(self.simulation.qpos)

    def _blend(self) -> Blend:
        natural = self.gaits.natural(self.num_envs)
        rate = 1.0 + self.config.gait.time_warp * self._warp
        return replace(natural, rate=rate, period=natural.period / rate)

    def _advance(self) -> None:
        super()._advance()
        # The frame waits for a slower body, and catches up with a faster one.
        root = self.simulation.qpos[:, 0]
        apart = np.clip(self.reference_frame[:, 0] - root, -LEASH, LEASH)
        self.reference_frame[:, 0] = root + apart

    def _offsets(self, wanted: Floats) -> Floats:
        self._warp[:] = wanted[:, -1]
        self.blend = self._blend()
        return super()._offsets(wanted[:, :-1])

    def _terms(self, power: Floats, actions: Floats) -> Terms:
        weights, config = self.config.rewards, self.config.gait
        factors = gait_factors(self._errors(), config)
        # The metabolic term replaces the energy term.
        costs = self._cost_terms(power, actions, energy=False)
        gait = 2.0 * factors["head"] * factors["average"] * factors["step"]
        terms = {"gait": gait, "metabolic": factors["metabolic"], **costs}
        self.factors = factors
        if config.likeness > 0.0:
            effectors, com = self._followed_now()
            likeness = imitation_terms(self.state, effectors, com, weights)
            terms |= {name: config.likeness * term for name, term in likeness.items()}
        return terms

    def _errors(self) -> GaitErrors:
        """Compute the inputs of the reward, and advance the history of the last steps."""
        dt, steps = self.simulation.dt, self.episode.steps
        head = self._bodies_at[:, self._head]
        rate = (head - self._head_place) / dt
        change = np.where((steps > 1)[:, None], rate - self._head_rate, 0.0)
        self._head_place[:], self._head_rate[:] = head, rate
        self._places[:, 1:] = self._places[:, :-1]
        self._places[:, 0] = self.simulation.qpos[:, :2]
        back = np.minimum(steps, self._cycle)
        past = self._places[np.arange(self.num_envs), back]
        mean = (self._places[:, 0] - past) / (np.maximum(back, 1) * dt)[:, None]
        mean[:, 0] -= self.blend.speed
        slip = np.where((back >= LEAST_HISTORY)[:, None], mean, 0.0)
        apart = self._head_turn()
        return GaitErrors(change, apart, slip, self._step_error(), self._effort())

    def _head_turn(self) -> Floats:
        """Angle of the head from its mean orientation, [rad]. (N,)."""
        half = 0.5 * self.reference_frame[:, 2]
        apart = np.empty((2, self.num_envs))
        _apart(np.cos(half), np.sin(half), self._turns, self._head, self._looks, apart)
        return np.asarray(2.0 * np.arctan2(*apart))

    def _step_error(self) -> Floats:
        """Position of the stance foot minus that of the reference, [m]. (N, 3)."""
        effectors, _ = self._followed_now()
        feet = (self.state.effectors - effectors)[:, self._feet]
        feet = feet + self.state.deviation[:, None, :3]
        height = self.state.soles.reshape(-1, 2, 3).min(axis=2)
        standing = height.argmin(axis=1)
        return np.asarray(feet[np.arange(len(feet)), standing])

    def _effort(self) -> Floats:
        """Mean squared activation, or torque over the motors' limits. (N,)."""
        muscles = self.simulation.actuation
        if isinstance(muscles, MuscleActuation):
            return np.asarray(np.square(muscles.activation).mean(axis=1))
        return np.asarray(np.square(self.simulation.ctrl / self._limits).mean(axis=1))

    def _motor_limits(self) -> Floats:
        limits = self.simulation.model.actuator_forcerange[:, 1]
        return np.asarray(np.where(limits > 0.0, limits, 1.0))

    def _mean_look(self) -> Floats:
        """Mean orientation of the head along the gait, wxyz. Shape (4,)."""
        model = self.character.model
        data = mujoco.MjData(model)
        turns = []
        for qpos in self.gaits.qpos[0]:
            data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            turns.append(data.xquat[self._head].copy())
        return np.asarray(quat_mean(np.array(turns)))


@njit(cache=True)
def _apart(
    c: Floats, s: Floats, turns: Floats, head: int, looks: Floats, out: Floats
) -> None:
    """Fill `out` (2, N) with sine and cosine of half the angle of `GaitGroup._head_turn`.

    Args:
        c: Cosine of half the reference frame's yaw. Shape (N,).
        s: Sine of it. Shape (N,).
        turns: Orientations of all bodies, wxyz. Shape (N, nbody, 4).
        head: Id of the head's body.
        looks: Mean orientation of the head in the reference frame. Shape (4,).
        out: Output.
    """
    for b in range(len(c)):
        w, x, y, z = turns[b, head]
        w, x, y, z = product(c[b], -0.0, -0.0, -s[b], w, x, y, z)
        w, x, y, z = product(w, -x, -y, -z, looks[0], looks[1], looks[2], looks[3])
        out[0, b], out[1, b] = np.sqrt(x * x + y * y + z * z), abs(w)


def _feet(body: Character) -> list[int]:
    """Indices of the left and the right foot among the end effectors."""
    soles, ids = body.soles, effector_bodies(body)
    found = []
    for side in (0, 1):
        own = [
            body_of_joint(body, j)
            for j, s in zip(soles.joints, soles.sides, strict=True)
            if s == side
        ]
        found.append(next(i for i, effector in enumerate(ids) if effector in own))
    return found
