"""Pictures and films of gait networks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import RenderError
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
from ambulo.policies.agents.gait_network import GaitNetwork

COMPARISON = "source_and_generated"
"""Name of the film of a held-out gait beside what is generated for it."""


def network_pictures(
    walks: Sequence[Walk], found: HeldOut | None, recovery: Recovery | None
) -> list[Picture]:
    """Draw curves by parameter and, of held-out gaits, errors and estimates."""
    curves: dict[str, dict[str, Floats]] = {}
    for walk in walks:
        label = f"{walk.value:.2f}: {walk.facts.speed:.2f} m/s"
        curves.setdefault(walk.parameter, {})[label] = walk.curves
    caption = "Angles over the gait cycle, by stride and by cadence"
    drawn = [Picture("curves.png", caption, draw_curves(curves))]
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


def write_network_film(path: Path, network: GaitNetwork, found: HeldOut | None) -> None:
    """Film generated walks, or a held-out gait of median error beside its source."""
    from ambulo.viz.gait_films import write_comparison, write_varied

    if path.stem != COMPARISON:
        write_varied(path, network)
        return
    if found is None:
        raise RenderError("no held-out gaits to compare with")
    row = int(found.order[len(found.order) // 2])
    params = found.gaits.params[row]
    pair = {
        "source": found.gaits.motions[row].astype(np.float64),
        "generated": predicted(network, params),
    }
    write_comparison(
        path,
        [motion_of_frames(network.space, params, m, name) for name, m in pair.items()],
    )
