"""Policies of narrower observations, made as wide as a learner's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ambulo.policies.files.model_file import ModelFile
from ambulo.policies.ppo import FastPPO


def pad_for_new_observations(
    learner: FastPPO, model: ModelFile[Any]
) -> dict[str, Tensor]:
    """The weights of `model` for the observations of `learner`, which may have more parts.

    Weights of parts that the model does not know begin at zero, so that the policy does at
    first what it did; factors and statistics of those parts are the learner's. Parts keep
    their names and may stand elsewhere. Weights are left as they are where a part of the
    model is missing or has another size, or nothing is wider.
    """
    env = learner.get_env()
    assert env is not None
    schema: list[Mapping[str, Any]] = env.get_attr("layout")[0].schema()
    ours = {row["name"]: (row["start"], row["stop"]) for row in schema}
    theirs = {row.name: (row.start, row.stop) for row in model.metadata.observation}
    size = max((stop for _, stop in ours.values()), default=0)
    old = max((stop for _, stop in theirs.values()), default=0)
    columns: list[int] = []
    for name, (start, stop) in theirs.items():
        first, last = ours.get(name, (0, 0))
        if last - first != stop - start:
            return model.weights
        columns += range(first, last)
    own = learner.policy.state_dict()
    return {
        name: _spread(tensor, own[name], columns, old, size) if name in own else tensor
        for name, tensor in model.weights.items()
    }


def _spread(
    theirs: Tensor, own: Tensor, columns: list[int], old: int, size: int
) -> Tensor:
    """`theirs` with its input `columns` where they belong among those of `own`.

    What follows the observation of `old` or `size` numbers, seen by a critic alone, stays
    behind it.
    """
    extra = theirs.shape[-1] - old if theirs.ndim else -1
    fits = (
        old < size
        and theirs.ndim == own.ndim
        and theirs.shape[:-1] == own.shape[:-1]
        and extra >= 0
        and own.shape[-1] - size == extra
    )
    if not fits:
        return theirs
    out = own.detach().cpu().clone() if own.ndim == 1 else torch.zeros(own.shape)
    out = out.to(theirs.dtype)
    out[..., [*columns, *range(size, size + extra)]] = theirs
    return out
