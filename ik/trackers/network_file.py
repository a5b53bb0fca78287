"""The network of a body tracker out of its model file, without torch."""

from __future__ import annotations

import json
import os
import zipfile
from functools import lru_cache

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

import ambulo.shipped
from ambulo.configs.errors import IKError, nearest
from ambulo.ik.trackers.network import TrackerNetwork

HEADER, WEIGHTS = "ambulo.json", "policy.safetensors"


def find_tracker_network(name: str | os.PathLike[str]) -> TrackerNetwork:
    """Return the network that is shipped as `name`, or in the model file `name`.

    Raises:
        IKError: Neither, or a file of something else.
    """
    file = ambulo.shipped.locate(name)
    if file is None:
        hint = nearest(os.fspath(name), ambulo.shipped.shipped_models())
        raise IKError(f"{name}: no such file or shipped body tracker{hint}")
    return _loaded(str(file), file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> TrackerNetwork:
    del stamp  # part of the key: a changed file is read again
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(HEADER))
            kind = header["kind"]
            if kind != "body_tracker":
                raise IKError(f"{path}: is a {kind}, not a body tracker")
            lead = float(header["run"]["network"]["lead"])
            tensors = load(archive.read(WEIGHTS))
        if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
            raise IKError(f"{path}: weights that are not finite")
        return TrackerNetwork(tensors, lead)
    except (
        zipfile.BadZipFile,
        SafetensorError,
        OSError,
        KeyError,
        TypeError,
        ValueError,
    ):
        raise IKError(f"{path}: is no model file of a body tracker") from None
