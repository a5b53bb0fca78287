"""A network from requested torque to activations: run in NumPy, stored in one file.

Input: the entries of JtA that can be nonzero, the requested torque minus the passive one (Jtp),
and, for a conditioned network, force and length factors of the muscle groups. Output:
activations. The idea is MuscleNet of Lee, Park, Lee and Lee, "Scalable Muscle-actuated Human
Simulation and Control", ACM Transactions on Graphics 38(4), 2019; the passive torque in the
input and the 256 x 3 layers are those of Park, Min, Chang, Lee, Park and Lee, "Generative
GaitNet", SIGGRAPH 2022. `train.muscle` trains it; `solver` is exact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

import ambulo.shipped
from ambulo.configs.arrays import Floats, Ints, Singles
from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError, MuscleError, nearest
from ambulo.configs.json_text import json_value
from ambulo.configs.muscle import MUSCLE_NN_FORMAT, MuscleNNConfig, MuscleNNHeader
from ambulo.configs.reading import read_regular
from ambulo.motion.dense_network import DenseNetwork
from ambulo.motion.formats.disk import write_bytes
from ambulo.muscle.conditions import Condition
from ambulo.muscle.solver import cholesky_solve, compress

LEAK = 0.2
"""Slope of the hidden units below zero, as Lee et al."""
OFFSET = 3.0
"""Offset subtracted from the sigmoid's argument: muscles start near rest."""
SLACK = 1e-3
"""Freedom of a muscle at its bound in a correction."""
SOFT = 1.0
"""Torque error that a correction may leave, [N^2 m^2]; regularises infeasible targets."""
_MOST_BYTES = 2**28


@dataclass(frozen=True)
class ReducedPattern:
    """Entries of JtA (na, m) that can be nonzero: P of them."""

    rows: Ints
    """Coordinate of each entry, (P,)."""
    muscles: Ints
    """Muscle of each entry, (P,)."""
    shape: tuple[int, int]
    """(na, m)."""

    def reduce(self, active: Floats) -> Floats:
        """The entries of JtA (B, na, m), (B, P)."""
        return active[:, self.rows, self.muscles]

    def full(self, values: Floats) -> Floats:
        """JtA (B, na, m) from its entries (B, P)."""
        out = np.zeros((len(values), *self.shape), dtype=values.dtype)
        out[:, self.rows, self.muscles] = values
        return out


@dataclass(frozen=True)
class Scales:
    """Scaling of the inputs."""

    mean: Singles
    """Subtracted from the entries of JtA, (P,), [N m]."""
    values: Singles
    """Divisor of the entries of JtA, (P,), [N m]."""
    torque: Singles
    """Divisor of the torque, (na,), [N m]."""
    conditioned: bool
    """Whether the factors of the muscle groups are inputs."""


@dataclass(frozen=True)
class MuscleNN:
    """A trained network."""

    config: MuscleNNConfig
    """Settings of its training."""
    muscles: tuple[str, ...]
    """Names of the muscles, in the order of the activations."""
    groups: tuple[str, ...]
    """Names of the muscle groups, G of them."""
    pattern: ReducedPattern
    """Entries of JtA that are inputs."""
    scales: Scales
    """Scaling of the inputs."""
    weights: tuple[Singles, ...]
    """Weights of each layer, (out, in)."""
    biases: tuple[Singles, ...]
    """Biases of each layer, (out,)."""

    @cached_property
    def _dense(self) -> DenseNetwork:
        pairs = zip(self.weights, self.biases, strict=True)
        return DenseNetwork([(w.T, bias) for w, bias in pairs], "leaky_relu", LEAK)

    def activations(
        self, active: Floats, wanted: Floats, factors: Floats | None = None
    ) -> Floats:
        """Activations for B requested torques, (B, m), in [0, 1].

        Args:
            active: JtA, (B, na, m), [N m].
            wanted: Requested torque minus passive torque, (B, na), [N m].
            factors: Force, then length factors of the groups, (B, 2 G); only for a conditioned
                network; default 1.
        """
        if active.shape[1:] != self.pattern.shape or wanted.shape != active.shape[:2]:
            raise MuscleError(
                f"muscle network: expected JtA (B, {self.pattern.shape[0]},"
                f" {self.pattern.shape[1]}) and torques (B, {self.pattern.shape[0]}),"
                f" got {active.shape} and {wanted.shape}"
            )
        scales = self.scales
        values = self.pattern.reduce(active)
        parts = [(values - scales.mean) / scales.values, wanted / scales.torque]
        if scales.conditioned:
            healthy = np.zeros((len(wanted), 2 * len(self.groups)))
            parts.append(healthy if factors is None else factors - 1.0)
        x = np.concatenate(parts, axis=1, dtype=np.float32)
        raw = self._dense.forward(x).astype(np.float64)
        if self.config.output == "relu_tanh":
            return np.maximum(np.tanh(raw), 0.0)
        made = 1.0 / (1.0 + np.exp(OFFSET - raw))
        by_muscle = np.ascontiguousarray(active.swapaxes(1, 2))
        _correct(by_muscle, np.ascontiguousarray(wanted), self.config.corrections, made)
        return made


def muscle_groups(names: tuple[str, ...]) -> tuple[tuple[str, ...], Ints]:
    """Groups of muscles, and the group of each muscle, (m,).

    Parts of a muscle (glmax1_r, glmax2_r) are one group; the sides are two.
    """
    stems = []
    for name in names:
        stem, _, side = name.rpartition("_") if "_" in name else (name, "", "")
        stem = stem.rstrip("0123456789") or stem
        stems.append(f"{stem}_{side}" if side else stem)
    groups = tuple(dict.fromkeys(stems))
    return groups, np.array([groups.index(stem) for stem in stems], dtype=np.int64)


def group_factors(names: tuple[str, ...], state: Condition) -> Floats:
    """Inputs of a conditioned network for muscles in `state`, (2 G,).

    The mean force factor of each group's muscles, then the mean length factors.
    """
    groups, member = muscle_groups(names)
    sizes = np.bincount(member, minlength=len(groups))
    force, length = (
        np.bincount(member, x) / sizes for x in (state.force, state.length)
    )
    return np.concatenate([force, length])


@njit(cache=True)
def _correct(by_muscle: Floats, wanted: Floats, steps: int, made: Floats) -> None:
    """Change activations `made` (B, m) so that their torque comes nearer to `wanted`.

    A step is the smallest change, weighted by a muscle's freedom a (1 - a), that removes the
    torque error; activations are clipped after it.
    """
    count, size = by_muscle.shape[1], by_muscle.shape[2]
    start = np.empty(count + 1, np.int64)
    rows, values = np.empty(count * size, np.int64), np.empty(count * size)
    matrix, error, push = np.empty((size, size)), np.empty(size), np.empty(size)
    for b in range(by_muscle.shape[0]):
        compress(by_muscle[b], start, rows, values)
        for _ in range(steps):
            matrix[:, :] = 0.0
            for j in range(size):
                matrix[j, j], error[j] = SOFT, wanted[b, j]
            for i in range(count):
                a = made[b, i]
                free = a * (1.0 - a) + SLACK
                for k in range(start[i], start[i + 1]):
                    error[rows[k]] -= values[k] * a
                    for p in range(start[i], k + 1):
                        matrix[rows[k], rows[p]] += free * values[k] * values[p]
            cholesky_solve(matrix, error, push)
            for i in range(count):
                a = made[b, i]
                change = 0.0
                for k in range(start[i], start[i + 1]):
                    change += values[k] * push[rows[k]]
                made[b, i] = min(1.0, max(0.0, a + (a * (1.0 - a) + SLACK) * change))


def save_muscle_nn(path: str | os.PathLike[str], network: MuscleNN) -> None:
    """Write `network` as one safetensors file, atomically."""
    write_bytes(Path(path), muscle_nn_bytes(network))


def muscle_nn_bytes(network: MuscleNN) -> bytes:
    """`network` as the bytes of a safetensors file."""
    header = MuscleNNHeader(
        config=network.config,
        muscles=network.muscles,
        groups=network.groups,
        shape=network.pattern.shape,
        conditioned=network.scales.conditioned,
    )
    tensors: dict[str, NDArray[Any]] = {
        "pattern.rows": network.pattern.rows.astype(np.int64),
        "pattern.muscles": network.pattern.muscles.astype(np.int64),
        "scale.mean": network.scales.mean,
        "scale.values": network.scales.values,
        "scale.torque": network.scales.torque,
    }
    for k, (weight, bias) in enumerate(
        zip(network.weights, network.biases, strict=True)
    ):
        tensors[f"layer.{k}.weight"] = np.ascontiguousarray(weight)
        tensors[f"layer.{k}.bias"] = np.ascontiguousarray(bias)
    import safetensors.numpy

    return safetensors.numpy.save(
        tensors, metadata={"ambulo": json.dumps(header.model_dump(mode="json"))}
    )


def load_muscle_nn(path: str | os.PathLike[str]) -> MuscleNN:
    """The network in `path`, checked.

    Raises:
        MuscleError: The file is missing, damaged, newer, or of another kind.
    """
    file = Path(path)
    try:
        data = read_regular(file, _MOST_BYTES)
    except FileNotFoundError:
        raise MuscleError(f"{file}: no such muscle network") from None
    except OSError as error:
        raise MuscleError(f"{file}: cannot be read: {error.strerror}") from None
    return muscle_nn_from_bytes(data, file)


def find_muscle_nn(name: str | os.PathLike[str]) -> MuscleNN:
    """Return the shipped network `name`, or that of the file `name`.

    Raises:
        MuscleError: The network is missing, or is no muscle network.
    """
    file = ambulo.shipped.locate(name)
    if file is None:
        hint = nearest(os.fspath(name), ambulo.shipped.shipped_models())
        raise MuscleError(f"{name}: no such file or shipped muscle network{hint}")
    return _loaded(str(file), file.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _loaded(path: str, stamp: int) -> MuscleNN:
    del stamp  # part of the cache key: a changed file is read again
    return load_muscle_nn(path)


def muscle_nn_from_bytes(data: bytes, source: str | os.PathLike[str]) -> MuscleNN:
    """The network in the bytes of a safetensors file; errors name `source`."""
    import safetensors.numpy

    file = Path(source)
    try:
        tensors = safetensors.numpy.load(data)
    except safetensors.SafetensorError as error:
        raise MuscleError(f"{file}: cannot be read: {error}") from None
    # The format: length of the JSON header, 8 bytes, little-endian; then the header.
    length = int.from_bytes(data[:8], "little")
    metadata = json_value(data[8 : 8 + length]).get("__metadata__")
    header = _header(metadata, file)
    try:
        return _built(header, tensors, file)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise MuscleError(f"{file}: not a whole muscle network: {error}") from None


def _header(metadata: Mapping[str, str] | None, file: Path) -> MuscleNNHeader:
    """Return the JSON part of a file, checked."""
    try:
        header = json_value((metadata or {}).get("ambulo", "null"))
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != MUSCLE_NN_FORMAT:
        raise MuscleError(
            f"{file}: not a muscle network (format is not {MUSCLE_NN_FORMAT!r})"
        )
    if header.get("version") != 1:
        raise MuscleError(
            f"{file}: version {header.get('version')}, this program reads 1"
        )
    try:
        return parse(MuscleNNHeader, header, str(file))
    except ConfigError as error:
        raise MuscleError(f"{file}: not a whole muscle network: {error}") from None


def _built(
    header: MuscleNNHeader, tensors: Mapping[str, NDArray[Any]], file: Path
) -> MuscleNN:
    """The network from a file's parts; shapes are checked against each other."""
    rows, muscles = header.shape
    pattern = ReducedPattern(
        tensors["pattern.rows"], tensors["pattern.muscles"], (rows, muscles)
    )
    inputs = len(pattern.rows) + rows
    inputs += 2 * len(header.groups) if header.conditioned else 0
    sizes = [inputs, *header.config.hidden, muscles]
    layers = range(len(sizes) - 1)
    expected: dict[str, tuple[int, ...]] = {
        "pattern.rows": pattern.rows.shape[:1],
        "pattern.muscles": pattern.rows.shape[:1],
        "scale.mean": pattern.rows.shape[:1],
        "scale.values": pattern.rows.shape[:1],
        "scale.torque": (rows,),
    }
    expected |= {f"layer.{k}.weight": (sizes[k + 1], sizes[k]) for k in layers}
    expected |= {f"layer.{k}.bias": (sizes[k + 1],) for k in layers}
    for name in sorted(expected.keys() | tensors.keys()):
        if name not in expected or tensors[name].shape != expected[name]:
            raise MuscleError(f"{file}: {name}: expected {expected.get(name, 'none')}")
        if not np.isfinite(tensors[name]).all():
            raise MuscleError(f"{file}: {name} has values that are not finite")
    inside = (pattern.rows >= 0) & (pattern.rows < rows)
    inside &= (pattern.muscles >= 0) & (pattern.muscles < muscles)
    if not inside.all() or len(header.muscles) != muscles:
        raise MuscleError(f"{file}: the pattern does not fit {rows} x {muscles}")
    return MuscleNN(
        config=header.config,
        muscles=header.muscles,
        groups=header.groups,
        pattern=pattern,
        scales=Scales(
            tensors["scale.mean"], tensors["scale.values"], tensors["scale.torque"],
            header.conditioned,
        ),
        weights=tuple(tensors[f"layer.{k}.weight"] for k in layers),
        biases=tuple(tensors[f"layer.{k}.bias"] for k in layers),
    )  # fmt: skip
