"""A user's settings of a body, where its shape is not enough: `NAME.body.json`."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ambulo.configs.base import Config, load_json, read_json
from ambulo.envs.characters.own.reading import MODEL_FILES
from ambulo.motion.roles.files import Direction, RolesFile, read_roles, roles_beside

Torque = Annotated[float, Field(gt=0, lt=1e6)]


class BodySettings(Config):
    """Corrections of what is found in a body's file; all may be left out."""

    roles: RolesFile | None = None
    """Roles of its joints or bodies, up and forward; also in `NAME.roles.json`."""
    torque_limits: Literal["own", "rule"] | dict[str, Torque] = "own"
    """`own`: those of its actuators or of `effort`; `rule`: those of a person of its weight;
    or the largest torque by pattern of joint names, [N m]."""
    feet: dict[
        Literal["left", "right"], Annotated[tuple[Direction, ...], Field(min_length=3)]
    ] = Field(default_factory=dict)
    """Corners of each foot's sole in the axes of the foot's body, [m]."""

    @property
    def rule_torques(self) -> bool:
        """Whether the model's own limits do not count."""
        return self.torque_limits == "rule"

    def torque_of(self, joint: str) -> float | None:
        """Return the largest torque that is given for a joint; None if none is."""
        if not isinstance(self.torque_limits, Mapping):
            return None
        found = None
        for pattern, value in self.torque_limits.items():
            if fnmatchcase(joint, pattern):
                found = value
        return found


def is_record(path: Path) -> bool:
    """Whether a file holds a prepared body (`BodyRecord`) rather than settings."""
    data = read_json(path)
    return isinstance(data, dict) and data.get("format") == "ambulo-body"


def settings_beside(path: Path | None) -> BodySettings:
    """Return the settings in the files beside a body's; the defaults if there are none.

    Raises:
        ConfigError: They cannot be read.
    """
    settings = BodySettings()
    if path is None or not path.name.lower().endswith(MODEL_FILES):
        return settings
    beside = path.with_suffix(".body.json")
    if beside.is_file() and not is_record(beside):
        settings = load_json(BodySettings, beside)
    roles = roles_beside(path)
    if roles is not None and settings.roles is None:
        settings = settings.replace(roles=read_roles(roles))
    return settings
