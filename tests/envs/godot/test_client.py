"""The published client against the real engine."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.errors import BadStatus, Refused, TimedOut
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level import Level


@pytest.fixture
def client(engine):
    with GodotClient(f"http://127.0.0.1:{engine.port}/") as made:
        yield made


def test_the_published_calls_answer(client) -> None:
    assert client.health_check() is True
    scene = client.get_scene_state()
    assert {"scene_name", "scene_path", "status"} <= set(scene)
    assert client.load_scene(scene["scene_path"])["status"] == "loading"
    metrics = client.get_performance_metrics()
    assert metrics["engine"]["fps"] >= 0
    assert metrics["memory"]["static_memory_usage"] > 0
    assert client.get_status()["status"] == "ok"


def test_scenes_outside_the_white_list_are_refused(client) -> None:
    with pytest.raises(BadStatus, match=r"HTTP 40[34]"):
        client.load_scene("res://no/such.tscn")
    assert client.health_check()


def test_a_batch_is_configured_placed_and_stepped(client) -> None:
    spec = client.spec({"num_rays": 8}, agents=2)
    assert spec["agents"] == 2
    assert client.spec()["spec"]["num_rays"] == 8
    level = Level("empty", np.array([-20.0, -20.0, 20.0, 20.0]))
    assert client.set_levels([0], [level]) >= 1
    placed = client.place([0, 1], [0, 0], [[0, 0, 0], [1, 0, 0.5]])
    start = np.array(placed["states"])
    np.testing.assert_array_equal(start[:, 0], [0.0, 1.0])
    stepped = np.array(client.step([[0, 1, 0], [0, 0, 0]])["states"])
    assert stepped[0, 0] > 0.0
    assert stepped[1, 0] == 1.0
    np.testing.assert_array_equal(client.state()["states"], stepped)
    client.spec({}, agents=1)


def test_a_game_is_reset_by_seed_and_played(client) -> None:
    client.spec({}, agents=1)
    level = generate("open", 3)
    first = client.reset(seed=5, level=level)
    assert {"observation", "state"} <= set(first)
    assert client.reset(seed=5, level=level)["observation"] == first["observation"]
    action = {
        "type": "continuous", "move_horizontal": 0.0, "move_vertical": 1.0,
        "rotate": 0.0, "max_movement_speed": 2.0, "max_rotation_speed": 90.0,
    }  # fmt: skip
    client.action(action)
    later = client.observation()
    assert len(later["ray_sensors"]) == 16
    assert later["camera_position"] != first["observation"]["camera_position"]


def test_nobody_silence_and_strangers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        with GodotClient(url, timeout=0.3) as client, pytest.raises(TimedOut):
            client.get_status()
    with GodotClient(url) as client:
        assert client.health_check() is False
        with pytest.raises(Refused):
            client.get_status()
