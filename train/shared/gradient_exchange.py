"""Several learners that take every gradient step together, by torch.distributed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from datetime import timedelta

import torch
from torch import Tensor, distributed

from ambulo.configs.errors import AmbuloError

PATIENCE = 600.0
"""How long a learner waits for the others, [s]."""


class ExchangeError(AmbuloError):
    """Another learner of the group is gone."""


class GradientGroup:
    """A group of learners with equal weights; `average` keeps them equal.

    Every learner must call the same methods in the same order. Backend: gloo.
    """

    def __init__(self, rank: int, size: int, address: str) -> None:
        """Meet the others at `address` (HOST:PORT), where rank 0 listens."""
        if address.startswith("127."):
            os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        self.size = size
        try:
            distributed.init_process_group(
                "gloo",
                init_method=f"tcp://{address}",
                rank=rank,
                world_size=size,
                timeout=timedelta(seconds=PATIENCE),
            )
        except (RuntimeError, ValueError) as error:
            raise ExchangeError(
                f"the learners did not meet at {address}: {error}"
            ) from None

    def average(self, parameters: Iterable[Tensor]) -> None:
        """Replace the gradients of `parameters` by their means over the group."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        self._sum(flat)
        flat /= self.size
        at = 0
        for gradient in gradients:
            count = gradient.numel()
            gradient.copy_(flat[at : at + count].view_as(gradient))
            at += count

    def mean(self, value: float) -> float:
        """Return the mean of a number over the group."""
        total = torch.tensor([value], dtype=torch.float64)
        self._sum(total)
        return float(total.item()) / self.size

    def gathered(self, rows: Tensor) -> Tensor:
        """Return the `rows` (N, ...) of all learners, in order of rank; N is the same."""
        parts = [torch.empty_like(rows) for _ in range(self.size)]
        try:
            distributed.all_gather(parts, rows)
        except RuntimeError as error:
            raise ExchangeError(f"a learner of the group is gone: {error}") from None
        return torch.cat(parts)

    def close(self) -> None:
        """Leave the group."""
        distributed.destroy_process_group()

    def _sum(self, tensor: Tensor) -> None:
        try:
            distributed.all_reduce(tensor)
        except RuntimeError as error:
            raise ExchangeError(f"a learner of the group is gone: {error}") from None


def free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])
