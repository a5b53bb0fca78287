"""Crouching: the postures of `envs.reference.crouches` by depth, and between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.crouches import LEVELS, crouch_reference
from ambulo.envs.reference.foot_steering import ankle_places, legs_of
from ambulo.envs.reference.gaits import Blend, Gaits
from ambulo.envs.reference.reference import Reference
from ambulo.envs.reference.walk_gaits import STAND
from ambulo.envs.simulation.tangent import Tangent

RATE = 0.5
"""Fastest change of the depth, [1/s]."""
_EPSILON = 1e-3


class Crouches:
    """The postures of one body by depth: 0 stands, 1 is the deepest."""

    def __init__(
        self,
        character: Character,
        reference: Reference,
        environment: LocomotionEnvironmentConfig,
    ) -> None:
        """Read the postures; the first process solves them, a second or two.

        Args:
            character: The body.
            reference: Has the gait that stands; without a controller, none has one.
            environment: The joints that balance controllers may move, and the control rate.
        """
        stand = next(gait for gait in reference.gaits if gait.name == STAND)
        legs = legs_of(character)
        gaits = (stand, *crouch_reference(stand, character, environment).gaits)
        self._gaits = Gaits(replace(reference, gaits=gaits), character)
        ahead = ankle_places(legs, self.postures)[..., 0].mean(axis=1)
        # The feet stay, the root goes back.
        self._gaits.qpos[:, :, 0] += (ahead[0] - ahead)[:, None]
        self._tangent = Tangent(character.model)

    @property
    def postures(self) -> Floats:
        """Positions at `LEVELS` depths from 0 to 1. Shape (LEVELS, nq)."""
        return self._gaits.qpos[:, 0].copy()

    def at(self, depth: Floats, rate: Floats) -> tuple[Floats, Floats, Floats]:
        """Positions (N, nq), velocities (N, nv) and torques (N, nv).

        Args:
            depth: In [0, 1]. Shape (N,).
            rate: Change of the depth, [1/s]. Shape (N,).
        """
        still = np.zeros(len(depth))
        qpos, _, torque = self._gaits.at(still, _blend(depth))
        further = np.where(depth < 0.5, _EPSILON, -_EPSILON)
        other = self._gaits.at(still, _blend(depth + further))[0]
        change = self._tangent.difference(other, qpos) / further[:, None]
        return qpos, change * rate[:, None], torque

    def offsets(self, depth: Floats, deviation: Floats, rate: Floats) -> Floats:
        """The balance controllers' offsets, [rad]; see `Gaits.controller_offsets`. (N, U)."""
        still = np.zeros(len(depth))
        return self._gaits.controller_offsets(still, _blend(depth), deviation, rate)


def _blend(depth: Floats) -> Blend:
    """The two postures around each depth (N,)."""
    place = np.clip(depth, 0.0, 1.0) * (LEVELS - 1)
    lower = np.minimum(place.astype(np.int64), LEVELS - 2)
    one = np.ones(len(depth))
    return Blend(lower, place - lower, one, one, np.zeros(len(depth)))
