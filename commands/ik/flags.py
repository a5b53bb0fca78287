"""The commands `ambulo ik`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.data.flags import MotionFolders, SourceFlags
from ambulo.common.command_line import Arg, Command
from ambulo.common.engine_flags import WorkerFlags
from ambulo.common.flag_types import Count, OutFile, above, ending, within
from ambulo.ik.data import MIN_UNIQUE, POSE_FPS, SEQUENCE_FPS, STEP


@dataclass(frozen=True, kw_only=True)
class ExtractFlags(SourceFlags, WorkerFlags):
    """Write the poses of motion files to one file.

    Every clip is retargeted to the rig and put inside the joint limits; poses that hardly
    differ, or are far outside, are left out.
    """

    motions: MotionFolders
    """folder of motion files: BVH, ASF/AMC, NPZ (repeatable)"""
    out: Annotated[OutFile, ending(".npz")] = "training_data.npz"
    """file to write"""
    rig: str = "ik23"
    """rig, or its file"""
    fps: Annotated[float, above(0.0)] = POSE_FPS
    """rate of the poses"""
    step: Annotated[float, Arg("M"), within(0.0, 1e6)] = STEP
    """thinning: least way of the joint that moves most, in metres; 0 keeps all"""
    least: Count = MIN_UNIQUE
    """refuse fewer unique poses than this"""
    strict: bool = False
    """a file that cannot be used is an error"""
    no_cache: bool = False
    """read every file again"""


@dataclass(frozen=True, kw_only=True)
class SequencesFlags(SourceFlags, WorkerFlags):
    """Write motions of many people to one file, to train body trackers on.

    Every clip is retargeted to human23 with the performer's own proportions; frames that no
    person took are cut out. `ambulo train trackers` splits the file by people.
    """

    motions: MotionFolders
    """folder of motion files: BVH, ASF/AMC, NPZ (repeatable)"""
    out: Annotated[OutFile, ending(".npz")] = "sequences.npz"
    """file to write"""
    fps: Annotated[float, within(20.0, 240.0)] = SEQUENCE_FPS
    """rate, in Hz"""
    without: Annotated[tuple[str, ...], Arg("SUBJECT", empty=True)] = ()
    """performers to leave out"""


extract = Command(
    "ambulo ik extract", ExtractFlags, "ambulo.commands.ik.extract:extract_poses"
)
sequences = Command(
    "ambulo ik sequences", SequencesFlags, "ambulo.commands.ik.sequences:sequences"
)
