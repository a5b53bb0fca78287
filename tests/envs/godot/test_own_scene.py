"""Scenes of one's own in the real engine: played, trained in, and refused by node and rule."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from fixtures.godot_scenes import BAD, OPENED

from ambulo.configs.errors import AmbuloError, ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import BadStatus
from ambulo.envs.vr.levels.scene_level import SceneLevel
from ambulo.envs.vr.planners.oracle import Oracle
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch, scene_of

ENVS = 4


@pytest.fixture
def settings(
    in_own_game: Callable[[str], dict[str, str]],
) -> Callable[[str], NavigationConfig]:
    """Settings of a scene of the project by its name."""
    return lambda scene: NavigationConfig().override(
        "environment", **in_own_game(scene)
    )


@pytest.fixture
def attached(
    in_scene: Callable[[str], dict[str, str]],
) -> Callable[[str], NavigationConfig]:
    """Opens a scene by its name in the shared engine; settings to play there."""
    return lambda scene: NavigationConfig().override("environment", **in_scene(scene))


@pytest.fixture
def batch_in(
    attached: Callable[[str], NavigationConfig],
) -> Iterator[Callable[[str], NavigationBatch]]:
    """Makes batches in scenes; they are closed after the test."""
    made: list[NavigationBatch] = []

    def make(scene: str) -> NavigationBatch:
        made.append(make_batch(attached(scene), ENVS, split="heldout", seed=3))
        return made[-1]

    yield make
    for batch in made:
        batch.close()


@pytest.fixture
def _no_engine_left(own_game: Path) -> Iterator[None]:
    """After the test no engine runs in the project."""
    yield
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            assert str(own_game).encode() not in words, words


def test_markers_say_where_episodes_start_and_end(attached) -> None:
    level = scene_of(attached("room"))
    assert isinstance(level, SceneLevel)
    assert level.start == pytest.approx([-3.0, 3.0, 0.0], abs=1e-5)
    assert level.goal == pytest.approx([3.0, -3.0], abs=1e-5)
    assert scene_of(attached("room")) is level, "looked at once"
    grid = level.cells()
    way = grid.distance(grid.field([3.0, -3.0, 0.0]), [-3.0, 3.0, 0.0])
    around = 2.0 * np.hypot(3.0 + 0.78, 3.0 - 0.78)
    assert way == pytest.approx(around, rel=0.04)
    wide = level.cells(0.6)
    assert 0 < wide.free.sum() < grid.free.sum()


def test_without_markers_the_free_floor_is_used(attached) -> None:
    level = scene_of(attached("free"))
    assert level.start is None
    assert level.goal is None
    # 10 x 10 m with 0.28 m to its edges; nobody fits on the block, or walks there.
    area = level.cells().free.sum() * level.cells().resolution ** 2
    assert area == pytest.approx(9.44**2 - 1.56**2, rel=0.04)


def test_a_closed_door_closes_no_way(attached, batch_in) -> None:
    level = scene_of(attached("door"))
    grid = level.cells()
    way = grid.distance(grid.field([3.0, 0.0, 0.0]), [-3.0, 0.0, 0.0])
    assert way == pytest.approx(6.0, abs=0.2), "straight through the door"
    assert grid.nearest(np.array([-3.0, -2.0, 0.0]), 0.1) is not None, "at the cart"
    batch = batch_in("door")
    for _ in range(3):  # starts inside of the door are among them
        batch.reset(np.arange(ENVS))
        *_, info = batch.step(np.tile([0.0, 1.0, 0.0], (ENVS, 1)))
        assert not info["bridge_fault"].any()


@pytest.mark.parametrize("scene", ["free", "courtyard", "hall", "valley"])
def test_scenes_are_played(batch_in, scene: str) -> None:
    played(batch_in(scene))


@pytest.mark.usefixtures("_no_engine_left")
def test_a_scene_is_played_in_an_engine_of_its_own(settings) -> None:
    played(make_batch(settings("room"), ENVS, split="heldout", seed=3))
    level = scene_of(settings("room"))
    assert scene_of(settings("room")) is level, "looked at once"


def played(batch: NavigationBatch) -> None:
    """Nearly all envs reach the goal; the batch is closed."""
    envs = np.arange(ENVS)
    batch.reset(envs)
    oracle = Oracle(ENVS)
    oracle.reset(envs, envs)
    solved = np.zeros(ENVS, np.bool_)
    for _ in range(400):
        _, _, done, timeout, info = batch.step(oracle.act(batch))
        solved |= info["is_success"].astype(np.bool_)
        assert not info["bridge_fault"].any()
        ended = np.flatnonzero(done | timeout)
        if solved.all():
            break
        if len(ended):
            batch.reset(ended)
            oracle.reset(ended, ended)
    assert solved.sum() >= ENVS - 1
    batch.close()


def test_equal_actions_give_equal_bytes_where_colliders_move(batch_in) -> None:
    ways = []
    for _ in range(2):
        batch = batch_in("moving")
        batch.reset(np.arange(ENVS))
        rng = np.random.default_rng(5)
        rows = []
        for _ in range(40):
            batch.step(rng.uniform(-1.0, 1.0, (ENVS, 3)))
            state = batch.world.state
            rows.append(np.hstack([state.position, state.rays]))
        ways.append(np.array(rows))
        batch.close()
    assert np.array_equal(ways[0], ways[1])


def test_a_collider_that_moves_is_seen_where_it_is(batch_in) -> None:
    batch = batch_in("moving")
    world = batch.world
    here = np.tile([-1.0, 0.0, 0.0, 0.0], (ENVS, 1))  # 2 m before the middle of its way
    world.reset(np.arange(ENVS), np.zeros(ENVS, np.int64), here)
    readings = []
    for _ in range(70):
        world.step(np.zeros((ENVS, 3)))
        readings.append(float(world.state.rays[0, 0]))
    assert min(readings) == pytest.approx(2.5, abs=0.02), "it comes by"
    assert max(readings) > 3.0, "and goes"


def test_a_scene_that_pauses_is_played(batch_in) -> None:
    batch = batch_in("pauses")
    batch.reset(np.arange(ENVS))
    before = batch.world.state.position.copy()
    batch.step(np.tile([0.0, 1.0, 0.0], (ENVS, 1)))
    assert (np.hypot(*(batch.world.state.position - before)[:, :2].T) > 0.05).all()


@pytest.mark.parametrize("name", ["fails", "quits"])
@pytest.mark.usefixtures("_no_engine_left")
def test_bad_scenes_are_refused_by_node_and_rule(settings, name: str) -> None:
    with pytest.raises(AmbuloError) as caught:
        scene_of(settings(name))
    check_refusal(name, str(caught.value))


@pytest.mark.parametrize("name", OPENED)
def test_scenes_that_open_are_refused_by_node_and_rule(attached, name: str) -> None:
    with pytest.raises(AmbuloError) as caught:
        scene_of(attached(name))
    check_refusal(name, str(caught.value))


def test_scenes_that_do_not_open_are_refused_by_node_and_rule(
    program: Path, own_game: Path
) -> None:
    """All in one engine, but the one that ends it."""
    names = [name for name in BAD if name not in (*OPENED, "quits")]
    scenes = [f"res://{name}.tscn" for name in names]
    done = subprocess.run(
        [str(program), "--headless", "--path", str(own_game), "-s", "loader_probe.gd",
         "--", *scenes],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    said = [
        line.removeprefix("LOADER ")
        for line in done.stdout.splitlines()
        if line.startswith("LOADER ")
    ]
    for name, line in zip(names, said, strict=True):
        check_refusal(name, line)


def check_refusal(name: str, said: str) -> None:
    assert f"scene res://{name}.tscn: " in said
    assert BAD[name][1] in said
    assert "\n" not in said


def test_what_is_not_there_is_refused(settings, tmp_path: Path) -> None:
    with pytest.raises(AmbuloError, match="no such file in the project"):
        scene_of(settings("nowhere"))
    (tmp_path / "project.godot").write_text("config_version=5\n")
    bare = settings("room").override("environment", godot_project=str(tmp_path))
    with pytest.raises(AmbuloError, match="has no add-on: copy godot/addons"):
        scene_of(bare)
    for wrong in ("room.tscn", "res://room.png"):
        with pytest.raises(ConfigError, match="must be a scene of the project"):
            settings("room").override("environment", scene=wrong)
    with pytest.raises(ConfigError, match="needs world = godot"):
        settings("room").override("environment", world="compiled")


@pytest.mark.usefixtures("_no_engine_left")
def test_the_game_form_of_reset_builds_no_room(
    own_game: Path, program: Path, tmp_path: Path
) -> None:
    with EngineProcess(
        program, own_game, tmp_path / "log", scene="res://room.tscn"
    ) as engine:
        port = engine.wait_until_ready()
        with GodotClient(f"http://127.0.0.1:{port}") as game:
            began = game.reset(seed=5)
            assert began["observation"]["goal_distance"] == pytest.approx(
                np.hypot(6, 6), abs=1e-3
            )
            state = game.action(
                {"move_horizontal": 0.0, "move_vertical": 1.0, "rotate": 0.0}
            )["state"]
            assert not state["done"]
            with pytest.raises(BadStatus, match="levels are not used"):
                game.set_levels([0], [])
