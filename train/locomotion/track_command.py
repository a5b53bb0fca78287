"""The command `ambulo train track`: one policy for many clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ambulo.common.flag_types import positional
from ambulo.common.paths import absolute_path
from ambulo.configs.errors import ConfigError

if TYPE_CHECKING:
    from ambulo.configs.locomotion import LocomotionConfig
from ambulo.train.locomotion.command import LocomotionCommand, WalkerFlags

PRESET = "track"
"""The preset unless another one or a settings file is named."""


@dataclass(frozen=True, kw_only=True)
class TrackTrainFlags(WalkerFlags):
    """Train, resume and evaluate one policy that tracks many clips."""

    clips: Annotated[tuple[str, ...], positional("CLIP")] = ()
    """motion files, fitted references (`ambulo fit`), or folders of them"""


class TrackCommand(LocomotionCommand):
    """Training of policies that track clips; the clips are given without a flag."""

    description = (
        "Train, resume and evaluate one policy that tracks many clips. Motion files are "
        "made feasible first, once: about half a minute a second of clip."
    )
    examples = """\
ambulo train track 02_01.amc 02_05.amc
ambulo train track fitted/ --preset track_quick --seed 1
ambulo train track --resume runs/track_0_20260101-120000
"""
    name = "track"
    typed = "ambulo train track"
    flags = TrackTrainFlags

    def parse(self, argv: Sequence[str]) -> Any:
        """Return the flags, with the preset of this command if none is named."""
        args = super().parse(argv)
        if not (args.preset or args.config or args.resume or args.eval):
            return replace(args, preset=PRESET)
        return args

    def adjust(self, config: LocomotionConfig, args: Any) -> LocomotionConfig:
        """Set the clips.

        Raises:
            ConfigError: Another task, or clips for a run that has its own.
        """
        config = super().adjust(config, args)
        if not config.environment.traits.clips:
            raise ConfigError(
                f"task = {config.environment.task}: ambulo train walk trains it"
            )
        if not args.clips:
            return config
        if args.resume:
            raise ConfigError("--resume continues with the run's own clips: name none")
        paths = [absolute_path(path) for path in args.clips]
        return config.override("environment", clips=tuple(paths))


COMMAND = TrackCommand()
