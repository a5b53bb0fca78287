"""The IK network at run time: NumPy arrays and compiled loops, no torch.

A network is a folder with two files: `ik_network.json` is its header, and
`ik_network.safetensors` holds its weights, float32, under the names `layers.0.weight`
(outputs, inputs), `layers.0.bias`, ... and `mean` (3 + 6 J,), the mean pose that answers
are offsets from (see `ambulo.ik.solver.features`). `policies/networks/ik_net.py` trains it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ambulo.shipped
from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError, IKError, ModelFileError, nearest
from ambulo.configs.json_text import json_value
from ambulo.configs.reading import read_regular_text
from ambulo.ik.kernels.targets import poses_of
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver.features import inputs_of, network_input, outputs_of
from ambulo.ik.solver.frames import root_frame
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.network_files import (
    checked_tensors,
    first_line,
    read_tensors,
    write_network,
)
from ambulo.ik.solver.targets import Targets
from ambulo.motion.dense_network import DenseNetwork

HEADER = "ik_network.json"
WEIGHTS = "ik_network.safetensors"


class IKNetwork:
    """An IK network: predicts poses from targets; weights are validated at construction.

    Not thread-safe: buffers are kept between calls (see `DenseNetwork`).
    """

    def __init__(
        self,
        header: IKNetworkHeader,
        tensors: Mapping[str, NDArray[Any]],
        *,
        rig: Rig | None = None,
        source: str = "network",
    ) -> None:
        self.header = header
        self.rig = load_rig(header.rig) if rig is None else rig
        sizes = _sizes(header, self.rig)
        checked = checked_tensors(tensors, _shapes(sizes), source)
        self._mean = checked["mean"].astype(np.float64)
        self._rest = self.rig.skeleton.rest[0]
        self._network = DenseNetwork(
            [
                (checked[f"layers.{layer}.weight"].T, checked[f"layers.{layer}.bias"])
                for layer in range(len(sizes) - 1)
            ],
            header.activation,
            header.slope,
        )

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return self._network.parameters

    @property
    def mean(self) -> Floats:
        """The mean pose that answers are offsets from. Shape (3 + 6 J,)."""
        return self._mean

    def tensors(self) -> dict[str, Singles]:
        """The weights as files have them, by name."""
        result = {"mean": self._mean.astype(np.float32)}
        for layer, (weights, bias) in enumerate(self._network.layers):
            result[f"layers.{layer}.weight"] = np.ascontiguousarray(weights.T)
            result[f"layers.{layer}.bias"] = bias
        return result

    def forward(self, inputs: Singles) -> Singles:
        """The answers (B, 3 + 6 J) to `inputs` (B, 66 or more), float32.

        The array is used again by the next call with as many characters.
        """
        return self._network.forward(inputs)

    def predict(self, targets: Targets, past: Sequence[Targets] = ()) -> Pose:
        """Predict poses for `targets`: inexact, and without joint limits.

        `past` are head and hands of the same characters at the moments that
        `header.past` tells.
        """
        if len(past) != len(self.header.past):
            reported = ", ".join(f"{ago:g} s" for ago in self.header.past) or "none"
            raise IKError(
                f"the network sees earlier moments ({reported}), got {len(past)} of them"
            )
        frame = root_frame(self.rig, targets)
        output = self.forward(network_input(self.rig, targets, frame, past))
        root = np.empty((len(targets), 3))
        local = np.empty((len(targets), len(self.rig), 4))
        poses_of(output, self._mean, self._rest, *frame, root, local)
        if not math.isfinite(float(local.sum())):
            raise IKError("the network's answer is not finite: its weights are damaged")
        return Pose(root, local)


def load_ik_network(
    path_or_name: str | os.PathLike[str], rig: Rig | None = None
) -> IKNetwork:
    """Return the network in a folder (or its header's file), or a shipped one by name.

    Raises:
        ModelFileError: Missing, damaged, or made for something else.
    """
    folder = Path(path_or_name)
    if not folder.is_dir():
        file = ambulo.shipped.locate(path_or_name)
        if file is None or not file.with_name(HEADER).is_file():
            known = [
                name
                for name, file in ambulo.shipped.shipped_models().items()
                if file.name == HEADER
            ]
            raise ModelFileError(
                f"{path_or_name}: no such folder or network"
                f"{nearest(str(path_or_name), known)}"
            )
        folder = file.parent
    return _read(folder, rig)


def save_ik_network(
    folder: str | Path, header: IKNetworkHeader, tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write a network's two files into `folder`; the header last, as its seal."""
    place = Path(folder)
    sizes = _sizes(header, load_rig(header.rig))
    checked = checked_tensors(tensors, _shapes(sizes), str(place))
    write_network(header, place / HEADER, checked, WEIGHTS)


def _read(folder: Path, rig: Rig | None) -> IKNetwork:
    """The network of `folder`, checked."""
    path = folder / HEADER
    try:
        text = json_value(read_regular_text(path))
        header = parse(IKNetworkHeader, text, str(path))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ModelFileError(f"{path}: cannot be read: {first_line(error)}") from None
    except ConfigError as error:
        raise ModelFileError(str(error)) from None
    path = folder / WEIGHTS
    return IKNetwork(header, read_tensors(path), rig=rig, source=str(path))


def _sizes(header: IKNetworkHeader, rig: Rig) -> tuple[int, ...]:
    """Numbers that go into each layer, and those that come out of the last."""
    return (inputs_of(len(header.past)), *header.hidden, outputs_of(rig))


def _shapes(sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Shape of each tensor of a network with these layer sizes."""
    shapes: dict[str, tuple[int, ...]] = {"mean": (sizes[-1],)}
    for layer, (n, m) in enumerate(pairwise(sizes)):
        shapes[f"layers.{layer}.weight"] = (m, n)
        shapes[f"layers.{layer}.bias"] = (m,)
    return shapes
