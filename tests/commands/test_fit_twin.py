"""`ambulo fit-twin`: from a walker to the file of its twin."""

from __future__ import annotations

from pathlib import Path

import pytest

from ambulo.commands.fit_twin import main
from ambulo.configs.twin import find_twin


@pytest.mark.slow
def test_the_twin_of_a_walker_answers_as_it_does(tmp_path: Path) -> None:
    file = tmp_path / "twin.json"
    flags = ["--walkers", "8", "--rounds", "2", "--fastest", "1.4"]
    assert main(["locomote", "--out", str(file), *flags]) == 0
    found, shipped = find_twin(str(file)), find_twin("locomote")
    assert found.envelope.speed == (0.6, 1.4)
    assert found.envelope.turn == shipped.envelope.turn
    for name in ("speed", "turn"):
        ours, theirs = getattr(found, name), getattr(shipped, name)
        assert ours.gain == pytest.approx(theirs.gain, abs=0.1)
        late = theirs.delay + theirs.lag
        assert ours.delay + ours.lag == pytest.approx(late, abs=0.25)
    assert found.radius == pytest.approx(shipped.radius, abs=0.08)
