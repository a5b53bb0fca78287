"""The streamed rig: its sizes, chains and rules."""

from __future__ import annotations

from typing import Any

import pytest

from ambulo.rig_server.layout import (
    LEGS,
    RigError,
    RigLayout,
    layout_from_json,
    legs_named,
)


def test_published_legs_have_63_floats_in_and_24_out() -> None:
    assert (LEGS.frame_size, LEGS.output_size) == (63, 24)
    assert LEGS.chains.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_an_effector_without_two_bones_of_its_own_has_no_chain() -> None:
    rig = RigLayout("x", ("root", "a", "b", "c", "d"), (-1, 0, 1, 2, 2), (3, 4, 1))
    assert rig.chains.tolist() == [[1, 2, 3], [-1, -1, -1], [-1, -1, -1]]
    assert (rig.frame_size, rig.output_size) == (7 * 8, 16)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"bones": ("a",), "parents": (-1,)}, "2 to 256"),
        ({"bones": ("a", "a", "c")}, "same name"),
        ({"bones": ("a", "", "c")}, "name"),
        ({"parents": (-1, 2, 0)}, "before"),
        ({"parents": (0, 0, 1)}, "-1 for the first"),
        ({"effectors": ()}, "at least one"),
        ({"effectors": (0,)}, "other than the root"),
        ({"effectors": (2, 2)}, "same bone"),
        ({"scale": float("nan")}, "metres"),
        ({"scale": 0.0}, "metres"),
        ({"name": "x" * 300}, "name"),
    ],
)
def test_rules(change: dict[str, Any], rule: str) -> None:
    good: dict[str, Any] = {
        "name": "n", "bones": ("a", "b", "c"), "parents": (-1, 0, 1), "effectors": (2,),
    }  # fmt: skip
    RigLayout(**good)
    with pytest.raises(RigError, match=rule):
        RigLayout(**(good | change))


def test_json_there_and_back() -> None:
    assert layout_from_json(LEGS.to_json()) == LEGS
    for broken in ({}, [], None, {**LEGS.to_json(), "parents": 3}):
        with pytest.raises(RigError):
            layout_from_json(broken)


def test_names_make_different_characters_of_the_same_rig() -> None:
    one, other = legs_named(["pelvis", "thigh_r"]), legs_named(["hips", "thigh_r"])
    assert one.name != other.name
    assert one.fingerprint == other.fingerprint == LEGS.fingerprint
    assert one.same_rig(other)
