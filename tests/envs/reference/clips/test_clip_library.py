"""Rows and knots of several clips in one array, and cycles as clips."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.locomotion_runs import standing_reference
from fixtures.swaying import swaying_reference

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.character import Character
from ambulo.envs.reference.clips.clip_library import (
    ClipSampler,
    clip_library,
    named_clips,
)
from ambulo.envs.reference.reference import load_reference


def test_every_knot_is_that_of_its_row(character: Character) -> None:
    gaits = named_clips(swaying_reference(character), character, 5)
    tables = {name: gait.table for name, gait in gaits.items()}
    library = clip_library(tables, character, 5)
    np.testing.assert_array_equal(library.steps, [180, 240])
    np.testing.assert_array_equal(library.knots, [36, 48])
    at = 0
    for clip, table in enumerate(tables.values()):
        for step in range(0, int(library.steps[clip]) + 1, 5):
            rows = np.array([clip]), np.array([step])
            assert library.knot_rows(*rows)[0] == at
            np.testing.assert_array_equal(
                library.qpos[library.rows(*rows)[0]], table.qpos[step]
            )
            at += 1
    assert at == len(library.joints) == len(library.com)
    beyond = library.rows(np.array([0]), np.array([10_000]))
    np.testing.assert_array_equal(library.qpos[beyond[0]], tables["short"].qpos[180])


def test_places_do_not_depend_on_where_the_clip_stands(character: Character) -> None:
    gaits = named_clips(swaying_reference(character), character, 5)
    library = clip_library({n: g.table for n, g in gaits.items()}, character, 5)
    # Both clips begin with the same pose, the second turned.
    np.testing.assert_allclose(library.joints[0], library.joints[37], atol=1e-9)


def test_a_cycle_is_repeated_with_its_feedback(character, tmp_path) -> None:  # type: ignore[no-untyped-def]
    reference = load_reference(standing_reference(tmp_path / "standing.npz"))
    (gait,) = named_clips(reference, character, 5).values()
    assert not gait.table.periodic
    assert gait.table.period == pytest.approx(6.0)
    assert len(gait.table.qpos) == 901
    assert gait.controller is not None
    assert len(gait.controller.gains) == 180


def test_a_clip_of_another_rate_is_named(character: Character) -> None:
    gaits = named_clips(swaying_reference(character), character, 5)
    table = gaits["short"].table
    from dataclasses import replace

    slow = replace(table, period=2.0 * table.period)
    with pytest.raises(ConfigError, match="clip slow: has 75 states a second"):
        clip_library({"slow": slow}, character, 5)


def test_hard_clips_are_drawn_more_often_and_none_is_forgotten() -> None:
    sampler = ClipSampler([(np.arange(4), 0.75), (np.arange(4, 8), 0.25)], 0.5)
    for _ in range(200):
        sampler.note(np.array([0, 1, 2, 3]), np.array([True, False, False, False]))
    uniform = np.random.default_rng(0).random((4000, 3))
    drawn = np.bincount([sampler.draw(row) for row in uniform], minlength=8)
    assert 0.2 < drawn[4:].sum() / 4000 < 0.3
    assert drawn[0] > 2 * drawn[1:4].max()
    assert drawn.min() > 0
