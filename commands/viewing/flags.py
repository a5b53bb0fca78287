"""The commands `ambulo play` and `ambulo watch`, and the settings of what they show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Command, Flags
from ambulo.common.flag_types import Port, Positive, Seed, positional, within
from ambulo.configs.errors import ConfigError

_PLAY = """\
examples:
  ambulo play walk_commands                 a walker with sliders for its commands
  ambulo play imitate_walk --bodies 16      sixteen bodies side by side
  ambulo play track --clips walk.bvh        a body that tracks a clip, and the clip
  ambulo play vr_navigation --levels maze   a navigator, what it sees and remembers
  ambulo play runs/first                    the best model of a run
"""
_WATCH = """\
examples:
  ambulo watch runs/first                          its curves, and its newest policy
  ambulo train walk --preset quick_test --watch    a training, from its start
"""


@dataclass(frozen=True, kw_only=True)
class WindowFlags(Flags):
    """The server of a viewer."""

    port: Port = 8080
    """port on the loopback address; 0 takes a free one"""
    seconds: Annotated[Positive | None, Arg("S")] = None
    """stop after this time (default: never)"""


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
    godot_project: Annotated[
        str | None, Arg("FOLDER", names=("--godot-project", "--project"))
    ] = None
    """game of policies of a game (default: that of their run folder)"""

    def __post_init__(self) -> None:
        """Refuse two kinds of levels."""
        super().__post_init__()
        if self.levels is not None and self.level_file is not None:
            raise ConfigError("--levels and --level-file exclude each other")


@dataclass(frozen=True, kw_only=True)
class WatchFlags(WindowFlags):
    """Show the learning curves of a training, and its newest checkpoint acting."""

    run: Annotated[str, positional("RUN")]
    """folder of the run"""


play = Command("ambulo play", PlayFlags, "ambulo.commands.viewing.serving:play", _PLAY)
watch = Command(
    "ambulo watch", WatchFlags, "ambulo.commands.viewing.serving:watch", _WATCH
)
