"""Films show what moves by itself where it was in the episode."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.geometry.solid_kernels import BOX, PERSON
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.world.compiled_world import CompiledWorld
from ambulo.envs.vr.world.moving import between_rows
from ambulo.envs.vr.world.render import EpisodeRenderer
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate
from ambulo.evaluate.vr.films import film_frames
from ambulo.evaluate.vr.reel import make_reel
from ambulo.evaluate.vr.subjects import planner_subject


@pytest.mark.integration
@pytest.mark.parametrize("family", ["crowd", "doors"])
def test_what_moved_is_computed_again(family, monkeypatch):
    """Rows of a replay are those of the episode itself, at all steps."""
    config = NavigationConfig().override(
        "environment", max_episode_steps=40, world="compiled"
    )
    seen: list[np.ndarray] = []
    reset, step = CompiledWorld.reset, CompiledWorld.step

    def kept(act):
        def acted(self, *args):
            result = act(self, *args)
            seen.append(self.moving.rows(0).copy())
            return result

        return acted

    monkeypatch.setattr(CompiledWorld, "reset", kept(reset))
    monkeypatch.setattr(CompiledWorld, "step", kept(step))
    subjects = {"oracle": planner_subject("oracle", config)}
    source = LevelSource(config, level_set=family)
    played = evaluate(subjects, source, 2, num_envs=1)
    first = played["oracle"].episodes[0]
    trace = first.trace
    assert trace.moving is not None
    rows = trace.moving.rows(first.level, trace.position, trace.velocity)
    assert len(rows) == len(trace.yaw)
    assert rows.shape[1] > 0
    assert np.abs(rows[-1, :, :2] - rows[0, :, :2]).max() > 0.2
    np.testing.assert_array_equal(rows, np.array(seen[: len(rows)]))
    reel = make_reel(first, None, ("top",), 10.0)
    np.testing.assert_allclose(reel.moving[: len(rows)], rows, atol=1e-9)


@pytest.mark.integration
def test_films_show_what_the_navigator_plans_and_remembers(gl: None):
    """Its path leads from the body to the goal, over the lift; closed columns are walls."""
    config = NavigationConfig()
    subjects = {"planner": planner_subject("planner", config)}
    source = LevelSource(config, level_set="lifts", seed=3, split="validation")
    episode = evaluate(subjects, source, 1, plans=True)["planner"].episodes[0]
    trace, goal = episode.trace, episode.level.goal_place
    plans = trace.plans
    assert plans is not None
    assert len(plans.paths) == len(plans.blocked) == len(trace.yaw)
    last = plans.paths[-1]
    assert np.linalg.norm(last[-1] - goal) < config.environment.goal_radius
    for path, place in zip(plans.paths[1:], trace.position[1:], strict=True):
        assert np.linalg.norm(path[:, :2] - place[:2], axis=1).min() < 2.5
    reel = make_reel(episode, None, ("top",), 2.0)
    bare = dataclasses.replace(reel, plans=None)
    shown, plain = (
        next(film_frames(one, config, ("mujoco",))).astype(int) for one in (reel, bare)
    )
    red, _, blue = np.moveaxis(shown - plain, -1, 0)
    assert (blue - red > 60).sum() > 20
    assert (red - blue > 60).sum() > 20


def test_things_turn_between_steps():
    rows = np.zeros((2, 1, 9))
    rows[:, 0, 4:6] = [[1, 0], [0, 1]]
    rows[:, 0, 0] = [0, 2]
    middle = between_rows(rows, np.array([0.5, 1.0]))
    np.testing.assert_allclose(middle[0, 0, [0, 4, 5]], [1, 0.5**0.5, 0.5**0.5])
    np.testing.assert_allclose(middle[1], rows[1])


@pytest.mark.integration
def test_things_and_people_are_in_the_picture(gl: None):
    level = Level("x", np.array([-4.0, -4.0, 4.0, 4.0]), heights=True)
    rows = np.array(
        [
            [2.0, 2, 1, 0.2, 1, 0, 0, 2, BOX],
            [-2.0, -2, 0.25, 0.25, 1, 0, 0, 1.75, PERSON],
        ]
    )
    with EpisodeRenderer(level, 160, 160) as renderer:
        here = np.zeros(3)
        empty = renderer.frame(here, 0.0, camera="top").astype(int)
        both = renderer.frame(here, 0.0, camera="top", moving=rows).astype(int)
    changed = np.abs(both - empty).max(axis=2) > 60
    quarters = [changed[:80, 80:], changed[80:, :80], changed[:80, :80]]
    thing, person, nothing = (int(part.sum()) for part in quarters)
    assert thing > 200
    assert person > 20
    assert nothing == 0


def test_levels_in_which_something_moves_are_known_before_the_first_episode():
    config = NavigationConfig()
    assert LevelSource(config, level_set="open,doors").moving_level(2) == (
        LevelSource(config, level_set="doors").level(0).name
    )
    assert LevelSource(config, level_set="open").moving_level(3) is None
