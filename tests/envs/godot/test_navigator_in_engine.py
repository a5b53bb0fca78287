"""The navigator in the real engine: maps, plans and steering of Python's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.navigator_replay import record, replay
from fixtures.policy_replay import Godot

FAMILIES = ("storeys", "doors", "lifts", "crowd", "furnished", "pits")


@pytest.mark.integration
def test_maps_plans_and_steering_are_those_of_python(
    godot: Godot, tmp_path: Path
) -> None:
    recordings = [record(family, 125) for family in FAMILIES]
    recordings.append(record("rooms", 100, surroundings=False))
    found = replay(godot, recordings, tmp_path)
    for name, recording, (got, heights, bits) in zip(
        [*FAMILIES, "flat"], recordings, found, strict=True
    ):
        want = recording.told
        same = np.isclose(got[:, :-2], want, atol=1e-4).all(axis=1)
        known = (bits != 0) | (recording.bits != 0)
        alike = (bits == recording.bits) & (heights == recording.heights)
        part = alike[known].mean()
        print(name, f"{same.mean():.3f} {part:.4f}")
        assert same.mean() >= 0.98, name
        assert part >= 0.999, name
    # On another thread the plans are the same, and followed a decision later.
    later = replay(godot, recordings[:2], tmp_path, spreads=True)
    for recording, (got, _, bits) in zip(recordings, later, strict=False):
        plans = np.isclose(got[:, :6], recording.told[:, :6], atol=1e-4).all(axis=1)
        assert plans.mean() >= 0.98
        np.testing.assert_array_equal(bits, recording.bits)
