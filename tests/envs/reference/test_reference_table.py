"""Tables of cycles, which repeat, and of clips, which end."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.envs.reference.reference_table import ReferenceTable


def table(*, periodic: bool) -> ReferenceTable:
    rows = np.arange(5.0)[:, None] * np.ones(7)
    return ReferenceTable(
        2.0, np.zeros(3), rows, rows[:, :6], rows[:, :6], periodic=periodic
    )


@pytest.mark.parametrize(
    ("time", "value"), [(-1.0, 0.0), (0.0, 0.0), (0.25, 0.5), (2.0, 4.0), (9.0, 4.0)]
)
def test_a_clip_begins_at_its_first_sample_and_stays_at_its_last(
    time: float, value: float
) -> None:
    for column in table(periodic=False).at(np.array([time])):
        np.testing.assert_allclose(column, value, atol=1e-12)


def test_phases() -> None:
    times = np.array([-1.0, 0.5, 2.0, 2.5])
    np.testing.assert_allclose(
        table(periodic=False).phase(times), [0.0, 0.25, 1.0, 1.0]
    )
    np.testing.assert_allclose(
        table(periodic=True).phase(times), [0.5, 0.25, 0.0, 0.25]
    )
