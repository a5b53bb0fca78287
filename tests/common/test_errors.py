"""Errors of commands: one line and exit code 2, whichever library ran out of memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ambulo.common.errors import cli_entry_point


def too_large_for_numpy() -> None:
    np.zeros((2**62, 8))


def too_many_for_numpy() -> None:
    np.zeros(2**63)


def too_large_for_memory() -> None:
    np.zeros(2**56)


def too_large_for_torch() -> None:
    torch.empty(2**56)


@pytest.mark.parametrize(
    "ask",
    [
        too_large_for_numpy,
        too_many_for_numpy,
        too_large_for_memory,
        too_large_for_torch,
    ],
)
def test_arrays_that_no_memory_holds_are_one_line(
    ask: object, capsys: pytest.CaptureFixture[str]
) -> None:
    @cli_entry_point
    def main(argv: object) -> int:
        ask()  # type: ignore[operator]
        return 0

    assert main([]) == 2
    text = capsys.readouterr().err
    assert text.startswith("ambulo: error: out of memory (")
    assert text.count("\n") == 1


def test_other_errors_keep_their_traceback() -> None:
    @cli_entry_point
    def main(argv: object) -> int:
        raise ValueError("a fault of ours")

    with pytest.raises(ValueError, match="a fault of ours"):
        main([])
