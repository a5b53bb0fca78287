"""Twins of a walker in VR levels: fast surrogates of a character's motion and falls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.twin import TwinConfig
from ambulo.envs.vr.body.body_world import check_rate
from ambulo.envs.vr.body.commands import StickCommands
from ambulo.envs.vr.body.fitting import BodySize, check_levels
from ambulo.envs.vr.body.hands import TwinHands, at_rest, in_reach
from ambulo.envs.vr.body.twin_kernels import (
    MEMORY,
    TwinModel,
    TwinState,
    step_twins,
)
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.actions import motion_of
from ambulo.envs.vr.world.base import refuse_heights
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.state import WorldState


class TwinWorld(CompiledWorld):
    """N twins in levels; see `World` for the interface, `BodyWorld` for the simulated original.

    A twin is a disc that moves by the `Response` of its walker, slides along the prisms that it
    touches, and may fall there by its `ContactRule`. It falls at once where there is no floor
    under it.
    """

    stochastic = True
    can_share = False

    def __init__(self, num_envs: int, spec: WorldSpec, twin: TwinConfig) -> None:
        """`num_envs` twins, not yet placed in any level.

        Raises:
            ConfigError: The settings do not fit the walker.
        """
        super().__init__(num_envs, spec)
        check_rate(spec, twin.control_rate, twin.walker)
        self.twin = twin
        self._sticks = StickCommands(spec, twin.envelope, twin.walker)
        self._size = BodySize(f"the twin of {twin.walker}")
        parts = (twin.speed, twin.side, twin.turn)
        late = [min(round(p.delay / spec.dt), MEMORY - 1) for p in parts]
        rule = twin.contact
        self._model = TwinModel(
            responses=np.array(
                [[p.gain, p.offset, p.lag, p.change, p.delay, p.noise] for p in parts]
            ),
            delays=np.array(late, np.int64),
            radius=twin.radius,
            still=rule.still,
            growth=rule.speed,
            after=rule.after,
            fall_rate=twin.fall_rate,
        )
        self._twins = TwinState(
            motion=np.zeros((num_envs, 3)),
            wander=np.zeros((num_envs, 3)),
            past=np.zeros((num_envs, MEMORY, 3)),
            age=np.zeros(num_envs, np.int64),
            pressed=np.zeros((num_envs, 2)),
            chance=np.arange(num_envs, dtype=np.uint64),
        )
        self._hands: TwinHands | None = None
        self._points: Floats = np.full((num_envs, 3), np.nan)

    def set_levels(self, slots: Sequence[int], levels: Sequence[Level]) -> None:
        """Put `levels[i]` into slot `slots[i]`.

        Raises:
            LevelError: The body does not fit through a level.
        """
        refuse_heights(levels, "a twin")
        check_levels(levels, self._size)
        super().set_levels(slots, levels)

    def reach(self, points: Floats) -> None:
        """Lead hands to `points` (N, 3) in the world, [m]; see `BodyWorld.reach`."""
        if self._hands is None:
            self._hands = TwinHands(len(points))
            self.state.hands[:] = self._hands.palms
        self._points[:] = points

    def seed(self, envs: Ints, seeds: Ints) -> None:
        """Seed the random numbers of the next episodes of `envs` (k,)."""
        self._twins.chance[envs] = np.asarray(seeds).astype(np.uint64)

    def details(self) -> dict[str, NDArray[np.generic]]:
        """Return whether each body touched an obstacle in the last step, as `touched`."""
        return {"touched": self.state.contact_ticks > 0}

    def step(self, actions: NDArray[np.generic]) -> WorldState:
        """Advance every env by one environment step."""
        motion = motion_of(actions, self.spec, self.state.command, self.comfort)
        self._check_placed()
        target = self._led(motion.target)
        step_twins(
            target, self._slot, self._bodies(), self._twins, self._sticks.limits,
            self._model, self._rules(), self._shapes(),
        )  # fmt: skip
        self._read_rays(self._everyone)
        return self.state

    def _led(self, sticks: Floats) -> Floats:
        """Move hands; return `sticks` (N, 3), zero for twins that reach or get up first."""
        if self._hands is None:
            return sticks
        hands, state = self._hands, self.state
        rests = at_rest(sticks)
        near = in_reach(state, self._points, hands.held, rests)
        still = near & rests
        out = np.where((still | (hands.depth > 0.0))[:, None], 0.0, sticks)
        hands.advance(state, self._points, near, still, self.spec.decision_dt)
        state.hands[:] = hands.palms
        return out

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {
            **super()._arrays(),
            **self._twins._asdict(),
            **self._hand_arrays(),
        }

    def _hand_arrays(self) -> dict[str, NDArray[np.generic]]:
        hands = self._hands
        if hands is None:
            return {}
        return {
            "depth": hands.depth,
            "stood": hands.stood,
            "palms": hands.palms,
            "held": hands.held,
            "points": self._points,
        }

    def _place(self, envs: Ints, slots: Ints, poses: Floats) -> None:
        super()._place(envs, slots, poses)
        slowest = self.twin.envelope.nearest_speed(0.0)
        twins = self._twins
        twins.motion[envs] = [slowest, 0.0, 0.0]
        twins.past[envs] = [slowest, 0.0, 0.0]
        twins.wander[envs], twins.pressed[envs], twins.age[envs] = 0.0, 0.0, 0
        if self._hands is not None:
            self._hands.clear(envs)
            self.state.hands[envs] = self._hands.palms[envs]
