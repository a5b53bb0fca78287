from __future__ import annotations

import pytest

from ambulo.envs import compiling
from ambulo.envs.vr.geometry.prism_kernels import way_out
from ambulo.envs.vr.world.height_kernels import step_heights


def test_kernels_are_compiled_anew_when_another_file_of_kernels_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for kernel in (way_out, step_heights):
        locator = kernel._cache._impl.locator
        before = locator.get_source_stamp()
        assert locator.get_source_stamp() == before
        with monkeypatch.context() as patch:
            patch.setattr(compiling, "_checksum", lambda: "another")
            assert locator.get_source_stamp() != before
