"""`ambulo gait train-estimator`: what `ambulo gait estimate` needs beside the network."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ambulo.commands.gait.flags import EstimatorFlags
from ambulo.common.files import json_text, without_nan, write_or_print
from ambulo.common.paths import resolve_path
from ambulo.common.tables import print_rows
from ambulo.configs.errors import GaitDataError
from ambulo.train.shared.command_text import shareable_arguments

if TYPE_CHECKING:
    from ambulo.configs.gait import GaitSpace
    from ambulo.evaluate.gait.recovery import Recovery

MOST = 1024
"""Most held-out gaits to calibrate with."""
METHOD = "optimisation"
"""Name of least squares in results."""


def train_estimator(flags: EstimatorFlags) -> int:
    """Calibrate, test and write an estimator."""
    out = resolve_path(flags.out)
    from ambulo.evaluate.gait.held_out import data_of
    from ambulo.evaluate.gait.recovery import recover
    from ambulo.motion.gaits.gait_sets import load_part
    from ambulo.policies.agents.gait_estimator import save_estimator
    from ambulo.train.gait.calibration import calibrated_inverse

    data = data_of(flags.network().metadata, flags.data)
    network = flags.gait_net()
    given = given_names(flags.given, data.space)
    checked = load_part(data, "validation", MOST)
    if len(checked) < 2:
        raise GaitDataError(
            "fewer than two gaits to calibrate with in the validation part"
        )
    inverse = calibrated_inverse(network, data.space, checked, given)
    tested = load_part(data, "test", flags.test)
    result = recover(inverse, tested, given) if len(tested) else None
    results = {} if result is None else {METHOD: result.as_dict()}
    arguments = ["train-estimator", *shareable_arguments(flags.arguments)]
    extra = {"sequences": {"validation": len(checked)}, "test": results}
    save_estimator(
        out, inverse, given,
        command=shlex.join(["ambulo", "gait", *arguments]), extra=without_nan(extra),
    )  # fmt: skip
    write_or_print(flags.json, json_text(results, indent=2))
    if flags.json == "-":
        return 0
    if result is not None:
        print_recovery(result)
    print(f"written: {out}")
    return 0


def given_names(chosen: Sequence[str], space: GaitSpace) -> tuple[str, ...]:
    """The parameters that `--given` means, in the space's order."""
    kinds = {"lengths": ("skeleton",), "known": ("gait", "skeleton", "torsion")}
    names = set()
    for name in chosen:
        if name in kinds:
            names |= {p.name for p in space.parameters if p.group in kinds[name]}
        else:
            names.add(space.names[space.index(name)])
    return tuple(name for name in space.names if name in names)


def print_recovery(found: Recovery) -> None:
    """A table of how well parameters are found again."""
    title = f"parameters found again on {found.gaits} held-out gaits: mean error over "
    rows = []
    for k, parameter in enumerate(found.names):
        cells = ["given", "", ""]
        if not found.given[k]:
            rates = (found.identified[k], found.inside[k])
            cells = [f"{found.error[k]:.1%}", *(f"{rate:.0%}" for rate in rates)]
        rows.append([parameter, *cells])
    heads = ("parameter", "error", "identified", "inside 95 %")
    print_rows(f"{title}the range", heads, rows)
