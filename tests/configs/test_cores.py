"""Processors of this process, on systems that can tell and on others."""

from __future__ import annotations

import os

import pytest

from ambulo.configs.cores import usable_cores


def test_cores_are_those_of_the_affinity_or_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")  # macOS, Windows
    assert usable_cores() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
