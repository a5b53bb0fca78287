"""Model files of body trackers, as bodies that are ready to be tracked."""

from __future__ import annotations

import os
from pathlib import Path

from safetensors.numpy import load

from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.policies.files.archive import open_archive
from ambulo.policies.files.weights import read_weights
from ambulo.policies.kinds.body_tracker import TrackerMetadata


def load_tracker_network(
    path: str | os.PathLike[str],
) -> tuple[TrackerNetwork, TrackerMetadata]:
    """Return the network of a model file, and the file's header.

    Raises:
        ModelFileError: Missing, damaged, or no body tracker.
    """
    with open_archive(Path(path)) as archive:
        metadata, tensors = read_weights(archive, TrackerMetadata, load)
    return TrackerNetwork(tensors, metadata.run.network.lead), metadata


def load_tracker(
    path: str | os.PathLike[str],
    shape: BodyShape | None = None,
    *,
    smooth: bool = True,
    adapt: bool = True,
) -> BodyTracker:
    """Return a body that the network of a model file moves; see `BodyTracker`."""
    network, _ = load_tracker_network(path)
    return BodyTracker(network, shape, smooth=smooth, adapt=adapt)
