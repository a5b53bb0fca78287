"""What a body that follows trackers sees of them."""

from __future__ import annotations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.envs.locomotion.observation import TRACKER_AGES
from ambulo.envs.reference.clips.tracked_library import TrackedLibrary


def seen_trackers(
    tracked: TrackedLibrary, clip: Ints, newest: Ints, root: Floats, yaw: Floats
) -> dict[str, Floats]:
    """Parts of the observation by name: the last samples, from the roots of N bodies.

    Args:
        tracked: The clips.
        clip: The clip of each body. Shape (N,).
        newest: Physics step of it with the newest sample. Shape (N,).
        root: World places of the roots, [m]. Shape (N, 3).
        yaw: Headings of the roots, [rad]. Shape (N,).

    Returns:
        `tracked`, which trackers there are, (N, 6); for each age in `TRACKER_AGES` the places
        from the root, `trackers_<age>`, (N, 18), [m], and the first two axes,
        `tracker_axes_<age>`, (N, 36), in the heading frame of the root.
    """
    library, count, there = tracked.library, len(clip), tracked.present[:, None]
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    found: dict[str, Floats] = {
        "tracked": np.tile(tracked.present.astype(np.float64), (count, 1))
    }
    for age in TRACKER_AGES:
        rows = library.knot_rows(clip, newest - age * library.substeps)
        places = np.where(there, tracked.places[rows] - root[:, None], 0.0)
        axes = tracked.axes[rows].reshape(count, -1, 3)
        for name, vectors in (("trackers", places), ("tracker_axes", axes)):
            turned = vectors.copy()
            turned[..., 0] = c * vectors[..., 0] + s * vectors[..., 1]
            turned[..., 1] = c * vectors[..., 1] - s * vectors[..., 0]
            found[f"{name}_{age}"] = turned.reshape(count, -1)
    return found
