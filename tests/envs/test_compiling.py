from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from fixtures.bodies import WALKING
from numba.core.dispatcher import Dispatcher

from ambulo.envs import compiling
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.vr.geometry.push_kernels import way_out
from ambulo.envs.vr.world.step_kernels import step_bodies


def test_kernels_are_compiled_anew_when_another_file_of_kernels_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for kernel in (way_out, step_bodies):
        locator = kernel._cache._impl.locator
        before = locator.get_source_stamp()
        assert locator.get_source_stamp() == before
        with monkeypatch.context() as patch:
            patch.setattr(compiling, "_checksum", lambda: "another")
            assert locator.get_source_stamp() != before


def variants() -> set[tuple[str, str]]:
    """Kernel and types of arguments of all that is compiled."""
    return {
        (f"{module.__name__}.{name}", str(signature))
        for module in list(sys.modules.values())
        if (getattr(module, "__name__", None) or "").startswith("ambulo.")
        for name, kernel in vars(module).items()
        if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }


@pytest.mark.parametrize("task", WALKING)
def test_one_body_and_several_share_their_kernels(
    make: Callable[..., LocomotionBatch], task: str
) -> None:
    """Columns of one row are contiguous, those of several are not."""
    found = []
    for count in (1, 2):
        batch = make(task, count, turn=(20.0, 20.0), straight=0.0)
        for _ in range(2):
            batch.step(np.zeros((count, batch.action_size)))
        batch.reset(np.arange(count))
        found.append(variants())
    known = {kernel for kernel, _ in found[0]}
    assert [one for one in found[1] - found[0] if one[0] in known] == []
