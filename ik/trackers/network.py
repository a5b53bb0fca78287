"""The network of body trackers at run time, in NumPy: no torch."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

import ambulo.shipped
from ambulo.configs.arrays import Singles
from ambulo.configs.errors import IKError, nearest
from ambulo.ik.trackers.sizes import INPUTS, OUTPUTS


class TrackerNetwork:
    """Weights of a body tracker; `step` advances a state by one network step.

    Statistics of the data are folded into the first and the last layer.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], lead: float) -> None:
        """Take tensors by the names of `policies.networks.tracker_net`, float32.

        Args:
            tensors: Weights and statistics.
            lead: Time by which its poses are ahead of the input, [s].
        """
        self.lead = lead
        given = {name: np.asarray(t, dtype=np.float64) for name, t in tensors.items()}
        scaled = given["encoder.weight"] / given["scale"]
        self.encoder = _single(scaled)
        self.encoder_bias = _single(given["encoder.bias"] - scaled @ given["center"])
        self.inputs = _single(given["gru.weight_ih_l0"])
        self.inputs_bias = _single(given["gru.bias_ih_l0"])
        self.states = _single(given["gru.weight_hh_l0"])
        self.states_bias = _single(given["gru.bias_hh_l0"])
        self.decoder = _single(given["decoder.weight"])
        self.decoder_bias = _single(given["decoder.bias"])
        spread = given["spread"]
        self.output = _single(spread[:, None] * given["output.weight"])
        self.output_bias = _single(spread * given["output.bias"] + given["mean"])
        self.units = len(self.states[0])
        """Numbers of the state."""
        self._seen = np.zeros(len(self.encoder) + self.units, dtype=np.float32)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(array.size for array in vars(self).values() if _is_weight(array))

    def start(self) -> Singles:
        """Return the initial state. Shape (units,)."""
        return np.zeros(self.units, dtype=np.float32)

    def step(self, inputs: Singles, state: Singles) -> Singles:
        """Return the output (151,) of `inputs` (106,) and update `state` in place."""
        assert inputs.shape == (INPUTS,)
        n, seen = self.units, self._seen
        x = _silu(self.encoder @ inputs + self.encoder_bias)
        a = self.inputs @ x + self.inputs_bias
        c = self.states @ state + self.states_bias
        gates = _sigmoid(a[: 2 * n] + c[: 2 * n])
        new = np.tanh(a[2 * n :] + gates[:n] * c[2 * n :])
        state[:] = new + gates[n:] * (state - new)
        seen[: len(x)], seen[len(x) :] = x, state
        y = _silu(self.decoder @ seen + self.decoder_bias)
        result: Singles = self.output @ y + self.output_bias
        assert result.shape == (OUTPUTS,)
        return result


def _single(array: NDArray[np.float64]) -> Singles:
    return np.ascontiguousarray(array, dtype=np.float32)


def _sigmoid(x: Singles) -> Singles:
    result: Singles = np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1.0))
    return result


def _silu(x: Singles) -> Singles:
    return x * _sigmoid(x)


def _is_weight(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def find_tracker_network(name: str | os.PathLike[str]) -> TrackerNetwork:
    """Return the shipped network `name`, or that of the model file `name`.

    Raises:
        IKError: The network is missing, or the file is of another kind.
    """
    file = ambulo.shipped.locate(name)
    if file is None:
        hint = nearest(os.fspath(name), ambulo.shipped.shipped_models())
        raise IKError(f"{name}: no such file or shipped body tracker{hint}")
    return _loaded(str(file), file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> TrackerNetwork:
    del stamp  # part of the cache key: a changed file is read again
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("ambulo.json"))
            kind = header["kind"]
            if kind != "body_tracker":
                raise IKError(f"{path}: is a {kind}, not a body tracker")
            lead = float(header["run"]["network"]["lead"])
            tensors = load(archive.read("policy.safetensors"))
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
