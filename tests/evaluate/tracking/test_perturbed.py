"""Trackers under perturbations and pushes."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.swaying import swaying_reference

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.registry import load_character
from ambulo.envs.simulation.variants import Variant
from ambulo.envs.tasks.track import TrackBatch
from ambulo.evaluate.locomotion.perturbations import (
    Perturbation,
    suite,
    suite_notes,
)
from ambulo.evaluate.tracking.command import evaluated_text
from ambulo.evaluate.tracking.episodes import first_starts, play
from ambulo.evaluate.tracking.perturbed import perturbed, pushes


@pytest.fixture(scope="module")
def batch() -> TrackBatch:
    character = load_character("human23")
    config = LocomotionConfig().override("environment", task="track")
    config = config.override("environment", push_impulse=(1.0, 1.0))
    return TrackBatch(config, swaying_reference(character), character, num_envs=4)


def still(batch: TrackBatch) -> np.ndarray:
    return np.zeros((batch.num_envs, batch.action_size))


def nothing(agent: str, episodes: int) -> None:
    """No progress bar."""


@pytest.mark.integration
def test_every_variant_plays_its_episodes(batch: TrackBatch) -> None:
    light = Perturbation("light", [Variant(mass=0.5), Variant(mass=0.4, delay=0.04)])
    slope = next(
        one for one in suite(["slopes"], batch.config, batch.character) if one.missing
    )
    starts = first_starts(np.array([0, 1]), 2)
    seen: list[int] = []
    found = perturbed(
        batch, {"still": still}, starts, [Perturbation("none"), light, slope], seed=0,
        progress=lambda _, count: seen.append(count),
    )  # fmt: skip
    assert seen == [4, 2, 2]
    plain = play(batch, still, starts, seed=0)
    rows = {name: row["still"] for name, row in found.items()}
    assert rows["none"]["success"].value == plain.success.mean()
    assert rows["light"]["success"].low is not None
    assert rows["light"] != rows["none"]
    assert rows[slope.name]["success"].value is None
    assert "its own place on level ground: no slope" in suite_notes([slope])[0]


@pytest.mark.integration
def test_a_harder_push_fells_more(batch: TrackBatch) -> None:
    starts = first_starts(np.array([0, 1]), 4)
    agents = {"still": still}
    tried = pushes((0.0, 300.0))
    rows = perturbed(batch, agents, starts, tried, seed=0, progress=nothing)
    assert list(rows) == ["0 N s", "300 N s"]
    rates = [row["still"]["success"].value for row in rows.values()]
    assert rates[1] == 0.0
    assert rates[0] == play(batch, still, starts, seed=0).success.mean() > 0.0


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((1, 1, 1), "1 clip, 1 random start and 1 at the first frame"),
        ((3, 8, 4), "3 clips, 8 random starts and 4 at the first frame of each"),
    ],
)
def test_one_clip_is_no_plural(counts: tuple[int, int, int], text: str) -> None:
    assert evaluated_text(*counts) == text
