"""`ambulo gait report`: pictures, tables and films of a gait network.

The same as `ambulo eval` of the network.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from ambulo.commands.gait.flags import NetworkFlags
from ambulo.common.command_line import Arg, command


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


@command("ambulo gait report")
def main(flags: ReportFlags) -> int:
    """Evaluate the network and write the report."""
    from ambulo.evaluate.command import evaluate_model

    arguments = [flags.model, "--episodes", str(flags.most), "--output", flags.output]
    for folder in flags.data:
        arguments += ["--data", folder]
    if flags.estimator:
        arguments += ["--estimator", flags.estimator]
    if flags.no_video:
        arguments.append("--no-video")
    return evaluate_model(arguments, shlex.join(["ambulo", "eval", *arguments]))
