"""Walk, turn and step to the side as commanded, stop, stand, and stay up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.batch import BatchStep
from ambulo.configs.walk_commands import CENTRIPETAL, SPEED
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.body import body_of_joint
from ambulo.envs.locomotion.commanded import CommandedBatch
from ambulo.envs.locomotion.observation import Parts
from ambulo.envs.locomotion.reward import Terms, turn_rate
from ambulo.envs.locomotion.world import World
from ambulo.envs.reference.foot_steering import FootSteering
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.legs import legs_of
from ambulo.envs.reference.walk_gaits import WalkGaits
from ambulo.envs.simulation.frames import along_heading, walk_frames
from ambulo.envs.simulation.touch import TouchForces, place_around
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.tasks.walk_commands.commands import (
    BEYOND,
    MEAN,
    OWN_SETTLING,
    OWN_TURN,
    corrected,
    drawn_goal,
    drawn_wait,
    settle,
    stands_still,
    units_of,
    within_envelope,
)
from ambulo.envs.tasks.walk_commands.stepping import (
    HOLD,
    SPEED_OFF,
    START_HOLD,
    SWAY,
    TRIP_FORCE,
    TRIP_HOLD,
    TRIP_SPEED,
    away,
    first_phase,
    giving,
    low_passed,
    policy_fraction,
    stay_near,
    stops,
    tie,
)
from ambulo.motion.roles import SIDES, roles_of

PUSHED_FORCE = 100.0
"""Force that is observed as 1, [N]."""
_BEGUN = (
    "command", "change", "correction", "given", "mean", "force", "held_until", "stood",
)  # fmt: skip
"""Arrays that are 0 at the start of an episode."""


class WalkingBatch(CommandedBatch):
    """N bodies that follow commands, stop and stand; see `CommandedBatch`.

    The reference frame moves as commanded, and the gaits at that speed are followed in it,
    their feet placed by `FootSteering`. A command of zeros means standing: steps end at double
    support, and begin there again.
    """

    gaits: WalkGaits
    _steering: FootSteering
    rewards: ClassVar[tuple[str, ...]] = (
        "command",
        "alive",
        "touch",
        "costs",
        "likeness",
    )
    takes_side, lateral = True, CENTRIPETAL
    settling, start_hold = OWN_SETTLING, START_HOLD
    """How commands settle, and the time on the spot after a start, [s]."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the batch; see `LocomotionBatch`."""
        count = kwargs["num_envs"]
        self.correction: Floats = np.zeros((count, 3))
        """Correction of the commands towards the commanded mean velocity. (N, 3)."""
        self.given: Floats = np.zeros((count, 3))
        """Commands that yield to a force, in addition to the settled ones. Shape (N, 3)."""
        self.mean: Floats = np.zeros((count, 3))
        """Low-passed speed, turning rate and speed to the left. Shape (N, 3)."""
        self.next_scene: Floats = np.full(count, np.inf)
        """Time of the next obstacles, [s]. Shape (N,)."""
        self.standing: Bools = np.ones(count, np.bool_)
        """Whether standing is followed, not steps. Shape (N,)."""
        self.stood: Floats = np.zeros(count)
        """Time since standing began, [s]; 0 of those that step. Shape (N,)."""
        self.held_until: Floats = np.zeros(count)
        """Time until which steps are on the spot, [s]. Shape (N,)."""
        self.force: Floats = np.zeros((count, 2))
        """Low-passed force of touches, along the world's X and Y, [N]. (N, 2)."""
        self.touched_until: Floats = np.full(count, -np.inf)
        """Time until which a touch counts, [s]. Shape (N,)."""
        self.clamped: Bools = np.zeros(count, np.bool_)
        """Whether the last command was outside the envelope. Shape (N,)."""
        character: Character = args[2]
        turn = 1.0 if character.standing is None else OWN_TURN
        self.units: Floats = units_of(legs_of(character).pace, turn)
        """Unit of each part of the envelope's commands. Shape (3,)."""
        super().__init__(*args, **kwargs)
        self.command = np.zeros((count, 3))
        self._steering = FootSteering(self.character, self.gaits, self.gaits.walks)
        # Only where the balance controller stays the same.
        self._fades = len(self._acting_dofs) > 0
        self._touching = TouchForces(self.simulation)
        self._places = self.simulation.bind("xpos")
        self._turns = self.simulation.bind("xmat")
        roles = roles_of(self.character.skeleton)
        feet = [roles.get(f"{s}_foot", roles[f"{s}_shin"]) for s in SIDES]
        self._ankles = [body_of_joint(self.character, joint) for joint in feet]

    _saved = (
        *CommandedBatch._saved, "correction", "given", "mean", "next_scene", "standing",
        "stood", "held_until", "force", "touched_until", "clamped",
    )  # fmt: skip

    def set_command(
        self, envs: Ints, speed: Floats, turning: Floats, side: Floats | float = 0.0
    ) -> None:
        """As `CommandedBatch`; also stops the drawing of obstacles until the next reset.

        Commands outside the envelope are clamped (`info["clamped"]`); zeros mean standing.

        Raises:
            ConfigError: A command is not finite.
        """
        wanted = np.stack(
            [np.broadcast_to(part, np.shape(envs)) for part in (speed, turning, side)],
            axis=1,
        ).astype(np.float64)
        inside, self.clamped[envs] = within_envelope(
            wanted, self.speeds, units=self.units
        )
        self.goal[envs] = inside
        self.next_command[envs] = self.next_scene[envs] = np.inf

    @property
    def speeds(self) -> tuple[float, float]:
        """Range of speeds ahead in `units`; for a user's body, up to its fastest gait."""
        if self.character.standing is None:
            return SPEED
        return SPEED[0], min(SPEED[1], self.gaits.span[1] / float(self.units[0]))

    def start_info(self) -> Arrays:
        """As `LocomotionBatch`, with `standing`, `touched` and `clamped`."""
        return super().start_info() | self._command_info()

    def step(self, actions: NDArray[np.generic]) -> BatchStep:
        """As `LocomotionBatch`.

        `info` also holds `standing` (the body follows standing, not steps), `touched` and
        `clamped` (the last command was outside the envelope).
        """
        *outcome, info = super().step(actions)
        return (*outcome, info | self._command_info())  # type: ignore[return-value]

    def felt(self) -> Floats:
        """Contact forces of obstacles along the world's X and Y, [N]. Shape (N, 2)."""
        return self._touching.now()

    @property
    def touched(self) -> Bools:
        """Mask of the bodies in contact with an obstacle now or recently. Shape (N,)."""
        return np.asarray(self.simulation.time < self.touched_until)

    def _command_info(self) -> Arrays:
        names = ("standing", "touched", "clamped")
        return {name: getattr(self, name).copy() for name in names}

    def _world(self) -> World:
        env, boxes = self.config.environment, self.config.walk.obstacles > 0.0
        return World(env, self.character, self.variant, touch=True, boxes=boxes)

    def _gaits(self) -> Gaits:
        return WalkGaits(self.reference, self.character)

    def _blend(self) -> Blend:
        return self.gaits.blend_for(self._followed_command()[:, 0], self.standing)

    def _followed_command(self) -> Floats:
        """The commands with correction and yielding; zeros in standing. (N, 3)."""
        asked = self.correction + self.given
        asked[:, : self.command.shape[1]] += self.command
        reach = (self.gaits.span[0] / self.units[0], self.speeds[1]), BEYOND
        followed, _ = within_envelope(
            asked, *reach, turns_take_side=False, units=self.units
        )
        followed[self.standing] = 0.0
        return followed

    def _begin(self, envs: Ints) -> None:
        for name in _BEGUN:
            getattr(self, name)[envs] = 0.0
        self.touched_until[envs], self.clamped[envs] = -np.inf, False
        mid = self._steering.mid_stance[0]
        for env in envs:
            stands = self.rngs[env].random() < self.config.walk.stand_start
            self._draw(int(env), 0.0)
            self._place(int(env), 0.0)
            stands |= bool(stands_still(self.goal[env : env + 1])[0])
            self.standing[env] = stands and self.gaits.stands
            if self.standing[env]:
                self.phase[env] = first_phase(mid, np.zeros(1))[0]
            else:
                self.command[env] = self.mean[env] = self.goal[env]

    def _tick(self, advance: Floats) -> None:
        self.phase += np.where(self.standing, 0.0, advance)

    def _offsets(self, wanted: Floats) -> Floats:
        if self._fades:
            wanted = wanted * policy_fraction(self.stood)[:, None]
        return super()._offsets(wanted)

    def _advance(self) -> None:
        dt, time = self.simulation.dt, self.simulation.time
        for env in np.flatnonzero(time >= self.next_command):
            self._draw(int(env), float(time[env]))
        for env in np.flatnonzero(time >= self.next_scene):
            self._place(int(env), float(time[env]))
        self._feel(dt)
        self._switch()
        wanted = self.goal
        if self.config.walk.trip:
            gives = self.touched & stands_still(wanted)
            # In the reference frame, which this moves.
            force = along_heading(self.force, self.reference_frame[:, 2])
            self.given = gives[:, None] * giving(force)
        if self.config.walk.reflex:
            wanted = away(wanted, self._force_seen(), self.touched)
        held = (time < self.held_until)[:, None] | self.standing[:, None]
        wanted = np.where(held, 0.0, wanted)
        settle(wanted, dt, self.command, self.change, self.settling)
        self._correct(dt)
        self.blend = self._blend()
        self._move_frames(dt)

    def _feel(self, dt: float) -> None:
        """Update the low-passed force and the time of contact."""
        self.force = low_passed(self.force, self.felt(), dt)
        strong = np.linalg.norm(self.force, axis=1) > self.config.walk.touch_threshold
        self.touched_until[strong] = self.simulation.time[strong] + HOLD

    def _force_seen(self) -> Floats:
        """The low-passed force ahead of the body and to its left, [N]. Shape (N, 2)."""
        return along_heading(self.force, self._yaw)

    @property
    def _yaw(self) -> Floats:
        """Headings of the bodies in the world, [rad]. Shape (N,)."""
        return np.asarray(self.reference_frame[:, 2] + self.state.yaw)

    def _switch(self) -> None:
        """Switch bodies between stepping and standing."""
        time, heading = self.simulation.time, self.state.heading
        mid = float(self._steering.mid_stance[0])
        busy = self._busy()
        still = stands_still(self.goal) | busy
        speed = np.hypot(heading[:, 0], heading[:, 1])
        pressed = np.linalg.norm(self.force, axis=1) > TRIP_FORCE
        shoved = self.standing & self.config.walk.trip
        shove = np.where(self.stood < SWAY, SPEED_OFF, TRIP_SPEED)
        shoved &= (speed > shove) & ~busy | pressed
        begins = self.standing & (~still | shoved)
        ankles = self._feet(np.arange(self.num_envs))
        between = ankles[:, 0] - ankles[:, 1]
        apart = along_heading(between, self._yaw)
        ends = ~self.standing & still & ~self.touched & (time >= self.held_until)
        ends &= self.gaits.stands
        width = float(self._steering.centres[-1, :, 1] @ [1.0, -1.0])
        ends &= stops(self.phase, mid, self.command, apart, speed, width)
        self.standing = (self.standing & ~begins) | ends
        self.stood = np.where(self.standing, self.stood + self.simulation.dt, 0.0)
        hold = np.where(shoved, TRIP_HOLD, self.start_hold)
        self.held_until[begins] = (time + hold)[begins]
        self.phase[begins] = first_phase(mid, heading[:, 1])[begins]
        for array in (self.command, self.change, self.correction, self.mean):
            array[begins | ends] = 0.0

    def _feet(self, envs: Ints) -> Floats:
        """Ankles of `envs` (k,), or feet without one, in the world, [m]. Shape (k, 2, 3)."""
        rows, ends = np.ix_(envs, np.array(self._ankles)), self._steering.legs.ends
        places: Floats = self._places[rows]
        if ends.any():
            turns = self._turns[rows].reshape(-1, 2, 3, 3)
            places = places + np.einsum("kfij,fj->kfi", turns, ends)
        return places

    def _correct(self, dt: float) -> None:
        """Correct bodies whose mean velocity differs from the command."""
        x, y = self.state.qvel[:, :2].T
        seen = np.stack([x, turn_rate(self.state), y], axis=1)
        self.mean += dt / MEAN * (seen - self.mean)
        steady = (np.abs(self.change) < 0.1).all(axis=1)
        steady &= ~self.standing & ~self.touched
        error = self.command + self.given - self.mean
        self.correction = corrected(self.correction, error, np.where(steady, dt, 0.0))

    def _busy(self) -> Bools:
        """Mask of the bodies that keep standing unless pushed. Shape (N,)."""
        return np.zeros(self.num_envs, np.bool_)

    def _move_frames(self, dt: float) -> None:
        """Move the frames as commanded, near the bodies; standing ones to the feet."""
        _, turning, side = self._followed_command().T
        walk_frames(self.reference_frame, self.blend.speed, turning, dt, side)
        touched = self.touched
        root = self.simulation.qpos[:, :2]
        stay_near(self.reference_frame, root, self.state.yaw, touched)
        on = np.flatnonzero(self.standing)
        if len(on):
            frames, feet = self.reference_frame[on], np.ix_(on, np.array(self._ankles))
            behind = float(self._steering.centres[-1, :, 0].mean())
            tie(frames, self._feet(on), self._turns[feet], behind)
            self.reference_frame[on] = frames

    def _rewarded_command(self) -> Floats:
        return np.where(self.standing[:, None], 0.0, self.command + self.given)

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        def touch() -> Terms:
            size = np.linalg.norm(self.felt(), axis=1)
            return {"touch": -self.config.walk.touch_cost * np.minimum(size, 500.0)}

        return super()._reward_groups(power, actions) | {"touch": touch}

    def _shown(self) -> Parts:
        touched = self.touched[:, None]
        return {
            "goal": self.goal,
            "standing": self.standing[:, None].astype(np.float64),
            "touch": np.hstack([self._force_seen() / PUSHED_FORCE, touched]),
        }

    def _draw(self, index: int, now: float) -> None:
        """Give a body a new command."""
        env, walk, rng = self.config.environment, self.config.walk, self.rngs[index]
        self.next_command[index] = now + drawn_wait(rng.random(), env.command_interval)
        low, high = np.clip(env.speed, *self.units[0] * np.array(self.speeds))
        self.goal[index] = drawn_goal(
            rng.random(6), (low, high), env.turn, walk, self.units
        )

    def _place(self, index: int, now: float) -> None:
        """Place new obstacles around a body."""
        if self._boxes is None:
            return
        walk, rng = self.config.walk, self.rngs[index]
        self.next_scene[index] = now + drawn_wait(rng.random(), walk.scene_interval)
        place_around(self._boxes, index, self.reference_frame[index, :3], walk, rng)
