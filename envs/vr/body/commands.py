"""From the action of VR navigation to the command of a walker."""

from __future__ import annotations

import logging
from functools import lru_cache

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.twin import Envelope
from ambulo.envs.vr.body.twin_kernels import StickLimits, limited
from ambulo.envs.vr.contract import WorldSpec

log = logging.getLogger(__name__)


@lru_cache(maxsize=64)
def _warn(text: str) -> None:
    """Log `text` once per process."""
    log.warning(text)


class StickCommands:
    """Commands of a walker from the smoothed sticks of VR; full stick is `WorldSpec`'s speed.

    Commands outside the walker's training envelope are clamped to it.
    """

    def __init__(self, spec: WorldSpec, envelope: Envelope, walker: str) -> None:
        """For `walker` with `envelope`; warns once of stick inputs that it does not support.

        Raises:
            ConfigError: Full stick exceeds the envelope.
        """
        fastest, turn = envelope.speed[1], envelope.turn
        if spec.max_speed > fastest + 1e-9:
            raise ConfigError(
                f"actions.max_movement_speed = {spec.max_speed:g}: walker {walker} walks at "
                f"{envelope.speed[0]:g} to {fastest:g} m/s"
            )
        rate = float(np.degrees(spec.max_yaw_rate))
        if rate > min(-turn[0], turn[1]) + 1e-6:
            raise ConfigError(
                f"actions.max_rotation_speed = {rate:g}: walker {walker} turns at "
                f"{turn[0]:g} to {turn[1]:g} deg/s"
            )
        spans = [envelope.speed, envelope.side, tuple(np.radians(turn))]
        low, high = np.array(spans).T.copy()
        self.limits = StickLimits(
            scale=np.array([spec.max_speed, spec.max_speed, spec.max_yaw_rate]),
            low=low,
            high=high,
            lateral=np.inf if envelope.lateral is None else float(envelope.lateral),
        )
        """Commands computed from the sticks."""
        if envelope.side == (0.0, 0.0):
            _warn(f"walker {walker} does not walk to the side: strafing does nothing")
        slowest = envelope.speed[0]
        if slowest > 0.0:
            _warn(
                f"walker {walker} does not stop: a command below {slowest:g} m/s is one of "
                f"{slowest:g} m/s"
            )

    def of(self, stick: Floats) -> Floats:
        """Commands: speed, [m/s], to the left, [m/s], turning rate, [rad/s], shape (N, 3).

        `stick`: strafe, forward, rotation (+ is right) in [-1, 1], shape (N, 3).
        """
        out = np.empty(stick.shape)
        for row, command in zip(stick, out, strict=True):
            limited(row, self.limits, command)
        return out
