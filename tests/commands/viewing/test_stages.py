"""Stages of shipped models: they step, and what is controlled changes what is shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ambulo.commands.viewing.flags import PlayFlags
from ambulo.commands.viewing.kinds import STAGES, open_stage
from ambulo.configs.errors import ModelFileError
from ambulo.viz.viewer.ik_stage import IKStage
from ambulo.viz.viewer.motion_stage import GaitStage
from ambulo.viz.viewer.navigation_stage import NavigationStage
from ambulo.viz.viewer.pull import MOST_FORCE
from ambulo.viz.viewer.snapshot import Instances, Lines, Snapshot
from ambulo.viz.viewer.stage import Click, Drag, Press, Slider, Stage, Switch
from ambulo.viz.viewer.tracker_stage import TrackerStage
from ambulo.viz.viewer.walker_stage import WalkerStage


def run(stage: Stage, steps: int) -> Snapshot:
    snapshot = stage.step()
    for _ in range(steps - 1):
        snapshot = stage.step()
    return snapshot


def slider(stage: Stage, label: str) -> Slider:
    found = [c for group in stage.controls().values() for c in group]
    return next(c for c in found if isinstance(c, Slider) and c.label == label)


@pytest.fixture(scope="module")
def imitate() -> WalkerStage:
    stage = open_stage(PlayFlags(model="imitate_walk", bodies=2))
    assert isinstance(stage, WalkerStage)
    return stage


@pytest.mark.integration
def test_snapshots_hold_all_layers_and_all_plots(imitate: WalkerStage) -> None:
    first = imitate.reset()
    assert first.parts.keys() == imitate.layers.keys()
    snapshot = run(imitate, 30)
    wanted = {f"{plot.name}/{s}" for plot in imitate.plots() for s in plot.series}
    assert wanted <= snapshot.values.keys()
    terms = [v for n, v in snapshot.values.items() if n.startswith("reward/")]
    total = snapshot.values["reward/total"]
    assert sum(terms) - total == pytest.approx(total, abs=1e-6)
    assert snapshot.time == pytest.approx(1.0)
    # Both walk, and someone's foot bears weight.
    assert snapshot.centre[0] - first.centre[0] > 0.5
    assert snapshot.values["contact/left"] + snapshot.values["contact/right"] > 100.0


@pytest.mark.integration
def test_ghost_walks_with_the_body(imitate: WalkerStage) -> None:
    imitate.reset()
    parts = run(imitate, 30).parts
    body, ghost = parts["body/spheres"], parts["ghost/spheres"]
    assert isinstance(body, Instances)
    assert isinstance(ghost, Instances)
    away = np.linalg.norm(body.positions - ghost.positions, axis=1)
    assert away.max() < 0.25


@pytest.mark.integration
def test_push_moves_the_pushed_body_alone(imitate: WalkerStage) -> None:
    def places(pushed: bool) -> np.ndarray:
        imitate._seed = 7  # the same starts twice
        imitate.reset()
        if pushed:
            imitate.push(1, 0, np.array([0.0, 25.0, 0.0]))
        run(imitate, 12)
        return imitate.batch.simulation.qpos[:, :2].copy()

    moved = places(True) - places(False)
    assert np.abs(moved[0]).max() == 0.0
    assert moved[1, 1] > 0.02


@pytest.mark.integration
def test_mass_changes_what_the_feet_bear(imitate: WalkerStage) -> None:
    def mean_force(factor: float) -> float:
        slider(imitate, "Mass, factor").change(factor)
        imitate._seed = 3
        imitate.reset()
        forces = []
        for _ in range(60):
            values = imitate.step().values
            forces.append(values["contact/left"] + values["contact/right"])
        return float(np.mean(forces))

    light, heavy = mean_force(0.9), mean_force(1.1)
    slider(imitate, "Mass, factor").change(1.0)
    assert heavy > 1.1 * light


@pytest.mark.integration
def test_a_drag_pulls_a_body_until_it_is_let_go(imitate: WalkerStage) -> None:
    eye = np.array([0.0, -5.0, 1.0])

    def places(pulled: bool) -> np.ndarray:
        imitate._seed = 7
        spheres = imitate.reset().parts["body/spheres"]
        assert isinstance(spheres, Instances)
        last = len(spheres.positions) - 1
        held = spheres.positions[last]
        way = np.array([0.0, 0.4, 0.0])
        if pulled:
            imitate.drag(Drag("body/spheres", last, held, held + way, eye))
            line = run(imitate, 6).parts["pull/line"]
            assert isinstance(line, Lines)
            np.testing.assert_allclose(line.points[0, 1] - line.points[0, 0], way)
            imitate.let_go()
            line = run(imitate, 2).parts["pull/line"]
            assert isinstance(line, Lines)
            assert np.ptp(line.points, axis=1).max() == 0.0
            assert not np.any(imitate._members[0].push)
        else:
            run(imitate, 8)
        return imitate.batch.simulation.qpos[:, :2].copy()

    moved = places(True) - places(False)
    assert moved[1, 1] > 0.02
    assert np.abs(moved[0]).max() == 0.0


@pytest.mark.integration
def test_a_long_drag_pulls_no_stronger_than_the_most(imitate: WalkerStage) -> None:
    imitate.reset()
    far = np.array([30.0, 0.0, 0.0])
    imitate.drag(Drag("body/spheres", 0, np.zeros(3), far, np.zeros(3)))
    np.testing.assert_allclose(imitate._pull.force(), [MOST_FORCE, 0.0, 0.0])
    imitate.drag(Drag("ghost/spheres", 0, np.zeros(3), -far, np.zeros(3)))
    np.testing.assert_allclose(imitate._pull.force(), [MOST_FORCE, 0.0, 0.0])
    imitate.let_go()
    imitate.let_go()


@pytest.mark.integration
def test_a_click_pushes_away_from_the_camera(imitate: WalkerStage) -> None:
    snapshot = imitate.reset()
    spheres = snapshot.parts["body/spheres"]
    assert isinstance(spheres, Instances)
    last = len(spheres.positions) - 1
    down = np.array([0.0, 0.6, -0.8])
    imitate.click(Click("body/spheres", last, down, 10.0))
    _, body = imitate.body_of("body/spheres", last) or (-1, -1)
    member, row = imitate._member(1)
    np.testing.assert_allclose(member.push[row, body, :3], [0.0, 100.0, 0.0])
    run(imitate, 5)
    imitate.click(Click("body/spheres", last, np.array([0.0, 0.0, -1.0]), 10.0))
    assert not np.any(member.push)


@pytest.mark.integration
def test_a_click_names_the_body(imitate: WalkerStage) -> None:
    snapshot = imitate.reset()
    spheres = snapshot.parts["body/spheres"]
    assert isinstance(spheres, Instances)
    last = len(spheres.positions) - 1
    copy, body = imitate.body_of("body/spheres", last) or (-1, -1)
    assert copy == 1
    assert body > 0
    assert imitate.body_of("ghost/spheres", 0) is None


def test_gait_parameters_change_the_gait() -> None:
    stage = open_stage(PlayFlags(model="gait_net"))
    assert isinstance(stage, GaitStage)

    def speed() -> float:
        a, b = stage.reset(), run(stage, 120)
        return float(b.centre[0] - a.centre[0]) / (120 * stage.dt)

    usual = speed()
    stride = slider(stage, "stride")
    stride.change(stride.low)
    assert speed() < 0.9 * usual


@pytest.mark.integration
def test_film_of_a_gait(tmp_path: Path) -> None:
    stage = open_stage(PlayFlags(model="gait_net"))
    stage.reset()
    write = stage.film()
    assert write is not None
    write(tmp_path / "gait.mp4")
    assert (tmp_path / "gait.mp4").stat().st_size > 10_000


def test_dragged_targets_are_met() -> None:
    stage = open_stage(PlayFlags(model="ik_net"))
    assert isinstance(stage, IKStage)
    stage.reset()
    hand = next(g for g in stage.gizmos() if g.name == "handle_LeftHand")
    wanted = hand.place() + np.array([0.1, 0.05, 0.2])
    hand.move(wanted)
    values = stage.step().values
    assert values["miss/LeftHand"] < 2.0
    np.testing.assert_allclose(hand.place(), wanted)
    hand.move(np.array([5.0, 0.0, 1.0]))  # out of reach
    assert stage.step().values["miss/LeftHand"] > 1000.0
    off = [
        c for group in stage.controls().values() for c in group if c.label == "LeftHand"
    ]
    assert isinstance(off[0], Switch)
    off[0].change(False)
    assert stage.step().values["miss/LeftHand"] == 0.0


@pytest.mark.integration
def test_tracked_body_stays_near_the_true_one() -> None:
    stage = open_stage(PlayFlags(model="ik_trackers"))
    assert isinstance(stage, TrackerStage)
    stage.reset()
    errors = [stage.step().values["error/mean"] for _ in range(150)]
    assert np.mean(errors[60:]) < 12.0


@pytest.fixture(scope="module")
def navigator() -> NavigationStage:
    stage = open_stage(PlayFlags(model="vr_navigation", levels="offices"))
    assert isinstance(stage, NavigationStage)
    return stage


@pytest.mark.integration
def test_navigator_sees_and_remembers(navigator: NavigationStage) -> None:
    navigator.reset()
    snapshot = run(navigator, 10)
    rays = snapshot.parts["rays/lines"]
    assert isinstance(rays, Lines)
    lengths = np.linalg.norm(rays.points[:, 1] - rays.points[:, 0], axis=1)
    readings = navigator.batch.world.state.rays[0]
    np.testing.assert_allclose(lengths, readings, atol=1e-9)
    cells = snapshot.parts["remembered/cells"]
    assert isinstance(cells, Instances)
    seen = cells.positions[cells.positions[:, 2] > -1.0]
    assert len(seen) > 0
    # What a ray hits now is remembered there, to within a cell.
    hits = rays.points[readings < navigator.batch.spec.ray_length - 1e-6, 1, :2]
    near = np.linalg.norm(seen[None, :, :2] - hits[:, None], axis=2).min(axis=1)
    assert np.median(near) < 0.3


@pytest.mark.integration
def test_a_moved_goal_is_the_agents_goal(navigator: NavigationStage) -> None:
    navigator.reset()
    batch = navigator.batch
    place = batch.world.state.position[0].copy()
    handle = navigator.gizmos()[0]
    shift = np.array([0.1, 0.0, 0.0])
    handle.move(place + shift)
    np.testing.assert_allclose(batch.task.goal[0, :2], (place + shift)[:2])
    assert batch.episode.distance[0] < 1.0
    # It stands in its goal: the next step ends the episode.
    assert navigator.step().cut


@pytest.mark.integration
def test_a_goal_in_a_wall_stays(navigator: NavigationStage) -> None:
    navigator.reset()
    before = navigator.batch.task.goal[0].copy()
    navigator.gizmos()[0].move(np.array([1e4, 1e4, 0.0]))
    np.testing.assert_array_equal(navigator.batch.task.goal[0], before)


@pytest.mark.integration
def test_a_dragged_obstacle_is_put_elsewhere(navigator: NavigationStage) -> None:
    navigator.reset()
    batch = navigator.batch
    slot = int(batch.task.slot[0])
    level = batch.bank.levels[slot]
    parts = navigator.step().parts
    layer = next(n for n in parts if n.startswith("level/") and n.endswith("/boxes"))
    part = parts[layer]
    assert isinstance(part, Instances)
    drawn = np.linalg.norm(part.positions[:, None] - level.boxes[:, :3], axis=2)
    instance, row = (int(k) for k in np.unravel_index(drawn.argmin(), drawn.shape))

    # To 1.2 m before the player, by a pointer on the floor's far side of a steep ray.
    player = batch.world.state.position[0].copy()
    reading = batch.world.state.rays[0].copy()
    yaw = float(batch.world.state.yaw[0])
    ahead = player[:2] + 1.2 * np.array([np.cos(yaw), np.sin(yaw)])
    start = level.boxes[row, :3]
    eye = start + np.array([0.0, -4.0, 8.0])
    wanted = np.array([*ahead, start[2]])

    def drag_to(place: np.ndarray) -> Drag:
        return Drag(layer, instance, start, eye + 0.7 * (place - eye), eye)

    navigator.drag(drag_to(wanted))
    shown = navigator.step().parts[layer]
    assert isinstance(shown, Instances)
    np.testing.assert_allclose(shown.positions[instance], wanted)
    # The point that is held has moved with the obstacle; the pointer has not moved.
    navigator.drag(replace(drag_to(wanted), start=wanted))
    shown = navigator.step().parts[layer]
    assert isinstance(shown, Instances)
    np.testing.assert_allclose(shown.positions[instance], wanted)
    # Another window that drags another obstacle does not take its place.
    navigator.drag(replace(drag_to(wanted), instance=(instance + 1) % len(drawn)))
    np.testing.assert_array_equal(batch.bank.levels[slot].boxes, level.boxes)
    goal = batch.task.goal[0].copy()
    navigator.let_go()
    moved = batch.bank.levels[slot].boxes
    np.testing.assert_allclose(moved[row, :2], ahead)
    others = np.arange(len(moved)) != row
    np.testing.assert_array_equal(moved[others], level.boxes[others])
    np.testing.assert_array_equal(batch.task.goal[0], goal)
    assert layer not in navigator.step().parts  # drawn anew
    assert (batch.world.state.rays[0] < reading - 0.05).any()

    # On the player it would not be playable: it goes back.
    parts = navigator.step().parts
    layer = next(n for n in parts if n.startswith("level/") and n.endswith("/boxes"))
    start = wanted
    navigator.drag(drag_to(batch.world.state.position[0] + [0.0, 0.0, start[2]]))
    navigator.let_go()
    np.testing.assert_allclose(batch.bank.levels[slot].boxes[row, :2], ahead)

    # Nor on the goal, also where that was moved to.
    goal = batch.world.state.position[0] - [*(ahead - player[:2]), 0.0]
    assert batch.move_goal(0, goal)
    layer = f"level/{navigator._count}/boxes"
    navigator.drag(drag_to(np.array([*goal[:2], start[2]])))
    navigator.let_go()
    np.testing.assert_allclose(batch.bank.levels[slot].boxes[row, :2], ahead)
    run(navigator, 20)


def test_models_without_a_body_are_refused() -> None:
    with pytest.raises(ModelFileError, match="has nothing to show"):
        open_stage(PlayFlags(model="muscle_nn_myolegs"))
    assert all(target.count(":") == 1 for target, _ in STAGES.values())


@pytest.mark.slow
def test_muscles_are_drawn_as_active_as_they_are() -> None:
    stage = open_stage(PlayFlags(model="muscle_walk"))
    stage.reset()
    snapshot = run(stage, 15)
    muscles = snapshot.parts["muscles"]
    assert isinstance(muscles, Lines)
    assert len(np.unique(muscles.colours, axis=0)) > 10


@pytest.mark.slow
def test_walker_obeys_its_sliders(tmp_path: Path) -> None:
    stage = open_stage(PlayFlags(model="walk_commands"))
    stage.reset()
    slider(stage, "Speed [m/s]").change(1.0)
    fast = run(stage, 150).values["speed/speed"]
    stand = [c for c in stage.controls()["Command"] if isinstance(c, Press)]
    stand[0].press()
    assert run(stage, 120).values["speed/speed"] < 0.3 < fast
