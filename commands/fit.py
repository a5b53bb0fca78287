"""`ambulo fit`: make clips feasible for a simulated body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.data.flags import Speed
from ambulo.common.character_flag import absolute_character
from ambulo.common.command_line import Arg, Command
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.flag_types import NaturalNumber, OutFile, ending, positional


@dataclass(frozen=True, kw_only=True)
class FitFlags(WorkerFlags):
    """Make a clip feasible for a simulated body, as a reference file.

    It holds what the body does, with joint targets and feedback that hold it. About half a
    minute a second of clip. Exit code 1 if the body falls.
    """

    clips: Annotated[tuple[str, ...], positional("CLIP")]
    """a motion file (BVH, AMC, NPZ, DeepMimic); several, or a folder of them, become
    references in the folder --out"""
    frames: Annotated[str | None, Arg("A:B")] = None
    """frames A to B - 1, counted from 0 (default: all)"""
    speed: Speed = 1.0
    """of the clip beside its file: 0.5 if the file's frame rate is twice the real one"""
    character: Annotated[str, Arg("BODY", names=("--character", "--body"))] = "human23"
    """the body: human23, myolegs, or one of your own: FILE.xml (MuJoCo), FILE.urdf,
    FILE.body.json or package:function"""
    out: Annotated[str | None, Arg("PATH")] = None
    """the reference (default: CLIP.BODY.npz, here); a folder for several clips, whose
    references are kept if they are there already"""
    film: Annotated[OutFile | None, ending(".mp4", ".gif")] = None
    """a film of clip and body, .mp4 or .gif"""
    bodies: NaturalNumber = 40
    """disturbed bodies in each test of the feedback; 0 for no test"""
    seed: int = 0
    """of the tests"""

    @property
    def body(self) -> str:
        """The body; a file by its absolute path."""
        return absolute_character(self.character)


main = Command("ambulo fit", FitFlags, "ambulo.commands.fitting:fit")
