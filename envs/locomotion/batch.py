"""Common batch of all locomotion tasks: N bodies at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.actions import (
    add_noise,
    checked_actions,
    in_actions,
    target_offsets,
)
from ambulo.envs.locomotion.body import (
    BodyView,
    body_of_joint,
    reference_body,
)
from ambulo.envs.locomotion.episode import EpisodeState, drawn_starts, step_info
from ambulo.envs.locomotion.extra_parts import ExtraPart, MakePart
from ambulo.envs.locomotion.faults import StepBegin, check_fault_folder, report_faults
from ambulo.envs.locomotion.observation import (
    observation_layout,
    observe,
    phase_part,
    state_parts,
)
from ambulo.envs.locomotion.reward import Terms
from ambulo.envs.locomotion.task import LocomotionTask
from ambulo.envs.reference.clips.raw_clip import lowest_points
from ambulo.envs.reference.clips.survival import push_scale
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.joint_patterns import matching_dofs
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.disturbance import DelayLine, Pushes
from ambulo.envs.simulation.frames import out_of_frame, walk_frames
from ambulo.envs.simulation.power import JointPower
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.envs.simulation.touch import PlacedBoxes
from ambulo.envs.simulation.variants import NOMINAL, Variant
from ambulo.envs.state_arrays import Arrays, flattened, part_of

_SAVED_AS = {"reference_frame": "anchor"}
"""Names in files of faults, as ever, of arrays that are called otherwise here."""


class LocomotionBatch(LocomotionTask):
    """N bodies that follow a reference in a reference frame, without autoreset.

    A task is a subclass, see `LocomotionTask`.

    An action of 1 moves the target of one joint axis by `action_scale`, on top of the
    reference and the balance controller's offsets; stable PD with the reference's torque makes
    the joints follow. `step` leaves finished bodies as they are; the caller resets them.
    All arrays returned are owned by the batch and overwritten by the next call.
    """

    @classmethod
    def of_own(
        cls, config: LocomotionConfig, reference: Reference
    ) -> type[LocomotionBatch]:
        """The batch of bodies of the user's own that follow `reference`."""
        return cls

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        *,
        num_envs: int,
        threads: int = 1,
        variant: Variant = NOMINAL,
    ) -> None:
        """Bodies not yet reset.

        Args:
            config: All settings.
            reference: What is followed.
            character: The body.
            num_envs: N.
            threads: CPU threads for the physics.
            variant: How the body and its world differ from the settings.
        """
        env = config.environment
        check_fault_folder(env.fault_folder)
        self.config, self.reference, self.character = config, reference, character
        self.num_envs, self.variant = num_envs, variant
        self.world = self._world()
        self.gaits = self._gaits()
        self.dofs = matching_dofs(character, env.joints)
        """Degrees of freedom that actions move. Shape (A,)."""
        self.action_size = len(self.dofs)
        self.simulation = CharacterSimulation(
            character, num_envs, substeps=env.substeps, threads=threads,
            model=self.world.model, backend=env.backend,
        )  # fmt: skip
        late = variant.late(env.control_dt / env.substeps)
        width = self.simulation.model.nv
        self.delay = DelayLine(late, env.substeps, (num_envs, width))
        self._boxes = PlacedBoxes(self.simulation) if self.world.boxes else None
        self._view = BodyView(self.simulation)
        self._followed = reference_body(self.gaits, character)
        controlled = len(self.gaits.controller_dofs)
        acting = None if env.balance_law and env.traits.controller else 0
        self._acting_dofs: Ints = self.gaits.controller_dofs[:acting]
        self.layout = observation_layout(
            config,
            joints=width - 6,
            controller=len(self._acting_dofs),
            actions=self.action_size,
        )
        self.layout = ObservationLayout((*self.layout.parts, *self._own_parts()))
        self._own_layout, self._extra = self.layout, list[ExtraPart]()
        self._pelvis = body_of_joint(character, 0)
        self._power = JointPower(self.simulation)
        self.weight = self.world.weight
        """Body weight, [N]."""
        self.rngs = [np.random.default_rng(i) for i in range(num_envs)]
        self.episode = EpisodeState.zeros(num_envs)
        self.obs = np.zeros((num_envs, self.layout.size), np.float32)
        self.phase: Floats = np.zeros(num_envs)
        """Place in the gait cycle, [0, 1). Shape (N,)."""
        self.reference_frame: Floats = np.zeros((num_envs, 4))
        """The reference frame: x, y, [m], yaw, [rad], ground height, [m]. Shape (N, 4)."""
        self.command: Floats = np.zeros((num_envs, 2))
        """Wanted speed, [m/s], and turning rate, [rad/s]. Shape (N, 2)."""
        self.balance_offsets: Floats = np.zeros((num_envs, controlled))
        """Offsets wanted by the balance controller, [rad]. Shape (N, U)."""
        self.action: Floats = np.zeros((num_envs, self.action_size))
        """The action before. Shape (N, A)."""
        self.pushes = Pushes(env, num_envs, push_scale(character))
        self._begun = np.zeros(num_envs, np.bool_)
        self._rest: Floats = np.tile(self.simulation.model.qpos0, (num_envs, 1))
        self._terms_now: tuple[str, ...] = ()
        self.blend: Blend = self._blend()
        self.world.check_room(self._fastest)
        self.simulations: list[CharacterSimulation] = [self.simulation]
        """The one simulation of all bodies."""

    def show(self, make: MakePart) -> None:
        """Append a part to the observation; before the first reset."""
        extra = make(self)
        self._extra.append(extra)
        self.layout = ObservationLayout((*self.layout.parts, extra.part))
        self.obs = np.zeros((self.num_envs, self.layout.size), np.float32)

    def _gaits(self) -> Gaits:
        """The gaits of the reference."""
        return Gaits(self.reference, self.character)

    def _blend(self) -> Blend:
        """The gaits that are followed now."""
        return self.gaits.natural(self.num_envs)

    @property
    def _fastest(self) -> float:
        """Largest speed that the task asks for, [m/s]."""
        return float(np.max(self.blend.speed))

    def _start_states(
        self, envs: Ints, turns: Floats, rates: Floats
    ) -> tuple[Floats, Floats]:
        """Positions and velocities of `envs` (k,) in their frames, of noise (k, nv)."""
        env = self.config.environment
        qpos, qvel = (array[envs] for array in self._reference(self.phase)[:2])
        qpos = self.simulation.tangent.moved(qpos, env.start_position_noise * turns)
        return qpos, qvel + env.start_velocity_noise * rates

    def _grounded(self, envs: Ints, qpos: Floats) -> None:
        """Correct the heights of start states (k, nq) of `envs` (k,), in place."""
        if self.config.environment.start_on_feet:
            wanted = lowest_points(self._reference(self.phase)[0][envs], self.character)
            wanted += self.reference_frame[envs, 3]
            qpos[:, 2] += wanted - lowest_points(qpos, self.character)

    def _advance(self) -> None:
        """Move the frame on by one control step."""
        walk_frames(
            self.reference_frame,
            self.blend.speed,
            np.zeros(self.num_envs),
            self.simulation.dt,
        )

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generator of each body whose seed is not None."""
        for env, seed in enumerate(seeds):
            if seed is not None:
                self.rngs[env] = np.random.default_rng(seed)

    def reset(self, envs: Ints, *, phases: Floats | None = None) -> NDArray[np.float32]:
        """Begin new episodes of `envs` (k,), at `phases` (k,) or as configured."""
        env, count = self.config.environment, len(envs)
        if count == 0:
            return self.obs
        # Tied joints follow those that they are tied to.
        nv, driven = self.simulation.model.nv, self.simulation.driven
        place, turns, rates = drawn_starts([self.rngs[i] for i in envs], nv, driven)
        if env.start != "random":
            place[:] = 0.0
        self._begun[envs] = True
        self.phase[envs] = place if phases is None else phases % 1.0
        for array in (self.reference_frame, self.command, self.action):
            array[envs] = 0.0
        self.episode.clear(envs)
        self._begin(envs)
        self.world.place(self.reference_frame, envs, self.rngs)
        self.blend = self._blend()
        qpos, qvel = self._start_states(envs, turns, rates)
        out_of_frame(qpos, qvel, self.reference_frame[envs])
        self._grounded(envs, qpos)
        controls = self._start_controls(envs)
        self.simulation.reset(envs, np.zeros(count), qpos, qvel, controls)
        self.pushes.begin(envs, self.rngs)
        self.delay.begin(envs)
        self._look()
        for extra in self._extra:
            extra.begin(envs)
        self._observe(envs)
        return self.obs

    def episode_info(self) -> Arrays:
        """Return the phase of each body's reference as `phase`."""
        return {"phase": self.phase.copy()}

    def start_info(self) -> Arrays:
        """Return the info of a reset: `episode_info` and the keys of a step."""
        self._terms_now = self._terms_now or self._named_terms()
        no, zero = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs)
        return self._info(no, no, zero, dict.fromkeys(self._terms_now, zero)) | (
            self.episode_info()
        )

    def _info(self, success: Bools, fell: Bools, power: Floats, terms: Terms) -> Arrays:
        """Infos of `step`; see `step_info`."""
        fault, error = self.simulation.fault, self.state.joint_error(self.dofs)
        return step_info(self.state, fault, error, success, fell, power, terms)

    def step(self, actions: NDArray[np.generic]) -> BatchStep:
        """One control step: observations, rewards, terminated, truncated, info.

        `info` holds arrays over bodies: `is_success` (`succeeded`),
        `fell`, `is_fault`, `fault` (a code of `simulation.FAULTS`), `speed`,
        `joint_error`, `power` and every weighted reward term as `reward/<name>`; the
        terms sum to the reward. A faulty simulation ends with a reward of 0.

        Raises:
            ActionError: Actions of the wrong shape, or not finite.
            ResetNeeded: A body that was never reset.
        """
        if np.count_nonzero(self._begun) < self.num_envs:
            body = int(np.argmin(self._begun))
            raise ResetNeeded(f"body {body} has no episode yet: reset before step")
        simulation, folder = self.simulation, self.config.environment.fault_folder
        wanted = checked_actions(actions, (self.num_envs, self.action_size))
        before, running = simulation.qpos[:, :2].copy(), simulation.fault == 0
        begin = None if folder is None else StepBegin.of(self)
        power = self._move(self._offsets(wanted))
        self._advance()
        self.world.raise_frames(self.reference_frame, simulation.qpos[:, :2])
        self._look()
        self._stepped()
        fault = simulation.fault > 0
        faulty = np.count_nonzero(fault) > 0
        if faulty:
            report_faults(self, np.flatnonzero(fault & running), wanted, begin)
        fell = self.fell() & ~fault
        self.episode.steps[:] += 1
        ended = fell | fault
        timeout = self.timed_out() & ~ended
        terms = self._terms(power, wanted)
        if faulty:
            terms = {name: np.where(fault, 0.0, term) for name, term in terms.items()}
        reward = self.episode.add(
            list(terms.values()), (before, simulation.qpos), simulation.fault,
            power * simulation.dt,
        )  # fmt: skip
        self.action[:] = wanted
        for extra in self._extra:
            extra.advance()
        self._observe(np.arange(self.num_envs))
        self._terms_now = tuple(terms)
        info = self._info(self.succeeded(timeout), fell, power, terms)
        return self.obs, reward, ended, timeout, info

    def teacher_actions(self) -> Floats:
        """The balance controller's offsets for the state now, in units of action. (N, A).

        Not clipped, and there whether the controller acts or not.

        Raises:
            ConfigError: There is no controller, or it moves joints that actions do not.
        """
        units = self.balance_offsets / self.config.environment.action_scale
        moved = self.gaits.controller_dofs
        return in_actions(units, moved, self.dofs, self.action_size)

    def followed_positions(self) -> Floats:
        """Positions of the reference that is followed now, in the world. Shape (N, nq)."""
        qpos, qvel = (array.copy() for array in self._reference(self.phase)[:2])
        out_of_frame(qpos, qvel, self.reference_frame)
        return qpos

    @property
    def boxes(self) -> PlacedBoxes:
        """The boxes that may be placed.

        Raises:
            ConfigError: There are none: `walk.obstacles` is 0.
        """
        if self._boxes is None:
            raise ConfigError("walk.obstacles = 0: there are no boxes to place")
        return self._boxes

    @property
    def _parts_with_state(self) -> dict[str, Any]:
        """The parts that have a state of their own."""
        parts = {
            "simulation": self.simulation, "episode": self.episode,
            "pushes": self.pushes, "delay": self.delay,
        }  # fmt: skip
        return parts if self._boxes is None else {**parts, "boxes": self._boxes}

    @property
    def _extra_arrays(self) -> dict[str, Floats]:
        """State of parts of the observation for a bit-exact continuation."""
        return {k: v for extra in self._extra for k, v in extra.saved.items()}

    def state_dict(self) -> Arrays:
        """Copies of all arrays that a bit-exact continuation needs (generators excluded)."""
        parts = {n: part.state_dict() for n, part in self._parts_with_state.items()} | {
            "batch": {
                _SAVED_AS.get(n, n): getattr(self, n).copy() for n in self._saved
            },
            "begun": {"episodes": self._begun.copy()},
        }
        extra = {name: array.copy() for name, array in self._extra_arrays.items()}
        return flattened(parts) | extra

    def load_state_dict(self, arrays: Arrays) -> None:
        """Continue from `state_dict`."""
        for name, part in self._parts_with_state.items():
            part.load_state_dict(part_of(arrays, name))
        for name in self._saved:
            getattr(self, name)[...] = arrays[f"batch.{_SAVED_AS.get(name, name)}"]
        for name, array in self._extra_arrays.items():
            array[...] = arrays[name]
        self._begun[:] = arrays.get("begun.episodes", True)
        self.blend = self._blend()
        self._look()

    _saved: tuple[str, ...] = ("obs", "phase", "reference_frame", "command", "action")
    """Arrays of the batch itself that `state_dict` keeps."""

    def _offsets(self, wanted: Floats) -> Floats:
        """How far all joint targets are moved, [rad]. Shape (N, nv)."""
        env = self.config.environment
        offsets: Floats = target_offsets(
            wanted, env.action_scale, self.dofs,
            self.balance_offsets, env.balance_limit, self._acting_dofs,
            self.simulation.tangent.nv,
        )  # fmt: skip
        add_noise(offsets, self.dofs, env.target_noise, self.rngs)
        return offsets

    def _move(self, offsets: Floats) -> Floats:
        """Run the physics of a control step; mean absolute power of the joints, [W]."""
        simulation, env = self.simulation, self.config.environment
        if self.pushes.on:
            force = self.pushes.at(simulation.time, self.rngs)
            force[simulation.fault > 0] = 0.0
            simulation.push[:, self._pelvis, :2] = force
        advance = simulation.dt / simulation.substeps / self.blend.period
        power = np.zeros(self.num_envs)
        self.delay.send(offsets)
        for substep in range(simulation.substeps):
            self._tick(advance)
            if self._boxes is not None:
                self._boxes.advance(simulation.dt / simulation.substeps)
            qpos, qvel, torque = self._reference(self.phase)
            target = simulation.tangent.moved(qpos, self.delay.arrived(substep))
            simulation.step(target, qvel, torque if env.feed_forward else None)
            power += self._power.now()
        self.phase %= 1.0
        return power / simulation.substeps

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions and velocities in the reference frame, and torques, at phases (N,)."""
        qpos, qvel, torque = self.gaits.at(phase, self.blend)
        turning = self.command[:, 1]
        if np.count_nonzero(turning):
            # The reference frame's turning, seen from the root, which is nearly upright.
            qvel[:, 5] += turning
        return qpos, qvel, torque

    def _look(self) -> None:
        """Take in the bodies' state after a step or reset."""
        qpos, qvel, _ = self._reference(self.phase)
        points = self._view.sole_points()
        self.state = self._view.state(
            self.reference_frame,
            (qpos, qvel),
            self.world.heights(self.simulation.qpos[:, :2]),
            points[..., 2] - self.world.heights(points[..., :2]),
        )
        if len(self.gaits.controller_dofs):
            self.balance_offsets = self.gaits.controller_offsets(
                self.phase, self.blend, self.state.deviation, self.state.rate
            )

    def _followed_now(self) -> tuple[Floats, Floats]:
        """The reference's end effectors and centre of mass."""
        return self._followed.at(self.gaits, self.phase, self.blend)

    def observation(self, layout: ObservationLayout) -> NDArray[np.float32]:
        """Observation of the bodies in `layout`, without appended parts. (N, size)."""
        out = np.empty((self.num_envs, layout.size), np.float32)
        self._fill(layout, out)
        return out

    def _observe(self, envs: Ints) -> None:
        """Write the observations of `envs` (all are computed; few are cheap)."""
        size = self._own_layout.size
        if len(envs) == self.num_envs:
            self._fill(self._own_layout, self.obs[:, :size])
        else:
            self.obs[envs, :size] = self.observation(self._own_layout)[envs]
        for extra in self._extra:
            self.obs[:, size : size + extra.part.size] = extra.values
            size += extra.part.size

    def _fill(self, layout: ObservationLayout, out: NDArray[np.float32]) -> None:
        qpos, yaw = self.state.qpos, self.reference_frame[:, 2] + self.state.yaw
        joints = self.simulation.tangent.difference(qpos, self._rest)[:, 6:]
        values = {
            **state_parts(self.state),
            "phase": phase_part(self.phase),
            "joint_positions": joints,
            "law": self.balance_offsets,
            "command": self.command,
            "ground": self.world.heights_ahead(self.simulation.qpos[:, :2], yaw),
            "last_action": self.action,
            **self._shown(),
        }
        observe(layout, values, out)
