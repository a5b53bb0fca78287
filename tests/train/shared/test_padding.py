"""Policies of narrower observations keep what they do when an observation grows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ambulo.envs.layout import ObservationLayout, Part
from ambulo.train.shared.padding import pad_for_new_observations


def layout(*names: str, **sizes: int) -> ObservationLayout:
    parts = [Part(name, sizes.get(name, 2), "1", name) for name in names]
    return ObservationLayout(tuple(parts))


def learner_with(shape: ObservationLayout, own: dict[str, torch.Tensor]) -> Any:
    env = SimpleNamespace(get_attr=lambda _: [shape])
    policy = SimpleNamespace(state_dict=lambda: own)
    return SimpleNamespace(get_env=lambda: env, policy=policy)


def model_with(shape: ObservationLayout, weights: dict[str, torch.Tensor]) -> Any:
    rows = [SimpleNamespace(**row) for row in shape.schema()]
    return SimpleNamespace(metadata=SimpleNamespace(observation=rows), weights=weights)


@pytest.mark.parametrize("names", [("a", "b", "new"), ("new", "b", "a")])
def test_outputs_stay_the_same_wherever_the_parts_are(names: tuple[str, ...]) -> None:
    """Of an actor that sees 4 numbers and a critic that sees one more."""
    torch.manual_seed(0)
    before, after = layout("a", "b"), layout(*names, new=3)
    theirs = {
        "actor": torch.randn(6, 4), "critic": torch.randn(6, 5),
        "hidden": torch.randn(6, 6), "scales": torch.rand(5), "bias": torch.randn(6),
    }  # fmt: skip
    own = {
        "actor": torch.randn(6, 7), "critic": torch.randn(6, 8),
        "hidden": torch.randn(6, 6), "scales": torch.full((8,), 9.0),
        "bias": torch.randn(6),
    }  # fmt: skip
    found = pad_for_new_observations(
        learner_with(after, own), model_with(before, theirs)
    )
    assert {k: v.shape for k, v in found.items()} == {
        k: v.shape for k, v in own.items()
    }
    where = after.slices()
    values = {"a": torch.randn(2), "b": torch.randn(2), "new": torch.randn(3)}
    given = torch.cat([values["a"], values["b"]])
    grown = torch.zeros(7)
    for name, value in values.items():
        grown[where[name]] = value
    extra = torch.randn(1)
    torch.testing.assert_close(found["actor"] @ grown, theirs["actor"] @ given)
    torch.testing.assert_close(
        found["critic"] @ torch.cat([grown, extra]),
        theirs["critic"] @ torch.cat([given, extra]),
    )
    torch.testing.assert_close(found["scales"][where["new"]], torch.full((3,), 9.0))
    torch.testing.assert_close(found["scales"][where["b"]], theirs["scales"][2:4])
    for name in ("hidden", "bias"):
        assert found[name] is theirs[name]


@pytest.mark.parametrize(
    "other", [layout("a"), layout("a", "c", "d"), layout("a", "b", "c", b=3)]
)
def test_weights_are_left_alone_where_a_part_is_gone_or_resized(
    other: ObservationLayout,
) -> None:
    weights = {"actor": torch.randn(6, 4)}
    own = {"actor": torch.randn(6, other.size)}
    model = model_with(layout("a", "b"), weights)
    found = pad_for_new_observations(learner_with(other, own), model)
    assert found["actor"] is weights["actor"]
