"""Get up: rise from where a fall ended, and stand."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ambulo.configs.arrays import Bools, Floats, Ints
from ambulo.configs.errors import MotionFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.locomotion.reward import Terms, rising_terms
from ambulo.envs.reference.cached import EntryFormat, cached
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.frames import into_frame
from ambulo.envs.simulation.simulation import CharacterSimulation
from ambulo.motion.formats.npz import packed, unpacked
from ambulo.motion.rotations import quat_normalize, yaw_of

FALLS, SEED = 256, 1
"""Number of simulated falls, whose end states are the start states, and their seed."""
STANDING = 0.15
"""Fraction of episodes that begin in the standing pose, so that standing is trained too."""
UNASSISTED = 0.5
"""Fraction of the training after which no force lifts the body."""
HEIGHT, TILT = 0.15, 0.5
"""A body counts as standing if its root is at most this much lower than in the standing pose,
[m], and tilted by at most this angle, [rad]."""
DROP_HEIGHT = 0.9
"""Height of the root above the ground from which bodies fall, [m]."""
DROP_BEND = 0.5
"""Standard deviation of joint angles at the drop, [rad]."""
DROP_SECONDS = 2.0
"""Duration of a simulated fall, [s]."""


class GetUpBatch(LocomotionBatch):
    """N bodies that rise from the ground; see `LocomotionBatch`.

    The reference frame stays under the root and turns with it about the vertical. Only the time
    limit ends an episode; standing at that time is success.
    """

    rewards = ("rising", "costs")

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """Create the batch; see `LocomotionBatch`."""
        super().__init__(config, reference, character, **kwargs)
        timestep = float(character.model.opt.timestep)
        self._fallen = fallen_states(character.name, timestep, FALLS, SEED)
        self._assist = 0.0  # the assist acts in training only

    def set_progress(self, share: float) -> None:
        """Reduce the assist force as training proceeds; see `LocomotionBatch.set_progress`."""
        left = max(0.0, 1.0 - share / UNASSISTED)
        self._assist = self.config.environment.assist * left

    @property
    def standing(self) -> Bools:
        """Mask of the bodies that stand. Shape (N,)."""
        low = self.state.height < self._stands_at - HEIGHT
        return np.asarray(~low & (self.state.up[:, 2] > np.cos(TILT)))

    def _start_states(
        self, envs: Ints, turns: Floats, rates: Floats
    ) -> tuple[Floats, Floats]:
        qpos, qvel = super()._start_states(envs, turns, rates)
        lying, still = self._fallen
        for row, body in enumerate(envs):
            chance, which = self.rngs[body].random(2)
            if chance >= STANDING:
                fall = int(which * len(lying))
                qpos[row], qvel[row] = lying[fall], still[fall]
        self.reference_frame[envs] = 0.0
        return qpos, qvel

    def _advance(self) -> None:
        self._follow_root()

    def _follow_root(self) -> None:
        """Put the reference frames under the roots, and apply the assist force."""
        qpos = self.simulation.qpos
        self.reference_frame[:, :2], self.reference_frame[:, 2] = (
            qpos[:, :2],
            yaw_of(qpos[:, 3:7]),
        )
        low = np.clip(1.0 - qpos[:, 2] / self._stands_at, 0.0, 1.0)
        lifted = self._assist * self.weight * np.minimum(1.0, 2.0 * low)
        lifted[self.simulation.fault > 0] = 0.0
        self.simulation.push[:, self._pelvis, 2] = lifted

    def fell(self) -> Bools:
        """Return False for all: a fall ends no episode. Shape (N,)."""
        return np.zeros(self.num_envs, np.bool_)

    def succeeded(self, timeout: Bools) -> Bools:
        """Mask of the bodies that stand at their time limit. Shape (N,)."""
        return np.asarray(timeout & self.standing)

    def _reward_groups(
        self, power: Floats, actions: Floats
    ) -> dict[str, Callable[[], Terms]]:
        state, weights = self.state, self.config.rewards
        rising = partial(rising_terms, state, self._stands_at, weights)
        return super()._reward_groups(power, actions) | {"rising": rising}


BATCH = GetUpBatch

Falls = tuple[Floats, Floats]
"""Positions (n, nq) and velocities (n, nv)."""


@lru_cache(maxsize=4)
def fallen_states(name: str, timestep: float, count: int, seed: int) -> Falls:
    """Positions (n, nq) and velocities (n, nv) of bodies that have fallen.

    Simulated once for all processes (6 s for 256 bodies). The rotation about the vertical is
    removed.

    Args:
        name: The character, driven by motors.
        timestep: Physics time step, [s].
        count: Bodies to drop; the n that did not explode (nearly all) are returned.
        seed: Seed of the falls.
    """

    def drop() -> Falls:
        character = load_character(name)
        character.model.opt.timestep = timestep
        return dropped_states(character, count, seed)

    found = cached(["falls", name, timestep, count, seed], None, drop, _FALLS)
    qpos, qvel = (part.copy() for part in found)
    turned = np.zeros((len(qpos), 4))
    turned[:, :2], turned[:, 2] = qpos[:, :2], yaw_of(qpos[:, 3:7])
    into_frame(qpos, qvel, turned)
    return qpos, qvel


def _from_bytes(data: bytes, source: Path) -> Falls:
    arrays = unpacked(source, data, {"qpos", "qvel"}, "falls")
    if len(arrays) < 2:
        raise MotionFileError(source, 0, "is damaged: lacks positions or velocities")
    return arrays["qpos"], arrays["qvel"]


_FALLS = EntryFormat[Falls](
    lambda falls: packed({"qpos": falls[0], "qvel": falls[1]}), _from_bytes
)


def dropped_states(
    character: Character, count: int, seed: int
) -> tuple[Floats, Floats]:
    """Positions (n, nq) and velocities (n, nv) of bodies at rest after a fall.

    Root orientations and joint angles are random; roots land at the origin.

    Args:
        character: The body, driven by motors.
        count: Bodies to drop; the n that did not explode (nearly all) are returned.
        seed: Seed of the falls.
    """
    random = np.random.default_rng([seed, 11])
    model = character.model
    steps = round(DROP_SECONDS / float(model.opt.timestep))
    simulation = CharacterSimulation(character, count, substeps=1, threads=0)
    qpos = np.tile(model.qpos0, (count, 1))
    bend = DROP_BEND * random.normal(size=(count, model.nv))
    bend[:, :6] = 0.0
    qpos = simulation.tangent.moved(qpos, bend)
    qpos[:, :2], qpos[:, 2] = 0.0, DROP_HEIGHT
    qpos[:, 3:7] = quat_normalize(random.normal(size=(count, 4)))
    every = np.arange(count)
    simulation.reset(every, np.zeros(count), qpos, np.zeros((count, model.nv)))
    for _ in range(steps):  # targets at the present joint angles: only damping acts
        simulation.step(simulation.qpos.copy(), np.zeros((count, model.nv)))
    good = simulation.fault == 0
    return simulation.qpos[good].copy(), simulation.qvel[good].copy()
