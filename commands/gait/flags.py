"""The commands `ambulo gait`, and how they choose a network and one of its gaits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ambulo.commands.data.flags import (
    WITH_SKELETON,
    MapFlags,
    MotionFolders,
    ReadingFlags,
    SourceFlags,
    motion_ending,
)
from ambulo.common.command_line import Arg, Command, Flags
from ambulo.common.find_model import find_model
from ambulo.common.flag_types import (
    Assignments,
    JsonFile,
    OutFile,
    ending,
    numbers_of,
    one_of,
    positional,
    within,
)
from ambulo.configs.errors import ConfigError

if TYPE_CHECKING:
    from ambulo.configs.arrays import Floats
    from ambulo.policies.agents.gait_network import GaitNetwork
    from ambulo.policies.networks.gait_net import GaitNet

DEFAULT_NETWORK = "gait_net"
"""The shipped network that is meant when nothing is said."""
DEFAULT_ESTIMATOR = "gait_estimator"
"""The shipped estimator of that network's parameters."""
FILMS = (".gif", ".mp4")
"""Endings of films."""
MOST_CYCLES = 10_000
"""A longer walk is a slip of the pen."""


def _activities() -> Iterable[str]:
    from ambulo.motion.datasets.activities import ACTIVITIES

    return ACTIVITIES


@dataclass(frozen=True, kw_only=True)
class NetworkFlags(Flags):
    """Choice of a gait network."""

    model: Annotated[str, Arg("MODEL")] = DEFAULT_NETWORK
    """gait network: a file, a run folder or a shipped one"""

    def network(self) -> GaitNetwork:
        """Return the network, for run time."""
        from ambulo.policies.agents.gait_network import load_gait_network

        return load_gait_network(find_model(self.model))

    def gait_net(self) -> GaitNet:
        """Return the network in torch, frozen."""
        from ambulo.policies.agents.gait_training import load_gait_net

        network, _ = load_gait_net(find_model(self.model))
        return network.requires_grad_(False).eval()


@dataclass(frozen=True, kw_only=True)
class ParameterFlags(NetworkFlags):
    """Choice of a gait of a network."""

    stride: Annotated[float | None, Arg("RATIO")] = None
    """stride length over the healthy one"""
    cadence: Annotated[float | None, Arg("RATIO")] = None
    """cadence over the healthy one"""
    named: Assignments = ()
    """any other parameter, such as femur_torsion_left=0.3 (repeatable); others
    are healthy"""

    def parameters(self, network: GaitNetwork) -> Floats:
        """Return the vector (P,) that the flags choose.

        Raises:
            GaitParameterError: An unknown name, or a value out of range.
            ConfigError: No number.
        """
        chosen = {"stride": self.stride, "cadence": self.cadence}
        given = {name: value for name, value in chosen.items() if value is not None}
        return network.vector(**given | numbers_of(self.named))


@dataclass(frozen=True, kw_only=True)
class GenerateFlags(ParameterFlags):
    """Write a walk of chosen parameters.

    It repeats without a seam: the frame after the last is the first, one stride further on.
    """

    out: Annotated[OutFile | None, motion_ending(*FILMS), WITH_SKELETON] = None
    """file to write: a motion (.bvh, .amc, .npz) or a film (.gif, .mp4)"""
    cycles: Annotated[int, within(1, MOST_CYCLES)] = 6
    """two steps each"""
    fps: Annotated[float | None, Arg("HZ"), within(4.0, 1000.0)] = None
    """rate, rounded so that a cycle is a whole number of frames (default: 30 frames a
    cycle)"""
    parameters_only: Annotated[bool, Arg(names=("--parameters",))] = False
    """list the network's parameters with their ranges, and leave"""

    def __post_init__(self) -> None:
        """Refuse a missing file, and rates of films."""
        super().__post_init__()
        if self.out is None and not self.parameters_only:
            raise ConfigError("--out FILE: name the file to write")
        if self.fps is not None and self.is_film:
            raise ConfigError("--fps: films have rates of their own; leave it out")

    @property
    def is_film(self) -> bool:
        """Whether a film is written."""
        return self.out is not None and Path(self.out).suffix.lower() in FILMS


@dataclass(frozen=True, kw_only=True)
class ReferenceFlags(ParameterFlags):
    """Make a generated gait a reference for ambulo/Imitate-v0.

    Several of ascending speed are the motion prior of ambulo/Locomote-v0: physical cycles
    with their torques and balance controllers.
    """

    speeds: Annotated[tuple[float, ...], Arg("M/S")] = ()
    """a gait for each of these; stride and cadence share the speed"""
    out: Annotated[OutFile, ending(".npz")]
    """the .npz to write"""
    control_rate: Annotated[int, Arg("HZ")] = 30
    """actions per second that the balance controllers are for"""
    substeps: int = 5
    """physics steps per action"""

    def __post_init__(self) -> None:
        """Refuse both ways to choose a speed."""
        super().__post_init__()
        if self.speeds and (self.stride is not None or self.cadence is not None):
            raise ConfigError("--speeds chooses stride and cadence; give either")


@dataclass(frozen=True, kw_only=True)
class EstimateFlags(ReadingFlags, NetworkFlags):
    """Estimate the gait parameters of a clip by least squares through the network.

    Their uncertainty is the Laplace approximation. The lengths of limbs are measured on the
    clip's skeleton and given.
    """

    clip: Annotated[str, positional("FILE")]
    """motion file: BVH, AMC, NPZ"""
    estimator: Annotated[str | None, Arg("MODEL")] = None
    """file of `ambulo gait train-estimator` for this network (default: gait_estimator, if
    it is shipped)"""
    named: Assignments = ()
    """a parameter that is known (repeatable)"""
    blind: bool = False
    """do not take lengths from the skeleton: estimate them too"""
    json: JsonFile | None = None
    """results as JSON, to FILE or to standard output"""


@dataclass(frozen=True, kw_only=True)
class ExtractCyclesFlags(SourceFlags, MapFlags):
    """Make sequences for gait networks of captured walks and runs.

    They are retargeted with the lengths of their people; every steady pair of strides is a
    sequence with its measured stride, cadence and lengths.
    """

    motions: MotionFolders
    """folder of motion files: BVH, ASF/AMC, NPZ (repeatable)"""
    out: Annotated[str, Arg("DIR")]
    """folder to write"""
    activities: Annotated[
        tuple[str, ...], Arg("NAME"), one_of(_activities, "activity")
    ] = ("walk", "run")
    """clips that are taken"""
    strict: bool = False
    """a file that cannot be used is an error"""


@dataclass(frozen=True, kw_only=True)
class EstimatorFlags(NetworkFlags):
    """Measure how motions differ from what a gait network says of them.

    Then test estimates on gaits that it has not seen.
    """

    data: Annotated[tuple[str, ...], Arg("DIR", repeated=True)]
    """refined sequences that the network was trained on (repeatable)"""
    out: Annotated[OutFile, ending(".zip")]
    """the .zip to write"""
    given: Annotated[tuple[str, ...], Arg("NAME", empty=True)] = ("lengths",)
    """parameters that estimates will be given: names; `lengths`: all of the skeleton; `known`:
    all but those of muscles, as in the reference"""
    test: int = 200
    """held-out gaits that are estimated at the end"""
    json: JsonFile | None = None
    """results of the test as JSON, to FILE or to standard output"""

    @property
    def arguments(self) -> list[str]:
        """The arguments that decide the result."""
        data = [part for place in self.data for part in ("--data", place)]
        return [*data, "--model", self.model, "--given", *self.given]


@dataclass(frozen=True, kw_only=True)
class ReportFlags(NetworkFlags):
    """Draw and measure a gait network, as `ambulo eval MODEL` does.

    Curves of hip, knee and ankle by stride and cadence, errors on held-out gaits, how well
    their parameters are estimated, and a film of a generated gait beside its source.
    """

    data: Annotated[tuple[str, ...], Arg("DIR", repeated=True)] = ()
    """refined sequences that the network was trained on; its test part is used
    (repeatable; none: generated walks alone)"""
    estimator: Annotated[str | None, Arg("FILE")] = None
    """of `ambulo gait train-estimator`: also estimate the parameters of held-out gaits"""
    output: Annotated[str, Arg("DIR")] = "gait_report"
    """folder of the report"""
    most: int = 400
    """held-out gaits that are evaluated"""
    no_video: bool = False
    """no films"""


@dataclass(frozen=True, kw_only=True)
class ComposeFlags(Flags):
    """Join a gait policy and corrections in a cascade, which acts as one policy.

    The corrections were trained above the policy.
    """

    base: Annotated[str, positional("BASE")]
    """the policy below, or a cascade; found as a model is"""
    corrections: Annotated[tuple[str, ...], positional("CORRECTION")]
    """policies trained with gait.base, each above all that come before it"""
    out: Annotated[OutFile, ending(".zip")]
    """the .zip to write"""


generate = Command(
    "ambulo gait generate",
    GenerateFlags,
    "ambulo.commands.gait.generate:generate",
    """\
examples:
  ambulo gait generate --stride 1.1 --cadence 0.9 --out walk.bvh
  ambulo gait generate --set global=0.9 --cycles 8 --fps 60 --out walk.npz
  ambulo gait generate --stride 0.8 --out walk.gif
""",
)
reference = Command(
    "ambulo gait reference",
    ReferenceFlags,
    "ambulo.commands.gait.reference:reference",
    """\
examples:
  ambulo gait reference --stride 1.1 --out walk.npz
  ambulo train walk --preset imitate_walk --reference walk.npz
  ambulo gait reference --speeds 0.8 1.0 1.2 1.4 1.6 --out walks.npz
  ambulo train walk --preset locomote --reference walks.npz
""",
)
estimate = Command(
    "ambulo gait estimate", EstimateFlags, "ambulo.commands.gait.estimate:estimate"
)
extract_cycles = Command(
    "ambulo gait extract-cycles",
    ExtractCyclesFlags,
    "ambulo.commands.gait.extract_cycles:extract_cycles",
)
train_estimator = Command(
    "ambulo gait train-estimator",
    EstimatorFlags,
    "ambulo.commands.gait.train_estimator:train_estimator",
)
report = Command(
    "ambulo gait report", ReportFlags, "ambulo.commands.gait.report:report"
)
compose = Command(
    "ambulo gait compose",
    ComposeFlags,
    "ambulo.commands.gait.compose:compose",
    """\
examples:
  ambulo train walk --preset gait_muscle --run-name healthy
  ambulo train walk --preset gait_impaired --set gait.base=runs/healthy --run-name weak
  ambulo gait compose runs/healthy runs/weak --out walks.zip
  ambulo eval walks.zip
""",
)
