"""Validation of settings of the comfort dial."""

from __future__ import annotations

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr_actions import NavigationActionsConfig


def check_dial(dial: float, has_dial: bool) -> None:
    """Raise `ConfigError` for a `dial` outside [0, 1], or for an agent without one."""
    if not has_dial:
        raise ConfigError("comfort: there is no dial (observations.comfort = false)")
    if not 0.0 <= dial <= 1.0:
        raise ConfigError(f"comfort = {dial:g}: must be from 0 to 1")


def check_comfort(dial: bool, actions: NavigationActionsConfig) -> None:
    """Raise `ValueError` for `actions` that do not fit an agent with or without `dial`."""
    if dial and actions.mode == "discrete":
        raise ValueError("observations.comfort needs actions.mode = continuous")
    speed, most = actions.comfort_speed, actions.max_movement_speed
    if speed is None:
        return
    if not dial:
        raise ValueError(
            f"actions.comfort_speed = {speed:g} needs observations.comfort = true; "
            "without the dial set actions.max_movement_speed"
        )
    if speed > most:
        raise ValueError(
            f"actions.comfort_speed = {speed:g} must not be above "
            f"actions.max_movement_speed = {most:g}"
        )
