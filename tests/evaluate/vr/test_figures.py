from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.levels.level import Level
from ambulo.evaluate.vr import figures
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.subjects import planner_subject
from ambulo.viz.map_heights import are_covered


@pytest.fixture
def drawn(monkeypatch):
    """The figure that was drawn last, in a list."""
    kept = []
    monkeypatch.setattr(figures, "png_of", lambda figure: kept.append(figure) or b"")
    return kept


def floors(*ratios: float) -> list[np.ndarray]:
    return [np.array([0.0, 0.0, 10.0 * ratio, 10.0]) for ratio in ratios]


@pytest.mark.parametrize(
    "ratios", [(1.0,), (0.3, 1.0), (1.0, 0.33, 2.0), (1.0, 0.8, 1.1, 0.4), (1.0,) * 9]
)
def test_rows_of_maps_are_full(ratios):
    boxes, width, height = figures.map_layout(floors(*ratios))
    rows = {}
    for left, bottom, wide, high in boxes:
        assert left > 0.3
        assert bottom > 0.2
        assert left + wide <= width + 1e-9
        assert bottom + high < height
        rows.setdefault(round(bottom, 6), []).append((left, wide, high))
    assert len(boxes) % len(next(iter(rows.values()))) == 0  # no room without a map
    for row in rows.values():
        assert len({high for _, _, high in row}) == 1
        gaps = [b[0] - a[0] - a[1] for a, b in pairwise(row)]
        np.testing.assert_allclose(gaps, 0.6, atol=1e-9)


def test_legends_name_all_that_is_drawn(drawn):
    config = NavigationConfig().override("environment", max_episode_steps=5)
    names = ["stand", "straight"]
    subjects = {name: planner_subject(name, config) for name in names}
    played = evaluate(subjects, LevelSource(config, level_set="open,pits"), 2)
    figures.draw_trajectories(played, [0, 1], 1.0)
    figures.draw_trajectories(played, [0], 1.0)
    labels = [
        [text.get_text() for text in figure.legends[0].get_texts()] for figure in drawn
    ]
    assert labels[0] == [*names, "start", "goal", "not solved", "hole"]
    assert labels[1] == labels[0][:-1]
    for figure in drawn:
        figure.canvas.draw()
        legend = figure.legends[0].get_window_extent()
        maps = max(ax.get_tightbbox().ymax for ax in figure.axes)
        assert legend.xmin >= 0
        assert legend.xmax <= figure.bbox.xmax
        assert legend.ymin >= maps


def test_bars_of_nothing_are_noughts(drawn):
    config = NavigationConfig().override("environment", max_episode_steps=5)
    subjects = {"stand": planner_subject("stand", config)}
    played = evaluate(subjects, LevelSource(config, level_set="open,pits"), 2)
    stood = played["stand"]
    solved = dataclasses.replace(stood.episodes[0], success=True, path=1e3)
    halved = dataclasses.replace(stood, episodes=(solved, stood.episodes[1]))
    figures.draw_families({"stand": halved})
    texts = [[t.get_text() for t in ax.texts] for ax in drawn[0].axes]
    assert texts == [["", "0"], ["", "0"]]


def test_paths_under_a_floor_are_dotted_and_heights_are_told(drawn):
    config = NavigationConfig().override("environment", max_episode_steps=5)
    played = evaluate(
        {"stand": planner_subject("stand", config)},
        LevelSource(config, level_set="storeys"), 1,
    )  # fmt: skip
    [record] = played["stand"].episodes
    [slab] = [[2.0, 0.0, 2.9, 2.0, 3.0, 0.1, 0.0]]
    level = Level(
        "slab", np.array([-6.0, -4.0, 6.0, 4.0]), boxes=np.array([slab]), heights=True,
        start=np.array([-4.0, 0.0, 0.0]), goal=np.array([3.0, 0.0]), goal_height=3.0,
    )  # fmt: skip
    x = np.linspace(-4.0, 3.0, 29)
    below, above = (np.column_stack([x, 0 * x, z + 0 * x]) for z in (0.0, 3.0))
    assert are_covered(level, below).tolist() == (x >= 0).tolist()
    assert not are_covered(level, above).any()
    unknown = dataclasses.replace(level, boxes=level.boxes[:0], ground=False)
    assert not are_covered(unknown, below).any()  # a scene that only its game knows
    trace = dataclasses.replace(record.trace, position=below)
    walked = dataclasses.replace(record, level=level, trace=trace, success=False)
    shown = dataclasses.replace(played["stand"], episodes=[walked])
    figures.draw_trajectories({"stand": shown}, [0], 1.0)
    [ax] = drawn[0].axes
    dotted, solid = (
        next(
            line
            for line in ax.lines
            if line.get_ls() == ls and len(line.get_xdata()) == 29
        )
        for ls in (":", "-")
    )
    assert np.nanmin(dotted.get_xdata()) == 0
    assert np.nanmax(solid.get_xdata()) <= 0.25
    told = [text.get_text() for text in ax.texts if text.get_text().endswith(" m")]
    assert sorted(told) == ["0.0 m", "0.0 m", "3.0 m"]
