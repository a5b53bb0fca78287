"""The gait network at run time: NumPy alone, no torch. `networks.gait_net` learns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import load

from ambulo.configs.arrays import Floats, Singles
from ambulo.configs.errors import GaitParameterError, ModelFileError
from ambulo.configs.gait import GaitSpace
from ambulo.motion.gaits.frames import frame_rate, motion_of, orthonormal
from ambulo.motion.gaits.shards import PER_CYCLE
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.motion import Motion
from ambulo.policies.files.archive import open_archive
from ambulo.policies.files.weights import read_weights
from ambulo.policies.kinds.gait_net import GaitNetMetadata

HELD_WITHIN = 1e-6
"""How near to a held value another one is the same."""


class GaitNetwork:
    """A gait network at run time: from parameters of body and gait to motion."""

    def __init__(
        self,
        metadata: GaitNetMetadata,
        weights: Mapping[str, NDArray[Any]],
        source: str = "network",
    ) -> None:
        """Create it from the weights of a `GaitNet` by name, checked; errors name `source`."""
        self.metadata = metadata
        self.space = metadata.gait_space()
        self.held = _held(metadata, self.space, source)
        """Parameters that did not vary in its training, with their values."""
        layers = [
            (
                weights[f"layers.{k}.weight"].astype(np.float64),
                weights[f"layers.{k}.bias"].astype(np.float64),
            )
            for k in range(metadata.layers + 1)
        ]
        first = layers[0][0] / weights["scale"]
        layers[0] = (first, layers[0][1] - first @ weights["center"])
        spread = weights["spread"]
        last, bias = layers[-1]
        layers[-1] = (last * spread[:, None], bias * spread + weights["mean"])
        self.layers = [
            (np.ascontiguousarray(w.T, np.float32), b.astype(np.float32))
            for w, b in layers
        ]
        """Weights (inputs, outputs) and biases, scales included; ReLU between layers."""

    def __call__(self, normalized: ArrayLike, phase: ArrayLike) -> Singles:
        """Raw answers (B, 101) to normalised parameters (P,) or (B, P), phases (B,).

        Phases count cycles; whole ones are the same.
        """
        given = np.asarray(normalized, dtype=np.float32)
        size = self.space.size
        weights, bias = self.layers[0]
        values = phase_inputs(np.asarray(phase), self.metadata.harmonics)
        hidden = values.astype(np.float32) @ weights[size:]
        hidden += given @ weights[:size] + bias
        for weights, bias in self.layers[1:]:
            np.maximum(hidden, 0.0, out=hidden)
            hidden = hidden @ weights
            hidden += bias
        return np.asarray(hidden)

    def vector(self, **named: float) -> Floats:
        """The healthy parameters, or those held, with the named values. Shape (P,).

        Raises:
            GaitParameterError: An unknown name, a value out of range, or another value of
                a parameter that did not vary in the training.
        """
        for name, value in named.items():
            only = self.held.get(name, value)
            if abs(value - only) > HELD_WITHIN:
                raise GaitParameterError(
                    f"{name} = {value:g}: this network has learnt {only:.4g} alone"
                )
        return self.space.vector(**named | self.held)

    def walk(self, cycles: int = 2, fps: float | None = None, **named: float) -> Motion:
        """Return the gait of the named parameters, in their units; others are healthy.

        Args:
            cycles: Number of gait cycles (two steps each).
            fps: Frame rate (see `to_motion`), [Hz].
            **named: Parameters, for example `stride=1.1, cadence=0.9`.
        """
        return self.to_motion(self.vector(**named), cycles, fps)

    def frames(self, params: ArrayLike, cycles: int = 2) -> Floats:
        """Frames (30 cycles, 101) of `params` (P,), in their units; rotations are valid.

        Raises:
            GaitParameterError: Names the parameter that is out of its range.
        """
        self.space.check(params)
        phase = np.arange(cycles * PER_CYCLE) / PER_CYCLE
        once = self(self.space.normalize(params), phase[:PER_CYCLE])
        return np.tile(orthonormal(once.astype(np.float64)), (cycles, 1))

    def to_motion(
        self, params: ArrayLike, cycles: int = 2, fps: float | None = None
    ) -> Motion:
        """The gait of `params` (P,) on a body of their lengths; it leads along +X.

        The root's way is integrated; a mean drift to the side is taken off. The frame
        after the last would be the first again, further on by the cycles' way.

        Args:
            params: In their units.
            cycles: How many.
            fps: Rate, rounded so that whole cycles are whole numbers of frames, [Hz];
                30 frames a cycle if left out.
        """
        self.space.check(params)
        own = float(frame_rate(self.space, params))
        per_cycle = PER_CYCLE if fps is None else max(round(PER_CYCLE * fps / own), 4)
        phase = np.arange(per_cycle) / per_cycle
        once = self(self.space.normalize(params), phase).astype(np.float64)
        once[:, 7] -= once[:, 7].mean()
        frames = np.tile(orthonormal(once), (cycles, 1))
        rate = own * per_cycle / PER_CYCLE
        skeleton = gait_skeleton(self.space, params)
        return motion_of(frames, rate, skeleton, name="gait")


def _held(metadata: GaitNetMetadata, space: GaitSpace, source: str) -> dict[str, float]:
    """Return the parameters that did not vary in the training, with their values."""
    try:
        held = {
            str(name): float(value)
            for name, value in dict(metadata.training.get("held", {})).items()
        }
        space.vector(**held)
    except (TypeError, ValueError, GaitParameterError) as error:
        raise ModelFileError(f"{source}: training.held is damaged ({error})") from None
    return held


def phase_inputs(phase: Floats, harmonics: int) -> Floats:
    """Sines and cosines of phases (B,) and of their multiples. Shape (B, 2 harmonics)."""
    angle = 2.0 * np.pi * phase[..., None] * np.arange(1, harmonics + 1)
    both = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return both.reshape(*phase.shape, 2 * harmonics)


def load_gait_network(
    path: str | os.PathLike[str], space: GaitSpace | None = None
) -> GaitNetwork:
    """The network in a model file, for run time.

    Raises:
        ModelFileError: Missing, damaged, or of another parameter list than `space`.
    """
    file = Path(path)
    with open_archive(file) as archive:
        metadata, weights = read_weights(archive, GaitNetMetadata, load)
    metadata.check_space(space, str(file))
    return GaitNetwork(metadata, weights, str(file))
