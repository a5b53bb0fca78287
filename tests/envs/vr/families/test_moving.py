"""Families with people, doors and lifts."""

from __future__ import annotations

from functools import cache

from ambulo.envs.vr.families import generate
from ambulo.envs.vr.families.moving import PEOPLE
from ambulo.envs.vr.levels.level import Level

SEEDS = range(2_000_000, 2_000_030)
FEW = SEEDS[:10]


@cache
def made(family: str, seed: int) -> Level:
    return generate(family, seed)


def test_families_have_what_they_are_called_after() -> None:
    crowds = [made("crowd", seed).people for seed in FEW]
    counts = [people.count for people in crowds if people is not None]
    assert len(counts) == len(FEW)
    assert PEOPLE[0] <= min(counts) < 9
    assert 16 < max(counts) <= PEOPLE[1]
    for seed in FEW[:5]:
        kinds = {mover.kind for mover in made("doors", seed).movers}
        assert "door" in kinds
        lift = made("lifts", seed)
        assert [mover.kind for mover in lift.movers] == ["lift"]
        assert abs(lift.start_height - lift.goal_height) > 2.4
