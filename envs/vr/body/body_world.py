"""A simulated character in VR levels: the world of a walker that follows stick input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.state_arrays import flattened, part_of
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.vr.body.commands import StickCommands
from ambulo.envs.vr.body.fitting import BodySize, check_levels
from ambulo.envs.vr.body.hands import at_rest, from_origin, in_reach
from ambulo.envs.vr.body.level_window import TOUCH, LevelGround, LevelWindows
from ambulo.envs.vr.body.walker import Walker
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.geometry.contact_kernels import moved_out
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.base import refuse_heights
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.packed_solids import solids_of
from ambulo.envs.vr.world.state import WorldState
from ambulo.envs.vr.world.step_kernels import are_off_floor
from ambulo.motion.roles import roles_of

FALLEN_HEIGHT = 0.3
"""A body has fallen if its root is lower than the reference's by more than this, [m]."""
FALLEN_TILT = np.cos(np.deg2rad(60.0))
"""Smallest vertical component of the trunk's axis of a body that has not fallen."""
START_ROOM = 0.45
"""Distance from obstacles at the start, where possible, [m]."""
TOUCH_FORCE = 1.0
"""Smallest force of a contact, [N]."""


class BodyWorld(CompiledWorld):
    """N characters in levels; see `World` for the interface.

    A tick is a control step of the walker. `position` is the floor below the head, whose height
    stays nominal while the body is on its feet; `yaw` is the heading of the pelvis, and `path`
    the length of its path. `velocity` and `yaw_rate` are means over the environment step, so
    that they contain little sway of the gait. Rays start below the head, level, and see the
    prisms of the world contract; bodies touch obstacles in their true sizes. Contacts are
    checked once a tick.
    """

    stochastic = True
    can_share = False

    def __init__(
        self, num_envs: int, spec: WorldSpec, walker: Walker, threads: int = 1
    ) -> None:
        """`num_envs` bodies, not yet placed in any level.

        Raises:
            ConfigError: The settings do not fit the walker.
        """
        super().__init__(num_envs, spec)
        check_rate(spec, walker.control_rate, walker.name)
        self.walker, self._threads = walker, threads
        self._sticks = StickCommands(spec, walker.envelope, walker.name)
        self._size = BodySize(f"body = {walker.character}")
        self._ground = LevelGround()
        self.batch = walker.make_batch(num_envs, self._ground, threads)
        """The bodies, in the walker's own task."""
        simulation = self.batch.simulation
        self._windows = LevelWindows(simulation)
        self._levels: dict[int, Level] = {}
        character = self.batch.character
        self._head = body_of_joint(character, roles_of(character.skeleton)["head"])
        self._root = body_of_joint(character, 0)
        self._places: Floats = simulation.bind("xpos")
        self._turns: Floats = simulation.bind("xmat").reshape(num_envs, -1, 3, 3)
        self._sensors: Floats = simulation.bind("sensordata")
        self._touch = int(simulation.model.sensor(TOUCH).adr[0])
        self._head_up: Floats = np.zeros((num_envs, 2))
        """Height, [m], and tilt, [rad], of the head."""
        self._force: Floats = np.zeros(num_envs)
        """Largest force of a touch in the last step, [N]."""
        self._obs = self.batch.obs
        self._points: Floats = np.full((num_envs, 3), np.nan)
        """Points to reach for, in the world, [m], NaN: none. Shape (N, 3)."""
        self._hands: WalkCommandsBatch | None = None
        """The bodies, if their hands are led."""
        self.poses: Floats = np.repeat(
            self.qpos[:, None], spec.ticks_per_decision, axis=1
        )

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`.

        Raises:
            LevelError: The body does not fit through a level.
        """
        refuse_heights(levels, "a simulated body")
        check_levels(levels, self._size)
        super().set_levels(slots, levels)
        self._windows.set_levels(slots, levels)
        self._windows.forget(np.flatnonzero(np.isin(self._slot, list(slots))))
        self._windows.follow(self._slot, self._places[:, self._root, :2])
        self._levels.update(zip(map(int, slots), levels, strict=True))

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed the random numbers of the next episodes of `envs` (k,)."""
        for env, seed in zip(envs, seeds, strict=True):
            self.batch.rngs[int(env)] = np.random.default_rng(int(seed))

    def reach(self, points: Floats) -> None:
        """Lead hands to `points` (N, 3) in the world, [m]; NaN: none.

        A body whose sticks are at rest stops near its point, crouches as deep as the point
        requires, and leads its hand. From farther away, it only looks at the point.

        Raises:
            ConfigError: The walker has no led hands.
        """
        if not isinstance(self.batch, WalkCommandsBatch):
            raise ConfigError(
                f'tasks = "reach": walker {self.walker.name} has no hands that can be led; '
                "walk_commands has"
            )
        self._hands = self.batch
        self._points[:] = points
        self._see_hands(np.arange(len(points)))

    def reset(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        """Place `envs` at `poses` (x, y, yaw) in level `slots`, at the lowest speed.

        A pose with obstacles nearer than `START_ROOM` is moved away from them.
        """
        envs = np.asarray(envs, np.int64)
        poses = self._with_room(np.asarray(slots, np.int64), poses[:, :3])
        self._place(envs, slots, poses)
        self._windows.forget(envs)
        points = self._places[:, self._root, :2].copy()
        points[envs] = poses[:, :2]
        self._windows.follow(self._slot, points)
        self._force[envs] = 0.0
        self._ground.begin(poses)
        self._obs = self.batch.reset(envs)
        self._command(envs)
        self._look(envs)
        self.poses[envs] = self.qpos[envs, None]
        self.state.position[envs] = self._ground_point(envs)
        self._see_hands(envs)
        self._read_rays(envs)

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        spec, state = self.spec, self.state
        motion = motion_of(actions, spec, self.state.command, self.comfort)
        self._check_placed()
        everyone = np.arange(len(self._slot))
        before, yaw = state.position.copy(), state.yaw.copy()
        pelvis = self._places[:, self._root, :2].copy()
        state.contact_ticks[:], state.collisions[:], self._force[:] = 0, 0, 0.0
        for tick in range(spec.ticks_per_decision):
            state.command[:] = (
                spec.tick_decay * state.command
                + (1.0 - spec.tick_decay) * motion.target
            )
            self._command(everyone)
            self._obs = self.batch.step(self.walker.act(self._obs))[0]
            self.poses[:, tick] = self.qpos
            self._look(everyone)
            self._count_contacts()
            state.fell[:] |= self._fallen()
        self._windows.follow(self._slot, self._places[:, self._root, :2])
        state.position[:] = self._ground_point(everyone)
        moved = state.position - before
        state.velocity[:] = moved / spec.decision_dt
        state.velocity[:, 2] = 0.0
        state.yaw_rate[:] = (state.yaw - yaw) / spec.decision_dt
        # Of the pelvis: two fifths of an oracle's path would be sway of the head.
        state.path[:] = np.hypot(*(self._places[:, self._root, :2] - pelvis).T)
        self._see_hands(everyone)
        self._read_rays(everyone)
        return state

    def _read_rays(self, envs: Ints) -> None:
        """Read the rays of `envs` (k,); empty for a head beyond the floor, as in a fall."""
        off_floor = np.zeros(len(self.state.position), np.bool_)
        are_off_floor(envs, self._slot, self.state.position, self._shapes(), off_floor)
        self._look_from(envs, self._bodies()._replace(falling=off_floor))

    def details(self) -> dict[str, NDArray[Any]]:
        """Further quantities of the bodies after a step, arrays over envs."""
        height, tilt = self._head_up.T
        return {
            "touched": self.state.contact_ticks > 0,
            "touch_force": self._force.copy(),
            "head_height": height.copy(),
            "head_tilt": tilt.copy(),
            "gait_phase": self.batch.phase.copy(),
            "exploded": self.batch.simulation.fault > 0,
        }

    @property
    def qpos(self) -> Floats:
        """Positions of all joints, shape (N, nq)."""
        qpos: Floats = self.batch.simulation.qpos
        return qpos

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs."""
        bodies = flattened({"bodies": self.batch.state_dict()})
        hands = {} if self._hands is None else {"points": self._points.copy()}
        return {**super().state_dict(), **bodies, **hands}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`; slots must hold the same levels."""
        super().load_state_dict(arrays)
        self._windows.forget(np.arange(len(self._slot)))
        bodies: dict[str, Any] = part_of(arrays, "bodies")
        self._windows.follow(self._slot, bodies["simulation.qpos"][:, :2])
        self.batch.load_state_dict(bodies)
        self._obs = self.batch.obs
        self.poses[:] = self.qpos[:, None]
        if "points" in arrays:
            self.reach(np.asarray(arrays["points"], np.float64))
        self._head_up[:, 0] = self._places[:, self._head, 2]

    def close(self) -> None:
        """Free the simulation."""
        self.batch.close()

    def __getstate__(self) -> dict[str, Any]:
        """Settings and state of the world, for pickling; simulations are not copied."""
        return {
            "made": (len(self._slot), self.spec, self.walker, self._threads),
            "levels": self._levels,
            "comfort": self.comfort,
            "arrays": self.state_dict(),
            "rngs": list(self.batch.rngs),
        }

    def __setstate__(self, values: dict[str, Any]) -> None:
        BodyWorld.__init__(self, *values["made"])
        self.comfort = values["comfort"]
        levels: dict[int, Level] = values["levels"]
        if levels:
            self.set_levels(list(levels), list(levels.values()))
        self.load_state_dict(values["arrays"])
        self.batch.rngs[:] = values["rngs"]

    def _with_room(self, slots: Ints, poses: Floats) -> Floats:
        """`poses` (k, 3) moved so that arms and feet are clear of obstacles."""
        out = np.array(poses, np.float64)
        shapes = self._shapes()
        for row, slot in zip(out, slots, strict=True):
            row[:2] = moved_out(solids_of(shapes, slot), *row[:2], 0.0, START_ROOM)
        return out

    def _command(self, envs: Ints) -> None:
        commands = self._sticks.of(self.state.command)
        if (hands := self._hands) is not None:
            held = np.any(hands.arms.led, axis=1)
            rests = at_rest(self.state.command)
            near = in_reach(self.state, self._points, held, rests)
            commands[near & rests] = 0.0
            led = np.where(near[:, None], self._points, np.nan)
            hands.reach(envs, led[envs])
            hands.look_at(envs, self._points[envs])
        speed, side, turn = commands[envs].T
        self.batch.set_command(envs, speed, turn, side)

    def _see_hands(self, envs: Ints) -> None:
        """Update the hands of `envs` (k,), once there are points to reach for."""
        if self._hands is not None:
            palms = from_origin(self.state, self._hands.arms.palms())
            self.state.hands[envs] = palms[envs]

    def _look(self, envs: Ints) -> None:
        """Update heading, height and tilt of `envs`."""
        facing = self._turns[envs, self._root, :2, 0]
        yaw = np.arctan2(facing[:, 1], facing[:, 0])
        turned = np.remainder(yaw - self.state.yaw[envs] + np.pi, 2.0 * np.pi) - np.pi
        self.state.yaw[envs] += turned
        self._head_up[envs, 0] = self._places[envs, self._head, 2]
        up = np.clip(self._turns[envs, self._head, 2, 2], -1.0, 1.0)
        self._head_up[envs, 1] = np.arccos(up)

    def _count_contacts(self) -> None:
        """Count this tick's contacts."""
        state = self.state
        force = np.linalg.norm(
            self._sensors[:, self._touch + 1 : self._touch + 4], axis=1
        )
        touched = np.nan_to_num(force) > TOUCH_FORCE
        np.maximum(self._force, np.nan_to_num(force), out=self._force)
        state.contact_ticks[:] += touched
        state.collisions[:] += touched & (state.since_contact >= self.spec.rearm_ticks)
        state.since_contact[:] = np.where(touched, 0, state.since_contact + 1)

    def _fallen(self) -> Bools:
        """Mask of bodies with a low or tilted trunk, or an exploded simulation. (N,)."""
        body = self.batch.state
        low = body.deviation[:, 2] < -FALLEN_HEIGHT
        tilted = ~(self._turns[:, self._root, 2, 2] > FALLEN_TILT)
        fault: Bools = self.batch.simulation.fault > 0
        return low | tilted | fault

    def _ground_point(self, envs: Ints) -> Floats:
        """The floor below the head of `envs`, shape (k, 3), [m]."""
        point = self._places[envs, self._head].copy()
        point[:, 2] = 0.0
        return np.where(np.isfinite(point), point, 0.0)


def check_rate(spec: WorldSpec, rate: int, walker: str) -> None:
    """Raise `ConfigError` if a tick of `spec` is no control step of `walker`."""
    if abs(spec.dt * rate - 1.0) > 1e-9:
        raise ConfigError(
            f"environment.physics_ticks_per_second = {1.0 / spec.dt:g}: walker {walker} "
            f"takes {rate} control steps a second, and a tick is one"
        )
