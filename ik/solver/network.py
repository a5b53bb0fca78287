"""The IK network at run time: NumPy arrays and compiled loops, no torch.

A network is a folder with two files: `ik_network.json` is its header, and
`ik_network.safetensors` holds its weights, float32, under the names `layers.0.weight` (outputs,
inputs), `layers.0.bias`, ... and `mean` (3 + 6 J,), the mean pose, to which outputs are offsets
(see `ambulo.ik.solver.features`). With the published layout the files are `ik_published.*`, and
the names `W1` (inputs, outputs), `b1`, ... `policies/networks/ik_net.py` trains it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

import ambulo.shipped
from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.atomic import replace_file
from ambulo.configs.base import load_json
from ambulo.configs.errors import ConfigError, IKError, ModelFileError, nearest
from ambulo.configs.reading import read_regular
from ambulo.ik.kernels.targets import poses_of
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig
from ambulo.ik.solver import published
from ambulo.ik.solver.features import INPUTS, network_input, outputs_of, root_frame
from ambulo.ik.solver.headers import IKNetworkHeader
from ambulo.ik.solver.published import Context
from ambulo.ik.solver.targets import Targets
from ambulo.motion.dense_network import DenseNetwork

HEADERS = ("ik_network.json", "ik_published.json")
"""Names of the header's file: of the own layout, and of the published one."""
MAX_WEIGHTS = 256 * 1024 * 1024
"""Largest file of an IK network, [bytes]."""


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
        self.is_published = header.kind != "own"
        """Whether inputs and outputs are the published 50 and 69 numbers."""
        sizes = layer_sizes(header, self.rig)
        checked = checked_tensors(tensors, _shapes(header, sizes), source)
        mean = checked.pop("mean", np.zeros(sizes[-1], np.float32))
        self._mean = mean.astype(np.float64)
        self._rest = self.rig.skeleton.rest[0]
        parts = list(checked.values())
        weights = parts[::2] if self.is_published else [w.T for w in parts[::2]]
        layers = list(zip(weights, parts[1::2], strict=True))
        self._network = DenseNetwork(layers, header.activation, header.slope)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return self._network.parameters

    @property
    def mean(self) -> Floats:
        """The mean pose, to which outputs are offsets. Shape (3 + 6 J,)."""
        return self._mean

    @property
    def layers(self) -> list[tuple[Singles, Singles]]:
        """Weights (inputs, outputs) and biases of each layer."""
        return self._network.layers

    def tensors(self) -> dict[str, Singles]:
        """The weights as files have them, by name."""
        parts = [self._mean.astype(np.float32)][self.is_published :]
        for weights, bias in self._network.layers:
            turned = weights if self.is_published else np.ascontiguousarray(weights.T)
            parts += [turned, bias]
        names = _shapes(self.header, self._network.sizes)
        return dict(zip(names, parts, strict=True))

    def forward(self, inputs: Singles) -> Singles:
        """The outputs (B, out) for `inputs` (B, in), float32.

        The array is reused by the next call with as many characters.
        """
        return self._network.forward(inputs)

    def inputs(self, targets: Targets, context: Context | None = None) -> Singles:
        """The network's inputs for `targets`. Shape (B, in).

        With the published layout all six targets must be present; `context` has its further
        inputs: on level ground, idle, by default.
        """
        if not self.is_published:
            return network_input(self.rig, targets)
        context = Context.level(targets) if context is None else context
        return published.published_input(self.rig, targets, context)

    def poses(self, output: Singles, targets: Targets) -> Pose:
        """The poses in the world for `output` (B, out)."""
        if self.is_published:
            return published.published_pose(self.rig, output, targets)
        return self._poses(output, root_frame(self.rig, targets))

    def _poses(self, output: Singles, frame: tuple[Floats, Floats]) -> Pose:
        root = np.empty((len(output), 3))
        local = np.empty((len(output), len(self.rig), 4))
        poses_of(output, self._mean, self._rest, *frame, root, local)
        return Pose(root, local)

    def predict(self, targets: Targets, context: Context | None = None) -> Pose:
        """Predict poses for `targets`: inexact, and without joint limits.

        `context` as of `inputs`.
        """
        if self.is_published:
            output = self.forward(self.inputs(targets, context))
            pose = self.poses(output, targets)
        else:
            frame = root_frame(self.rig, targets)
            output = self.forward(network_input(self.rig, targets, frame))
            pose = self._poses(output, frame)
        if not math.isfinite(float(pose.rotations.sum())):
            raise IKError("the network's answer is not finite: its weights are damaged")
        return pose


def load_ik_network(
    path_or_name: str | os.PathLike[str], rig: Rig | None = None
) -> IKNetwork:
    """Return the network in a folder (or its header's file), or a shipped one by name.

    Raises:
        ModelFileError: The network is missing, damaged, or of another kind.
    """
    folder = Path(path_or_name)
    if not folder.is_dir():
        file = ambulo.shipped.locate(path_or_name)
        if file is None or not any(file.with_name(name).is_file() for name in HEADERS):
            known = [
                name
                for name, file in ambulo.shipped.shipped_models().items()
                if file.name in HEADERS
            ]
            raise ModelFileError(
                f"{path_or_name}: no such folder or network"
                f"{nearest(str(path_or_name), known)}"
            )
        folder = file.parent
    path = next(
        (folder / n for n in HEADERS if (folder / n).is_file()), folder / HEADERS[0]
    )
    try:
        header = load_json(IKNetworkHeader, path)
    except ConfigError as error:
        raise ModelFileError(str(error)) from None
    path = path.with_suffix(".safetensors")
    return IKNetwork(header, read_tensors(path), rig=rig, source=str(path))


def save_ik_network(
    folder: str | Path, header: IKNetworkHeader, tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write a network's two files into `folder`; the header last, which marks completion."""
    path = Path(folder) / HEADERS[header.kind != "own"]
    sizes = layer_sizes(header, load_rig(header.rig))
    checked = checked_tensors(tensors, _shapes(header, sizes), str(folder))
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path.with_suffix(".safetensors"), save(checked))
    replace_file(path, header.to_json().encode())


def layer_sizes(header: IKNetworkHeader, rig: Rig) -> tuple[int, ...]:
    """Input sizes of all layers, and the output size of the last."""
    if header.kind != "own":
        return (published.INPUTS, *header.hidden, published.OUTPUTS)
    return (INPUTS, *header.hidden, outputs_of(rig))


def _shapes(
    header: IKNetworkHeader, sizes: tuple[int, ...]
) -> dict[str, tuple[int, ...]]:
    """Shape of each tensor of a network with these layer sizes."""
    if header.kind != "own":
        shapes: dict[str, tuple[int, ...]] = {}
        for layer, (n, m) in enumerate(pairwise(sizes), start=1):
            shapes[f"W{layer}"], shapes[f"b{layer}"] = (n, m), (m,)
        return shapes
    shapes = {"mean": (sizes[-1],)}
    for layer, (n, m) in enumerate(pairwise(sizes)):
        shapes[f"layers.{layer}.weight"] = (m, n)
        shapes[f"layers.{layer}.bias"] = (m,)
    return shapes


def checked_tensors(
    tensors: Mapping[str, NDArray[Any]],
    shapes: Mapping[str, tuple[int, ...]],
    source: str,
) -> dict[str, Singles]:
    """Return the tensors in the order of `shapes`; `ModelFileError` names a bad one."""
    for name in sorted(shapes.keys() | tensors.keys()):
        if name not in tensors:
            raise ModelFileError(f"{source}: tensor {name!r} is missing")
        if name not in shapes:
            raise ModelFileError(f"{source}: unexpected tensor {name!r}")
        tensor = tensors[name]
        if tensor.shape != shapes[name] or tensor.dtype != np.float32:
            raise ModelFileError(
                f"{source}: tensor {name!r} is {tensor.dtype} {tensor.shape}, "
                f"expected float32 {shapes[name]}"
            )
        if not np.isfinite(tensor).all():
            raise ModelFileError(f"{source}: tensor {name!r} has values not finite")
    return {name: np.ascontiguousarray(tensors[name]) for name in shapes}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a safetensors file; `ModelFileError` if it cannot be read."""
    try:
        return load(read_regular(path, MAX_WEIGHTS))
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    except SafetensorError as error:
        raise ModelFileError(f"{path}: cannot be read: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its class."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__
