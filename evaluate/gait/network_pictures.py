"""Pictures and films of gait networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ambulo.configs.errors import RenderError
from ambulo.evaluate.gait.data import GaitSet
from ambulo.evaluate.gait.network_results import (
    HeldOut,
    Walk,
    motion_of_frames,
    predicted,
)
from ambulo.evaluate.gait.recovery import Recovery
from ambulo.evaluate.gait.report_figures import (
    draw_curves,
    draw_error_places,
    draw_recovery,
    draw_scatter,
)
from ambulo.evaluate.shared.result import Picture
from ambulo.motion.gaits.angles import ANGLES
from ambulo.policies.agents.gait_network import RefNetwork

COMPARISON = "source_and_generated"
"""Name of the film of a held-out gait beside what is generated for it."""


def network_pictures(
    walks: Sequence[Walk], found: HeldOut | None, recovery: Mapping[str, Recovery]
) -> list[Picture]:
    """Draw curves by parameter and, of held-out gaits, errors and estimates."""
    names = list(dict.fromkeys(walk.parameter for walk in walks))
    own = {name: [walk for walk in walks if walk.parameter == name] for name in names}
    curves = draw_curves(
        {name: {w.value: w.curves for w in own[name]} for name in names},
        {
            name: {
                w.value: f"{w.value:.2f}: {w.facts.speed:.2f} m/s" for w in own[name]
            }
            for name in names
        },
    )
    caption = "Angles over the gait cycle, by stride and by cadence"
    drawn = [Picture("curves.png", caption, curves)]
    if found is not None:
        errors = draw_error_places(found.sagittal, ANGLES)
        speeds = draw_scatter(
            found.speeds[:, :1], found.speeds[:, 1:], ("forward speed",), "[m/s]"
        )
        ranges = draw_scatter(
            found.ranges[..., 0], found.ranges[..., 1], ANGLES, "range [deg]"
        )
        drawn += [
            Picture("errors.png", "Error of the flexion over the cycle", errors),
            Picture("speeds.png", "Forward speed of held-out gaits", speeds),
            Picture("ranges.png", "Range of the angles of held-out gaits", ranges),
        ]
    if recovery:
        bars = draw_recovery(recovery)
        drawn.append(Picture("recovery.png", "Parameters estimated from motions", bars))
    return drawn


def write_network_film(
    path: Path, network: RefNetwork, gaits: GaitSet | None, found: HeldOut | None
) -> None:
    """Film generated walks, or a held-out gait of median error beside its source."""
    from ambulo.viz.gait_films import write_comparison, write_varied

    if path.stem != COMPARISON:
        write_varied(path, network)
        return
    if gaits is None or found is None:
        raise RenderError("no held-out gaits to compare with")
    row = int(found.order[len(found.order) // 2])
    frames = gaits.motions[row].astype(np.float64)
    motions = [
        motion_of_frames(network.space, gaits.params[row], one, name)
        for one, name in (
            (frames, "source"),
            (predicted(network, gaits.params[row]), "generated"),
        )
    ]
    write_comparison(path, motions)
