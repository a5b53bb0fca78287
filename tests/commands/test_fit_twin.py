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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["imitate_walk"],
            "walker = imitate_walk: its task, imitate, takes no commands",
        ),
        (["locomot"], "walker = locomot: no such model file"),
        (["locomote", "--fastest", "0"], "--fastest 0: must be over 0 m/s"),
        (["locomote", "--fastest", "nan"], "--fastest nan: must be over 0 m/s"),
        (
            ["locomote", "--fastest", "0.4"],
            "--fastest 0.4: locomote is measured from 0.6 m/s on",
        ),
        (
            ["locomote", "--body", "myolegs"],
            "trained for human23, not for body = myolegs",
        ),
    ],
)
def test_what_is_no_walker_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "twin.json"
    assert main([*arguments, "--out", str(file)]) == 2
    assert message in capsys.readouterr().err
    assert not file.exists()
