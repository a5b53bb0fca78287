"""`ambulo play`: a model that acts, in the browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

import ambulo.shipped
from ambulo.commands.viewing.kinds import (
    STAGES,
    check_request,
    open_stage,
    playable_file,
    stage_of,
)
from ambulo.commands.viewing.request import PlayRequest
from ambulo.commands.viewing.serving import WindowFlags, serve
from ambulo.common.command_line import Arg, command
from ambulo.common.flag_types import Seed, positional, within
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.shared.models import model_kind
from ambulo.viz.viewer.panel import Models

EPILOG = """\
examples:
  ambulo play walk_commands                 a walker with sliders for its commands
  ambulo play imitate_walk --bodies 16      sixteen bodies side by side
  ambulo play track --clips walk.bvh        a body that tracks a clip, and the clip
  ambulo play vr_navigation --levels maze   a navigator, what it sees and remembers
  ambulo play runs/first                    the best model of a run
"""


@dataclass(frozen=True, kw_only=True)
class PlayFlags(WindowFlags):
    """Show a model that acts, in the browser."""

    model: Annotated[str, positional("MODEL")]
    """shipped model, model file, or folder of a run"""
    bodies: Annotated[int, within(1, 64)] = 1
    """bodies side by side, of walkers and trackers"""
    seed: Seed = 0
    """seed of everything random"""
    clips: Annotated[tuple[str, ...], Arg("FILE")] = ()
    """motion files that a tracker follows (default: the one in its file)"""
    recording: Annotated[str | None, Arg("FILE")] = None
    """recording of headset and controllers, or a motion file, for a body tracker (default:
    a walk)"""
    levels: Annotated[str | None, Arg("NAMES")] = None
    """level families or sets of a navigator, with commas between (default: its own,
    held-out levels)"""
    level_file: Annotated[str | None, Arg("PATH")] = None
    """level JSON file or folder of them"""

    def __post_init__(self) -> None:
        """Refuse two kinds of levels."""
        super().__post_init__()
        if self.levels is not None and self.level_file is not None:
            raise ConfigError("--levels and --level-file exclude each other")


@command("ambulo play", EPILOG)
def main(flags: PlayFlags) -> int:
    """Show a model until it is stopped."""
    flags.check_window()
    request = request_of(flags)
    file = playable_file(flags.model)
    check_request(file, request)
    models = Models(playable(), lambda name: open_stage(name, request))
    title = f"{flags.model}: loading"
    return serve(flags, title, lambda: stage_of(file, request), models)


def request_of(flags: PlayFlags) -> PlayRequest:
    """Return what is shown."""
    levels = () if flags.levels is None else tuple(flags.levels.split(","))
    return PlayRequest(
        flags.bodies, flags.seed, flags.clips, flags.recording, levels, flags.level_file
    )


def playable() -> list[str]:
    """Return the names of the shipped models that can be shown."""
    found = ambulo.shipped.shipped_models()
    return [name for name, file in sorted(found.items()) if model_kind(file) in STAGES]


if __name__ == "__main__":
    sys.exit(main())
