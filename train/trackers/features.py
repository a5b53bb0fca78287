"""Inputs and true outputs of body trackers in torch, for whole batches; the batch comes last.

The run time computes the same input (`ambulo.ik.trackers.features`); a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ambulo.ik.trackers.layout import (
    FORGET,
    HEAD_ROW,
    STEP,
    TICK,
)
from ambulo.ik.trackers.sizes import (
    INPUTS,
    WIDTH,
)


@dataclass
class TrackerTicks:
    """Samples of the trackers at T network steps of B sequences; R = 6 trackers."""

    positions: Tensor
    """In the world; of lost ones the last, [m]. Shape (T, R, 3, B)."""
    rotations: Tensor
    """As matrices. Shape (T, R, 3, 3, B)."""
    present: Tensor
    """1 where it is seen now. Shape (T, R, B)."""
    ages: Tensor
    """Time since it was last seen; `FORGET` and more: unknown, [s]. Shape (T, R, B)."""
    intervals: Tensor
    """Time since the last network step, [s]. Shape (T, B)."""
    ratios: Tensor
    """Proportions that the network is given: trunk, arm, leg. Shape (3, B)."""

    def __getitem__(self, rows: slice) -> TrackerTicks:
        """Some of the steps."""
        return TrackerTicks(
            self.positions[rows], self.rotations[rows], self.present[rows],
            self.ages[rows], self.intervals[rows], self.ratios,
        )  # fmt: skip


def scale_of(ratios: Tensor) -> Tensor:
    """Standing height over human23's, of ratios (3, ...). Shape (...)."""
    return 0.53 * ratios[2] + 0.47 * ratios[0]


def head_frames(ticks: TrackerTicks) -> tuple[Tensor, Tensor]:
    """Origin (T, 3, B), [m], and yaw as cosine and sine (T, 2, B), of the head's frames."""
    head, turn = ticks.positions[:, HEAD_ROW], ticks.rotations[:, HEAD_ROW]
    origin = torch.cat([head[:, :2], torch.zeros_like(head[:, :1])], dim=1)
    cosine = turn[:, 0, 0] + turn[:, 1, 1]
    sine = turn[:, 1, 0] - turn[:, 0, 1]
    size = torch.sqrt(cosine * cosine + sine * sine).clamp(min=1e-6)
    return origin, torch.stack([cosine / size, sine / size], dim=1)


def unyaw(yaw: Tensor, vectors: Tensor) -> Tensor:
    """Turn vectors (..., 3, B) by minus the yaw, `yaw` (..., 2, B) broadcast."""
    c, s = yaw[..., 0, :], yaw[..., 1, :]
    x, y, z = vectors.unbind(-2)
    return torch.stack([c * x + s * y, c * y - s * x, z], dim=-2)


def reyaw(yaw: Tensor, vectors: Tensor) -> Tensor:
    """The inverse of `unyaw`."""
    return unyaw(torch.stack([yaw[..., 0, :], -yaw[..., 1, :]], dim=-2), vectors)


def unyaw_matrices(yaw: Tensor, matrices: Tensor) -> Tensor:
    """Turn orientations (..., 3, 3, B) by minus the yaw, `yaw` (..., 2, B) broadcast."""
    columns = [unyaw(yaw, matrices[..., i, :]) for i in range(3)]
    return torch.stack(columns, dim=-2)


def reyaw_matrices(yaw: Tensor, matrices: Tensor) -> Tensor:
    """The inverse of `unyaw_matrices`."""
    columns = [reyaw(yaw, matrices[..., i, :]) for i in range(3)]
    return torch.stack(columns, dim=-2)


def network_inputs(ticks: TrackerTicks, first: bool) -> Tensor:
    """The input (T, B, 106) of the network.

    Args:
        ticks: The trackers; velocities need the step before, so that without `first` the
            result has one step less.
        first: Whether nothing is before the first step: its velocities are 0.
    """
    positions, rotations, present = ticks.positions, ticks.rotations, ticks.present
    interval = ticks.intervals[:, None, None]
    before_p = torch.cat([positions[:1], positions[:-1]])
    before_r = torch.cat([rotations[:1], rotations[:-1]])
    velocity = (positions - before_p) / interval
    spin = _spin(before_r, rotations) / interval
    moving = (present * torch.cat([present[:1], present[:-1]]))[:, :, None]
    origin, yaw = head_frames(ticks)
    turn = yaw[:, None]
    scale = scale_of(ticks.ratios)
    known = (ticks.ages < FORGET).to(positions.dtype)[:, :, None]
    columns = [
        known * unyaw(turn, positions - origin[:, None]) / scale,
        known * _sixd(unyaw_matrices(turn, rotations)),
        moving * unyaw(turn, velocity) / scale,
        moving * unyaw(turn, spin),
        present[:, :, None],
        (ticks.ages / FORGET).clamp(max=1.0)[:, :, None],
    ]
    trackers = torch.cat(columns, dim=2)
    steps, rows, width, batch = trackers.shape
    assert width == WIDTH
    shape = torch.log(ticks.ratios / scale).expand(steps, 3, batch)
    inputs = torch.cat(
        [trackers.reshape(steps, rows * width, batch), shape, interval[:, 0] / TICK],
        dim=1,
    )
    assert inputs.shape[1] == INPUTS == STEP + 1
    result = inputs.transpose(1, 2)
    return result if first else result[1:]


def _spin(before: Tensor, now: Tensor) -> Tensor:
    """Rotation vectors of small turns in the world from (..., 3, 3, B) to (..., 3, 3, B).

    The sine's part: half of the skew part of now before^T, exact to second order.
    """
    m = (now[..., :, None, :, :] * before[..., None, :, :, :]).sum(-2)
    return 0.5 * torch.stack(
        [
            m[..., 2, 1, :] - m[..., 1, 2, :],
            m[..., 0, 2, :] - m[..., 2, 0, :],
            m[..., 1, 0, :] - m[..., 0, 1, :],
        ],
        dim=-2,
    )


def _sixd(matrices: Tensor) -> Tensor:
    """The first two rows of rotations (..., 3, 3, B) as (..., 6, B)."""
    return torch.cat([matrices[..., 0, :, :], matrices[..., 1, :, :]], dim=-2)
