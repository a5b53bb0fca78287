"""`ambulo gait report`: pictures, tables and films of a gait network."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ambulo.commands.gait.networks import add_model_flag, open_network
from ambulo.common.files import without_nan, write_atomic, write_bytes
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, RenderError
from ambulo.evaluate.gait.report import (
    HeldOut,
    Walk,
    flat,
    held_out,
    motion_of_frames,
    predicted,
    walks_of,
)
from ambulo.evaluate.gait.report_figures import (
    draw_curves,
    draw_error_places,
    draw_recovery,
    draw_scatter,
)
from ambulo.evaluate.output_folder import made_folder
from ambulo.motion.gaits.angles import ANGLES
from ambulo.policies.agents.gait_network import RefNetwork
from ambulo.viz.html_report import (
    facts_table,
    figure_html,
    page_html,
    png_uri,
    table_html,
    tiles_html,
    video_html,
)

if TYPE_CHECKING:
    from ambulo.evaluate.gait.data import GaitSet
    from ambulo.evaluate.gait.recovery import Recovery

MOST = 400
"""Held-out gaits that are looked at."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `report` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "report",
        help="draw and measure a gait network",
        description="Curves of hip, knee and ankle by stride and cadence, errors on "
        "held-out gaits, how well their parameters are found again, and a film of a "
        "generated gait beside its source.",
    )
    parser.add_argument(
        "--data", action="append", default=[], metavar="DIR",
        help="refined sequences that the network was trained on; its test part is used "
        "(repeatable; none: curves alone)",
    )  # fmt: skip
    parser.add_argument(
        "--estimator", metavar="FILE",
        help="of `ambulo gait train-estimator`: also estimate the parameters of held-out "
        "gaits",
    )  # fmt: skip
    parser.add_argument(
        "--output", default="gait_report", metavar="DIR", help="(default: gait_report)"
    )
    parser.add_argument(
        "--most", type=int, default=MOST, metavar="N",
        help=f"held-out gaits (default: {MOST})",
    )  # fmt: skip
    parser.add_argument("--no-video", action="store_true", help="no films")
    add_model_flag(parser)


@dataclass
class _Report:
    """What is written in the end."""

    folder: Path
    parts: list[str]
    data: dict[str, Any]

    def picture(self, name: str, caption: str, png: bytes) -> None:
        """Write a picture, and put it into the page."""
        write_bytes(self.folder / name, png)
        self.parts.append(figure_html(caption, png_uri(png)))


def run(args: argparse.Namespace) -> int:
    """Measure, draw, write; 0."""
    if args.estimator and not args.data:
        raise ConfigError("--estimator needs held-out gaits: give --data")
    network = open_network(args)
    folder = resolve_path(args.output)
    with made_folder(folder):
        report = _Report(
            folder, ["<h1>Gait network</h1>"], {"model": Path(args.model).name}
        )
        gaits = _gaits(args, network)
        found = None if gaits is None else held_out(network, gaits)
        if found is not None:
            _add_scores(report, network, found)
        _add_walks(report, walks_of(network))
        if found is not None:
            _add_errors(report, found)
        if gaits is not None and args.estimator:
            _add_recovery(report, args, gaits)
        if not args.no_video:
            _add_films(report, network, gaits, found)
        write_atomic(folder / "report.html", page_html("Gait network", report.parts))
        text = json.dumps(without_nan(report.data), indent=2) + "\n"
        write_atomic(folder / "report.json", text)
    print(f"written: {folder / 'report.html'}")
    return 0


def _gaits(args: argparse.Namespace, network: RefNetwork) -> GaitSet | None:
    """The test part of `--data`, or nothing."""
    if not args.data:
        return None
    from ambulo.evaluate.gait.data import load_part
    from ambulo.evaluate.gait.held_out import data_of

    data = data_of(network.metadata, args.data)
    part = "test" if data.count("test") else "validation"
    return load_part(data, part, args.most)


def _add_scores(report: _Report, network: RefNetwork, found: HeldOut) -> None:
    s = found.scores
    report.parts.append(
        tiles_html(
            {
                "gaits held out": str(s.sequences),
                "hip, knee, ankle": f"{s.legs_deg:.2f} deg",
                "forward speed": f"{s.speed_percent:.1f} %",
                "feet slide, source": f"{found.skate[0]:.3f} m/s",
                "feet slide, generated": f"{found.skate[1]:.3f} m/s",
            }
        )
    )
    facts = {
        "parameters": f"{network.space.size} of {network.space.name}",
        "trained by": network.metadata.command or "unknown",
        "mean squared error of the 101 numbers": f"{s.mse:.6f}",
        "worst gait": f"{s.worst_legs_deg:.1f} deg, speed {s.worst_speed_percent:.1f} %",
    }
    report.parts.append(facts_table(facts))
    report.data["held_out"] = {
        **s.as_dict(),
        "skate_source": found.skate[0],
        "skate_generated": found.skate[1],
        "sagittal_deg": dict(
            zip(ANGLES, found.sagittal.mean(axis=0).tolist(), strict=True)
        ),
        "thirds": found.thirds,
    }


def _add_walks(report: _Report, walks: list[Walk]) -> None:
    names = list(dict.fromkeys(walk.parameter for walk in walks))
    curves = {
        name: {w.value: w.curves for w in walks if w.parameter == name}
        for name in names
    }
    levels = {
        name: {
            w.value: f"{w.value:.2f}: {w.facts.speed:.2f} m/s"
            for w in walks
            if w.parameter == name
        }
        for name in names
    }
    report.picture(
        "curves.png", "Angles over the gait cycle, by stride and by cadence",
        draw_curves(curves, levels),
    )  # fmt: skip
    head = (
        "parameter", "value", "speed asked [m/s]", "speed [m/s]", "stride [m]",
        "steps/min", "feet slide [m/s]", "lowest [cm]", "hip [deg]", "knee [deg]",
        "ankle [deg]",
    )  # fmt: skip
    rows = [_row(walk) for walk in walks]
    report.parts.append("<h2>Generated walks (ranges of the angles)</h2>")
    report.parts.append(table_html(head, rows))
    report.data["walks"] = [flat(walk) for walk in walks]


def _row(walk: Walk) -> tuple[str, ...]:
    """A walk's row of the table."""
    facts, spans = walk.facts, np.ptp(walk.curves, axis=1)
    numbers = (
        f"{walk.value:.2f}", f"{walk.nominal:.2f}", f"{facts.speed:.2f}",
        f"{facts.stride_length:.2f}", f"{facts.steps_per_minute:.0f}",
        f"{facts.skate:.3f}", f"{100.0 * facts.lowest:.1f}",
    )  # fmt: skip
    return (walk.parameter, *numbers, *(f"{span:.0f}" for span in spans))


def _add_errors(report: _Report, found: HeldOut) -> None:
    s = found.scores
    report.parts.append("<h2>Errors on held-out gaits</h2>")
    joints = {"hip": s.hip_deg, "knee": s.knee_deg, "ankle": s.ankle_deg}
    flexion = found.sagittal.mean(axis=0)
    rows = [
        (joint, f"{joints[joint]:.2f}", f"{flexion[k]:.2f}")
        for k, joint in enumerate(ANGLES)
    ]
    report.parts.append(table_html(("joint", "rotation [deg]", "flexion [deg]"), rows))
    report.picture(
        "errors.png", "Error of the flexion over the cycle",
        draw_error_places(found.sagittal, ANGLES),
    )  # fmt: skip
    report.picture(
        "speeds.png", "Forward speed of held-out gaits",
        draw_scatter(
            found.speeds[:, :1], found.speeds[:, 1:], ("forward speed",), "[m/s]"
        ),
    )  # fmt: skip
    report.picture(
        "ranges.png", "Range of the angles of held-out gaits",
        draw_scatter(found.ranges[..., 0], found.ranges[..., 1], ANGLES, "range [deg]"),
    )  # fmt: skip
    head = ("parameter", "third of its range", "gaits", "legs [deg]", "speed [%]")
    table = [
        (
            row["parameter"], row["third"], str(row["gaits"]), f"{row['legs_deg']:.2f}",
            f"{row['speed_percent']:.1f}",
        )
        for row in found.thirds
    ]  # fmt: skip
    report.parts.append(table_html(head, table, {1}))


def _add_recovery(report: _Report, args: argparse.Namespace, gaits: GaitSet) -> None:
    from ambulo.commands.gait.networks import open_ref_nn
    from ambulo.common.find_model import find_model
    from ambulo.evaluate.gait.recovery import recover
    from ambulo.policies.agents.gait_estimator import load_estimator
    from ambulo.policies.networks.gait_inverse import GaitInverse

    network, _ = open_ref_nn(args)
    estimator = load_estimator(find_model(args.estimator), network.space)
    inverse = GaitInverse(
        network, network.space, estimator.noise, trust=estimator.trust
    )
    found = recover(
        estimator.vae, estimator.vae_error, inverse, gaits, estimator.vae.config.given
    )
    report.picture(
        "recovery.png",
        "Parameters found again from held-out motions",
        draw_recovery(found),
    )
    report.parts.append(_recovery_table(found))
    report.data["recovery"] = {name: row.as_dict() for name, row in found.items()}


def _recovery_table(found: dict[str, Recovery]) -> str:
    head = ["parameter"]
    for name in found:
        head += [f"{name}: error", "within 5 %", "identified", "inside 95 %"]
    first = next(iter(found.values()))
    rows = []
    for k, parameter in enumerate(first.names):
        if first.given[k]:
            continue
        cells = [parameter]
        for row in found.values():
            values = (row.error, row.within, row.identified, row.inside)
            cells += [f"{value[k]:.1%}" for value in values]
        rows.append(cells)
    return table_html(head, rows)


def _add_films(
    report: _Report, network: RefNetwork, gaits: GaitSet | None, found: HeldOut | None
) -> None:
    from ambulo.viz.gait_films import write_comparison, write_varied

    try:
        path = write_varied(report.folder / "walks.gif", network)
        report.parts.append(
            "<h2>Short, healthy and long strides</h2>" + video_html(path)
        )
        if gaits is None or found is None:
            return
        row = int(found.order[len(found.order) // 2])
        frames = gaits.motions[row].astype(np.float64)
        motions = [
            motion_of_frames(network.space, gaits.params[row], one, name)
            for one, name in (
                (frames, "source"),
                (predicted(network, gaits.params[row]), "generated"),
            )
        ]
        path = write_comparison(report.folder / "source_and_generated.gif", motions)
        report.parts.append(
            "<h2>A held-out gait of median error and what is generated for it</h2>"
            + video_html(path)
        )
    except RenderError as error:
        print(f"no film: {error}")
