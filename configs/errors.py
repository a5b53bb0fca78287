"""Errors that a user can cause, one class for each kind of fix.

Every CLI entry point turns an `AmbuloError` into one line and exit code 2.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self


class AmbuloError(Exception):
    """Base class of all errors raised on purpose; the message is one line."""


class ConfigError(AmbuloError):
    """A configuration value, key or preset that cannot be used."""


class UnknownSettingError(ConfigError, TypeError):
    """An unknown keyword of an environment.

    It is also a `TypeError` with Python's own text: wrappers of other libraries try keywords,
    and continue without those that raise it.
    """


class LevelError(AmbuloError):
    """A level file or level that breaks the schema or cannot be solved."""


class CharacterError(AmbuloError):
    """A character that cannot be written for other programs."""


class ActionError(AmbuloError):
    """An action batch of the wrong shape or with values that are not finite."""


class ObservationError(AmbuloError):
    """Observations with values that are not finite."""


class RewardError(AmbuloError):
    """Rewards with values that are not finite."""


class ModelFileError(AmbuloError):
    """A model file that is missing, damaged, unsafe or of another kind."""


class RunFolderError(AmbuloError):
    """A run folder that cannot be written, found or resumed."""


class RenderError(AmbuloError):
    """Pictures cannot be drawn on this machine (no OpenGL, no encoder)."""


class BridgeError(AmbuloError):
    """A Godot engine that is missing, does not start, does not answer, or answers nonsense."""


class SkeletonError(AmbuloError):
    """A skeleton that breaks a rule, or lacks a joint."""


class MotionError(AmbuloError):
    """A motion, or a use of one, that breaks a rule (shapes, rates, empty ranges)."""


class MuscleError(AmbuloError):
    """A model, gain, target or network that the muscle layer cannot use."""


class GaitParameterError(AmbuloError):
    """A gait or body parameter that is unknown, out of its range or not finite."""


class DivergedError(AmbuloError):
    """A training run with non-finite losses or gradients."""


class GaitDataError(MotionError):
    """Gait data that cannot be used; names the file and the broken rule."""


class IKError(AmbuloError):
    """Targets, a pose or a rig that inverse kinematics cannot use."""


class MotionFileError(MotionError):
    """A motion file that cannot be used: `path`, `line` (from 1, 0 if none), `rule`."""

    def __init__(self, path: str | os.PathLike[str], line: int, rule: str) -> None:
        self.path = Path(path)
        self.line = line
        self.rule = rule
        where = f"{self.path}: line {line}" if line else str(self.path)
        super().__init__(f"{where}: {rule}")

    def __reduce__(self) -> tuple[type[Self], tuple[Path, int, str]]:
        """Support pickling, for errors raised in worker processes."""
        return type(self), (self.path, self.line, self.rule)


@contextmanager
def setting(key: str) -> Iterator[None]:
    """Raise errors of the context as `ConfigError`s that name the setting `key`."""
    try:
        yield
    except AmbuloError as error:
        raise ConfigError(f"{key}: {error}") from error


def nearest(name: str, valid: Iterable[str]) -> str:
    """A ` (did you mean ...?)` hint for `name`, or the list of valid names."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    return f" (valid: {', '.join(names)})"
