"""Model files of body trackers, as bodies that are ready to be tracked."""

from __future__ import annotations

import os
from pathlib import Path

from safetensors.numpy import load

from ambulo.configs.errors import ModelFileError
from ambulo.ik.trackers.network import TrackerNetwork
from ambulo.ik.trackers.shape import BodyShape
from ambulo.ik.trackers.tracker import BodyTracker
from ambulo.policies.files.archive import open_archive
from ambulo.policies.files.headers import header_of
from ambulo.policies.files.shapes import check_shapes, stored_shapes
from ambulo.policies.kinds.body_tracker import TrackerMetadata

WEIGHTS = "policy.safetensors"


def load_tracker_network(
    path: str | os.PathLike[str],
) -> tuple[TrackerNetwork, TrackerMetadata]:
    """Return the network of a model file, and the file's header.

    Raises:
        ModelFileError: Missing, damaged, or no body tracker.
    """
    with open_archive(Path(path)) as archive:
        metadata = header_of(TrackerMetadata, archive)
        shapes = stored_shapes(archive, WEIGHTS)
        check_shapes(shapes, metadata.weight_shapes(shapes, str(path)), str(path))
        tensors = load(archive[WEIGHTS])
    for name, tensor in tensors.items():
        if not bool((abs(tensor) < float("inf")).all()):
            raise ModelFileError(f"{path}: weight {name!r} has values not finite")
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
