"""Walk commands: bodies that walk and stand as commanded, reach for points and look at them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.layout import ObservationLayout
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.reference.crouches import RATE, Crouches, depth_for
from ambulo.envs.reference.leg_kernels import stand_over
from ambulo.envs.reference.legs import ankle_places
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.frames import along_heading
from ambulo.envs.tasks.walk_commands.arms import ARM, Elbows, LedArms, nearer_hand
from ambulo.envs.tasks.walk_commands.commands import SETTLING, stands_still
from ambulo.envs.tasks.walk_commands.gaze import Gaze
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch

STILL = 0.3
"""Time for which a body has stood before it may crouch or lead its hands again, [s]."""
STEADY = (0.1, 0.15)
"""A standing body farther from its reference, [m], or more tilted, [rad], releases its hands,
rises and steps."""
PLANTED = 0.2
"""Depth of a crouch from which the legs are solved for the present feet."""
SHALLOW = 0.15
"""Depth of a crouch below which it may end with a step."""


class WalkCommandsBatch(WalkingBatch):
    """N bodies that follow commands, and whose hands, height and gaze may be led.

    `reach` leads the nearer hand of a body to a point. A standing body crouches as far as a low
    point needs; one that is commanded to walk rises first. `look_at` turns its head. Neither is
    part of the policy, which observes the arms and head of its gait: arm, crouch and head are
    solved, and stable PD and the balance controllers stabilise them. Users' own bodies are not
    led.
    """

    settling = SETTLING

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create the batch; see `LocomotionBatch`."""
        count = kwargs["num_envs"]
        self.depth: Floats = np.zeros(count)
        """Depth of the crouch, from 0 (standing) to 1 (deepest). Shape (N,)."""
        self.sinking: Floats = np.zeros(count)
        """Change of the depth, [1/s]. Shape (N,)."""
        self.planted: Floats = np.zeros((count, 2, 3))
        """Position of each foot of a crouching body relative to its reference, ahead, to the
        left, [m], and yaw, [rad]. Shape (N, 2, 3)."""
        self.elbows: Elbows | None = None
        """Where elbows point, an IK network's from the first led hand on; None: down,
        outwards and back."""
        self._crouches: Crouches | None = None
        self._arms_hang: Floats | None = None
        super().__init__(*args, **kwargs)
        self._steps = self.reference  # gaits, also after `reference` changes
        self.arms = LedArms(self.character, self.simulation)
        """The arms that are led."""
        self.gaze = Gaze(self.character, self.simulation)
        """Gaze targets."""
        self._led_columns = np.concatenate([*self.arms.columns, *self.gaze.columns])
        self._led_dofs = np.concatenate([*self.arms.dofs, *self.gaze.dofs])

    @classmethod
    def of_own(
        cls, config: LocomotionConfig, reference: Reference
    ) -> type[LocomotionBatch]:
        """As of `LocomotionBatch`: their hands, height and gaze are not led."""
        return WalkingBatch

    sinking_rate = RATE
    """Fastest change of the depth, [1/s]."""
    _saved = (*WalkingBatch._saved, "depth", "sinking", "planted")

    def reach(self, envs: Ints, points: Floats) -> None:
        """Lead the nearer hand of `envs` (k,) to `points` (k, 3) in the world, [m].

        The present hand keeps leading; NaN releases both hands.

        Raises:
            ConfigError: Points have another shape.
        """
        if np.shape(points) != (len(envs), 3):
            raise ConfigError(
                f"points have shape {np.shape(points)}, expected ({len(envs)}, 3)"
            )
        arms, wanted = self.arms, np.all(np.isfinite(points), axis=1)
        arms.led[envs[~wanted]] = False
        on, points = envs[wanted], np.asarray(points, np.float64)[wanted]
        fresh = np.logical_not(np.any(arms.led[on], axis=1))
        hands = nearer_hand(arms.shoulders()[on], points)
        arms.led[on[fresh], hands[fresh]] = True
        arms.sag[on[fresh]] = 0.0
        arms.goal[on] = points[:, None]

    def look_at(self, envs: Ints, points: Floats) -> None:
        """Let `envs` (k,) look at `points` (k, 3) in the world, [m]; NaN is straight ahead."""
        gaze, wanted = self.gaze, np.all(np.isfinite(points), axis=1)
        gaze.on[envs] = wanted
        gaze.point[envs] = np.where(wanted[:, None], points, 0.0)

    @property
    def _parts_with_state(self) -> dict[str, Any]:
        return super()._parts_with_state | {"arms": self.arms, "gaze": self.gaze}

    def _begin(self, envs: Ints) -> None:
        self.depth[envs] = self.sinking[envs] = 0.0
        self.arms.clear(envs)
        self.gaze.clear(envs)
        super()._begin(envs)

    def _busy(self) -> Bools:
        stays = self.arms.away.any(axis=1) & stands_still(self.goal)
        holds = self._steady() | (self.depth > SHALLOW)
        return ((self.depth > 0.0) | stays) & holds

    def _ready(self) -> Bools:
        """Mask of the bodies that may crouch: they stand, and are commanded to. Shape (N,)."""
        stands = self.standing & (self.stood > STILL) & stands_still(self.goal)
        return stands & self._steady()

    def _steady(self) -> Bools:
        """Mask of the bodies near their reference. Shape (N,)."""
        off = self.state.deviation
        near = np.hypot(off[:, 0], off[:, 1]) < STEADY[0]
        return near & (np.hypot(off[:, 3], off[:, 4]) < STEADY[1])

    def _advance(self) -> None:
        super()._advance()
        dt, arms = self.simulation.dt, self.arms
        if arms.led.any() or arms.away.any() or self.depth.any():
            ready = self._ready()
            self._sink(ready, dt)
            own = super()._reference(self.phase)[0]
            if self.elbows is None:
                # Its files need a package that plain environments do not need.
                from ambulo.envs.tasks.walk_commands.elbows import ElbowPrior

                self.elbows = ElbowPrior(self.character, self.simulation)
            arms.advance(~self.standing | ready, own, self._yaw, dt, self.elbows)
        self.gaze.advance(dt)

    def _sink(self, ready: Bools, dt: float) -> None:
        """Change the depths of `ready` bodies (N,) towards those that their goals need."""
        wanted = self._needed_depth(ready)
        self._plant(np.flatnonzero((wanted > 0.0) & (self.depth == 0.0)))
        most = self.sinking_rate * dt
        step = np.clip(wanted - self.depth, -most, most)
        step[~self.standing] = -self.depth[~self.standing]
        self.depth += step
        self.sinking = step / dt

    def _needed_depth(self, ready: Bools) -> Floats:
        """Depths that the goals of `ready` bodies (N,) need. Shape (N,)."""
        arms, wanted = self.arms, np.zeros(self.num_envs)
        on = np.flatnonzero(ready & arms.led.any(axis=1))
        if len(on):
            side = np.argmax(arms.led[on], axis=1)
            goal = arms.goal[on, side]
            away = goal[:, :2] - arms.shoulders()[on, side, :2]
            wanted[on] = np.where(np.hypot(*away.T) < ARM, depth_for(goal[:, 2]), 0.0)
        return wanted

    def _plant(self, envs: Ints) -> None:
        """Record the stance of the feet of `envs` (k,), which begin to crouch."""
        if not len(envs):
            return
        feet = np.ix_(envs, np.array(self._ankles))
        turns = self._turns[feet].reshape(-1, 2, 3, 3)
        yaw = (
            np.arctan2(turns[..., 1, 0], turns[..., 0, 0])
            - self.reference_frame[envs, None, 2]
        )
        away = self._places[feet] - self.reference_frame[envs, None, :3] * [
            1.0,
            1.0,
            0.0,
        ]
        ahead, left = np.moveaxis(
            along_heading(away, self.reference_frame[envs, 2]), -1, 0
        )
        own = ankle_places(self._steering.legs, super()._reference(self.phase)[0][envs])
        self.planted[envs] = np.stack(
            [
                ahead - own[..., 0],
                left - own[..., 1],
                (yaw + np.pi) % (2 * np.pi) - np.pi,
            ],
            axis=-1,
        )

    def _crouched(self) -> Ints:
        """Indices of the crouching bodies. Shape (k,)."""
        return np.flatnonzero(self.standing & (self.depth > 0.0))

    @property
    def crouches(self) -> Crouches:
        """Crouched postures of the body; solved at first use."""
        if self._crouches is None:
            self._crouches = Crouches(
                self.character, self._steps, self.config.environment
            )
        return self._crouches

    def _hanging(self, depth: Floats) -> Floats:
        """Overhang of the arms of a posture, whose trunk is bent, by depth (k,). (k, 2)."""
        if self._arms_hang is None:
            self._arms_hang = self.arms.hanging(self.crouches.postures)
        levels = np.linspace(0.0, 1.0, len(self._arms_hang))
        return np.stack(
            [np.interp(depth, levels, c) for c in self._arms_hang.T], axis=1
        )

    def _reference(self, phase: Floats) -> tuple[Floats, Floats, Floats]:
        qpos, qvel, torque = super()._reference(phase)
        low = self._crouched()
        if len(low):
            qpos[low], qvel[low], torque[low] = self.crouches.at(
                self.depth[low], self.sinking[low]
            )
        on = np.flatnonzero(
            self.standing & (self.arms.away.any(axis=1) | (self.depth > 0))
        )
        if len(on):  # the trunk leans back, legs reach for the feet
            stands, part = qpos[on], np.minimum(self.depth[on] / PLANTED, 1.0)
            root = self._hanging(self.depth[on]) - self.arms.overhang[on]
            feet = part[:, None, None] * self.planted[on]
            stand_over(self._steering.legs, stands, root, feet)
            qpos[on] = stands
        self.arms.bend(qpos, qvel)
        self.gaze.bend(qpos)
        return qpos, qvel, torque

    def _fill(self, layout: ObservationLayout, out: NDArray[np.float32]) -> None:
        """Write the gait's arms and head, not the led ones, into the policy's observation."""
        real, envs = self.state, self._led()
        if len(envs):
            own, rates, _ = super()._reference(self.phase)
            qpos, qvel = real.qpos.copy(), real.qvel.copy()
            qpos[np.ix_(envs, self._led_columns)] = own[np.ix_(envs, self._led_columns)]
            qvel[np.ix_(envs, self._led_dofs)] = rates[np.ix_(envs, self._led_dofs)]
            self.state = replace(real, qpos=qpos, qvel=qvel)
        super()._fill(layout, out)
        self.state = real

    def _led(self) -> Ints:
        """Indices of the bodies whose arms or head are led. Shape (k,)."""
        led = self.arms.away.any(axis=1) | self.gaze.angles.any(axis=1)
        return np.flatnonzero(led)

    def _look(self) -> None:
        super()._look()
        led, low = self._led(), self._crouched()
        state = self.state
        for array in (state.deviation, state.rate):
            # The balance controller ignores the led arms and head.
            array[np.ix_(led, self._led_dofs)] = 0.0
        if not len(self.gaits.controller_dofs):
            return
        if len(led):
            self.balance_offsets = self.gaits.controller_offsets(
                self.phase, self.blend, state.deviation, state.rate
            )
        if len(low):
            self.balance_offsets[low] = self.crouches.offsets(
                self.depth[low], state.deviation[low], state.rate[low]
            )


BATCH = WalkCommandsBatch
