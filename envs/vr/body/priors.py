"""Features and scores of the bodies of a world, by networks of captured motion.

A motion network encodes the last poses of each body as a part of the observation, and its
prediction error of the next environment step measures the novelty of the motion. An IK network
scores the posture. Simulated characters provide their own poses; a twin or a capsule has an
avatar, whose head follows it.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import ambulo.shipped
from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import MOTION_FEATURES, NavigationConfig
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.vr.body.blocks import in_blocks
from ambulo.envs.vr.body.body_world import BodyWorld
from ambulo.envs.vr.body.poses import AvatarPoses, Poses, SimulatedPoses
from ambulo.envs.vr.body.posture import PosturePrior
from ambulo.envs.vr.world.state import World
from ambulo.ik.solver.solver import load_solver
from ambulo.motion.human23 import N_POSITIONS, velocities

MOTION_NETWORK, POSTURE_NETWORK = "motion_nn", "ik_net"
"""Shipped models."""
_ENCODER = "ambulo.policies.agents.motion:load_motion_encoder"
_AVATAR = "ambulo.policies.agents.avatar:load_avatar"


class Encoder(Protocol):
    """A motion network, as `load_motion_encoder` returns it."""

    history: int
    """Input frames, H."""
    size: int
    """Size of an encoding, W."""
    inputs_size: int
    """Size of an input frame, F."""
    longest: float
    """Longest prediction time, [s]."""

    def inputs(self, states: Floats, /) -> Singles:
        """Inputs (..., F) from states (..., 112)."""
        ...

    def encode(self, inputs: Singles, /) -> Singles:
        """Encodings (B, W) of (B, H, F)."""
        ...

    def foresee(
        self, codes: Singles, inputs: Singles, states: Floats, ahead: float, /
    ) -> Singles:
        """Predict poses (B, 56) after `states` (B, 112) with encodings `codes` (B, W)."""
        ...

    def surprise(
        self, expected: Singles, before: Floats, after: Floats, ahead: float, /
    ) -> Floats:
        """Mean squared error (B,) of the expected change between two poses (B, 56)."""
        ...


class BodyPriors:
    """The last poses of N bodies, and the networks' results on them."""

    def __init__(
        self,
        count: int,
        poses: Poses,
        seconds: float,
        encoder: Encoder | None = None,
        posture: PosturePrior | None = None,
        *,
        foresee: bool = False,
    ) -> None:
        """Create it for episodes that have not begun.

        Args:
            count: N.
            poses: Poses of the bodies.
            seconds: Length of an environment step, [s].
            encoder: Encodes the past, or None.
            posture: Scores the posture, or None.
            foresee: Compute the novelty of each step; needs an encoder.
        """
        self._foresee = foresee
        self._poses, self._encoder, self._judge = poses, encoder, posture
        self._seconds, self._everyone = seconds, np.arange(count)
        width = 0 if encoder is None else encoder.size
        shape = (0, 0) if encoder is None else (encoder.history, encoder.inputs_size)
        self.codes: Singles = np.zeros((count, width), np.float32)
        """Encoding of the last poses of each body. Shape (N, W)."""
        self.novelty: Floats = np.zeros(count)
        """Novelty of the last step: e / (1 + e) with the squared prediction error e in units of
        the network's error on captured motion; 0 unless `foresee`. Shape (N,), in [0, 1)."""
        self.posture: Floats = np.zeros(count)
        """See `PosturePrior`. Shape (N,), in [0, 1]."""
        self._inputs: Singles = np.zeros((count, *shape), np.float32)
        self._last: Floats = np.zeros((count, N_POSITIONS))
        self._expected: Singles = np.zeros((count, N_POSITIONS), np.float32)

    def begin(self, envs: Ints) -> None:
        """Fill the past of `envs` (k,), whose episodes begin, with the present pose."""
        now = self._poses.begin(envs)
        self.novelty[envs], self.posture[envs] = 0.0, 0.0
        self._last[envs] = now
        if self._encoder is not None:
            states = np.concatenate([now, np.zeros_like(now)], axis=-1)
            self._inputs[envs] = self._encoder.inputs(states)[:, None]
            self._look(envs, states)

    def advance(self) -> None:
        """Take in the last environment step of the world."""
        now = self._poses.advance()
        bad = ~np.isfinite(now).all(axis=(1, 2))  # an exploded body keeps its last pose
        now[bad] = self._last[bad, None]
        if self._encoder is not None:
            path = np.concatenate([self._last[:, None], now], axis=1)
            rates = velocities(path, now.shape[1] / self._seconds)[:, 1:]
            states = np.concatenate([now, rates], axis=-1)
            new = self._encoder.inputs(states)[:, -self._inputs.shape[1] :]
            kept = self._inputs.shape[1] - new.shape[1]
            self._inputs[:, :kept] = self._inputs[:, -kept:] if kept else 0.0
            self._inputs[:, kept:] = new
            if self._foresee:
                error = self._encoder.surprise(
                    self._expected, self._last, now[:, -1], self._seconds
                )
                self.novelty[:] = error / (1.0 + error)
            self._look(self._everyone, states[:, -1])
        if self._judge is not None:
            self.posture[:] = self._judge(*self._poses.joints())
        self._last[:] = now[:, -1]

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """Copies of all arrays that a bit-exact continuation needs."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def load_state_dict(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        """Continue from `state_dict`."""
        for name, array in self._arrays().items():
            array[...] = arrays[name]

    def _arrays(self) -> Arrays:
        return {
            **self._poses.arrays(),
            "codes": self.codes,
            "inputs": self._inputs,
            "last": self._last,
            "expected": self._expected,
        }

    def _look(self, envs: Ints, states: Floats) -> None:
        """Encode the past of `envs` (k,), whose present `states` are (k, 112)."""
        encoder, inputs = self._encoder, self._inputs[envs]
        assert encoder is not None
        (codes,) = in_blocks(lambda given: (encoder.encode(given),), inputs)
        self.codes[envs] = codes
        if self._foresee:
            (self._expected[envs],) = in_blocks(
                lambda code, seen, now: (
                    encoder.foresee(code, seen, now, self._seconds),
                ),
                codes,
                inputs,
                states,
            )


def make_priors(config: NavigationConfig, world: World, count: int) -> BodyPriors:
    """The priors that `config` requires, for the `count` bodies of `world`.

    Raises:
        ConfigError: A package is missing, or the network's prediction time is too short.
    """
    seconds = world.spec.decision_dt
    poses: Poses
    if isinstance(world, BodyWorld):
        poses = SimulatedPoses(world)
    else:
        poses = AvatarPoses(world, count, _avatar())
    encoder, posture = None, None
    foresee = config.rewards.novelty_cost > 0.0
    if config.observations.motion != "none" or foresee:
        encoder = _encoder()
        if seconds > encoder.longest:
            raise ConfigError(
                f"observations.motion = {MOTION_NETWORK}: looks {encoder.longest:g} s "
                f"ahead, an environment step takes {seconds:g} s"
            )
    if config.rewards.posture_bonus:
        posture = PosturePrior(load_solver(POSTURE_NETWORK), poses.skeleton)
    return BodyPriors(count, poses, seconds, encoder, posture, foresee=foresee)


@lru_cache(maxsize=1)
def _encoder() -> Encoder:
    file = ambulo.shipped.locate(MOTION_NETWORK)
    encoder: Encoder = _function(_ENCODER)(file)
    assert encoder.size == MOTION_FEATURES[MOTION_NETWORK]
    return encoder


@lru_cache(maxsize=1)
def _avatar() -> Any:
    return _function(_AVATAR)(prior=None)


def _function(path: str) -> Any:
    """Import the function `module:name`; environments must not import policies."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        raise ConfigError(
            f"observations.motion and rewards of poses need the package {error.name}, "
            "which is not installed: pip install 'ambulo[train]'"
        ) from None
