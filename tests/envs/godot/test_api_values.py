"""Values that make no sense, sent to every endpoint of the real engine (property tests)."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.transport import BINARY, HttpConnection, Response

POSTS = (
    "/rl/spec", "/rl/levels", "/rl/reset", "/rl/step", "/rl/state", "/rl/action", "/scene",
    "/body",
)  # fmt: skip
LEVEL = {
    "name": "room",
    "bounds": [-5, -5, 5, 5],
    "holes": [[3, 3, 4, 4]],
    "boxes": [{"center": [0, 2, 0.5], "half_size": [1, 0.1, 0.5], "yaw": 0.3}],
    "cylinders": [{"center": [2, -2], "radius": 0.4, "height": 2}],
    "start": {"position": [-4, -4], "yaw": 0.8},
    "goal": [4, 1],
    "goal_distance": [2, 9],
}
WIDTH = 40
VALID: dict[str, dict[str, Any]] = {
    "/rl/spec": {"agents": 2, "spec": {"num_rays": 16, "discrete": False, "dt": 0.01}},
    "/rl/levels": {"slots": [0, 1], "levels": [LEVEL, LEVEL]},
    "/rl/reset": {"agents": [0, 1], "slots": [0, 1], "poses": [[0, 0, 0], [1, 1, 1]]},
    "/rl/step": {"actions": [[0, 1, 0], [0, 0, 1]]},
    "/rl/state": {"agents": [1], "slots": [0], "states": [[0.0] * WIDTH]},
    "/scene": {"scene_path": "res://scenes/features/vr_locomotion_test.tscn"},
    "/body": {
        "bodies": [0, 1],
        "poses": [[0.0, 0.0, 1.0, *[1.0, 0.0, 0.0, 0.0] * 23]] * 2,
    },
}
GAME = {"seed": 4, "level": LEVEL, "options": {"agent": 0, "max_steps": 9}}
BOUNDED = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

numbers = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.just(1e308)
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.text(max_size=8), inner, max_size=4),
    ),
    max_leaves=12,
)


class World:
    """Two agents in a level of a shared engine, and whether they are as they were."""

    def __init__(self, port: int) -> None:
        self.connection = HttpConnection("127.0.0.1", port, timeout=60)
        for path in ("/rl/spec", "/rl/levels", "/rl/reset"):
            self.ask(path, VALID[path]).checked()

    def ask(self, path: str, body: object) -> Response:
        return self.send(path, json.dumps(body).encode())

    def send(self, path: str, body: bytes, content_type: str = "") -> Response:
        """The answer, which is 200, or a refusal that says what is wrong."""
        kind = content_type or "application/json"
        response = self.connection.request("POST", path, body, content_type=kind)
        data = response.json()
        if response.status != 200:
            assert response.status in {400, 403, 404, 409, 415}, data
            assert set(data) == {"error"}
            assert set(data["error"]) == {"code", "message", "field"}
            assert data["error"]["message"]
        return response

    def states(self) -> bytes:
        return self.connection.request("GET", "/rl/state").checked().body


@pytest.fixture(scope="module")
def world(engine: EngineProcess) -> World:
    return World(engine.port)


@pytest.fixture(autouse=True)
def _steps_on(world: World, engine: EngineProcess) -> Any:
    """After each test the engine lives and can be set up and stepped."""
    yield
    assert engine.running
    assert b"ERROR" not in engine.log_file.read_bytes()
    for path in ("/rl/spec", "/rl/levels", "/rl/reset", "/rl/step"):
        world.ask(path, VALID[path]).checked()


@BOUNDED
@given(path=st.sampled_from(POSTS), body=values)
def test_any_json(world: World, path: str, body: object) -> None:
    before = world.states()
    response = world.ask(path, body)
    if response.status != 200:
        assert world.states() == before  # refused means: nothing was changed
    else:
        assert body == {}
        world.ask("/rl/spec", VALID["/rl/spec"]).checked()


@BOUNDED
@given(path=st.sampled_from(POSTS), body=st.binary(max_size=200))
def test_any_bytes(world: World, path: str, body: bytes) -> None:
    for kind in ("application/json", BINARY):
        response = world.send(path, body, kind)
        if body.strip(b" \t\r\n{}"):
            assert response.status != 200 or path == "/rl/step"


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to everything in a JSON value, itself included."""
    found = [path]
    if isinstance(value, dict):
        pairs: Any = value.items()
    else:
        pairs = enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        found += places(item, (*path, key))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(copy[path[0]], path[1:], new)
    return copy


@BOUNDED
@given(data=st.data())
def test_one_wrong_value_in_a_valid_body_is_named(world: World, data: Any) -> None:
    bodies = [*VALID.items(), ("/rl/reset", GAME)]
    path, body = data.draw(st.sampled_from(bodies))
    where = data.draw(st.sampled_from([p for p in places(body) if p]))
    wrong = data.draw(
        st.sampled_from([{"x": 1}, "1", "NaN", True, [[]], 1e300, -1e300, 10**400])
    )
    world.ask("/rl/spec", VALID["/rl/spec"]).checked()
    world.ask("/rl/levels", VALID["/rl/levels"]).checked()
    world.ask("/rl/reset", VALID["/rl/reset"]).checked()
    response = world.ask(path, replaced(body, where, wrong))
    if response.status == 200:  # only where the value is a value
        assert where[-1] in {"discrete", "name", "seed"}, (path, where, wrong)
        return
    error = response.json()["error"]
    if wrong == 10**400:
        return  # not a number that JSON readers must take
    field = error["field"] or ""
    named = next(key for key in where if isinstance(key, str))
    assert named in field or path == "/rl/levels", (where, wrong, error)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "nan", "1e999", "-1e400"]
)
def test_numbers_that_are_none(world: World, text: str) -> None:
    before = world.states()
    for path, body in VALID.items():
        spoilt = json.dumps(body).replace("1", text, 1)
        if path != "/scene":
            assert world.send(path, spoilt.encode()).status == 400
    assert world.states() == before


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b"[",
        b'{"agents": 1,}',
        b'{"agents": 01}',
        b'{"agents": 1.}',
        b'{"agents": .5}',
        b'{"agents": +1}',
        b'{"agents": 0x1}',
        b"{'agents': 1}",
        b"{agents: 1}",
        b'{"agents": 1} {}',
        b'{"agents": 1}\0',
        b'\xef\xbb\xbf{"agents": 1}',
        b'{"agents\xff": 1}',
        b'{"ag\nents": 1}',
        b'{"\\ud800": 1}',
        b'{"\\u0000": 1}',
        b"// no\n{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff" * 1_000_000,
    ],
)
def test_text_that_is_no_json(world: World, text: bytes) -> None:
    for path in POSTS:
        response = world.send(path, text)
        assert response.status == 400
        assert response.json()["error"]["code"] == "not_json"


@BOUNDED
@given(count=st.integers(0, 9), tail=st.binary(max_size=9), number=st.floats(width=64))
def test_binary_actions(world: World, count: int, tail: bytes, number: float) -> None:
    body = struct.pack(f"<{count}d", *[number] * count) + tail
    before = world.states()
    response = world.connection.request(
        "POST", "/rl/step", body, content_type=BINARY, accept=BINARY
    )
    if len(body) == 48 and np.isfinite(np.frombuffer(body, "<f8")).all():
        rows = np.frombuffer(response.checked().body[16:], "<f8")
        assert rows.shape == (2 * WIDTH,)
        assert np.isfinite(rows).all()
    else:
        assert response.status == 400
        assert response.json()["error"]["field"].startswith(("body", "actions"))
        assert world.states() == before


def shift(agent: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What to add to rows to change their agents."""
    return np.array([agent] + [0.0] * (WIDTH + 1))


THING = [0.0, 3.0, 0.0, 0.5, 0.1, 1.0, 0.0, 0.0, 2.0, 1.0]
"""A box of agent 0: x, y, half sizes, cos and sin, bottom, top, kind."""


def test_things_are_taken_whole_or_not_at_all(world: World) -> None:
    good = np.array([THING, [1.0, *THING[1:]]])
    head = struct.pack("<4sIII", b"AMB1", 2, 10, 0)
    assert world.send("/rl/things", head + good.tobytes(), BINARY).status == 200
    for column, value in ((0, 2.0), (0, 0.5), (3, 0.0), (5, 0.9), (8, -1.0), (9, 2.0)):
        wrong = good.copy()
        wrong[1, column] = value
        answer = world.send("/rl/things", head + wrong.tobytes(), BINARY)
        assert answer.status == 400
        assert "row 1" in answer.json()["error"]["message"]
    assert world.send("/rl/things", head + good.tobytes()[:-8], BINARY).status == 400
    assert world.send("/rl/things", b"{}", "application/json").status == 415
    nothing = struct.pack("<4sIII", b"AMB1", 0, 10, 0)
    assert world.send("/rl/things", nothing, BINARY).status == 200


def test_binary_states_are_restored_bit_for_bit(world: World) -> None:
    for _ in range(3):
        world.ask("/rl/step", {"actions": [[0.3, 1, 0.7], [-1, 0.2, -0.1]]}).checked()
    rows = np.array(json.loads(world.states())["states"])
    values = np.column_stack([[0, 1], [0, 1], rows]).astype("<f8")
    head = struct.pack("<4sIII", b"AMB1", 2, WIDTH + 2, 0)
    before = world.states()
    world.ask("/rl/reset", VALID["/rl/reset"]).checked()
    assert json.loads(world.states())["states"] != json.loads(before)["states"]
    world.send("/rl/state", head + values.tobytes(), BINARY).checked()
    assert json.loads(world.states())["states"] == json.loads(before)["states"]
    for wrong in (
        b"",
        head[:15],
        head,
        b"AMB2" + head[4:] + values.tobytes(),
        head + values.tobytes()[:-1],
        struct.pack("<4sIII", b"AMB1", 0xFFFFFFFF, WIDTH + 2, 0) + values.tobytes(),
        struct.pack("<4sIII", b"AMB1", 2, 0xFFFFFFFF, 0) + values.tobytes(),
        head + np.where(values == values[1, 2], np.nan, values).tobytes(),
        head + (values + shift(0.5)).tobytes(),
        head + (values + shift(9.0)).tobytes(),
        head + values[[0, 0]].tobytes(),
    ):
        assert world.send("/rl/state", wrong, BINARY).status == 400
    assert json.loads(world.states())["states"] == json.loads(before)["states"]


def test_binary_and_json_poses_place_alike(world: World) -> None:
    poses = np.array([[0, 0, 0.25, -0.5, 1.0], [1, 1, -1.5, 2.0, -2.0]])
    head = struct.pack("<4sIII", b"AMB1", 2, 5, 0)
    answer = world.connection.request(
        "POST",
        "/rl/reset",
        head + poses.astype("<f8").tobytes(),
        content_type=BINARY,
        accept=BINARY,
    ).checked()
    body = {"agents": [0, 1], "slots": [0, 1], "poses": poses[:, 2:].tolist()}
    states = world.ask("/rl/reset", body).checked().json()["states"]
    assert np.frombuffer(answer.body[16:], "<f8").reshape(2, -1).tolist() == states


@pytest.mark.parametrize(
    "query",
    [
        "agent=2",
        "agent=-1",
        "agent=",
        "agent=x",
        "agent=1e0",
        "agnt=1",
        "agent=" + "9" * 30,
    ],
)
def test_queries(world: World, query: str) -> None:
    for path in ("/rl/state", "/rl/observation"):
        response = world.connection.request("GET", f"{path}?{query}")
        assert response.status == 400
        assert response.json()["error"]["field"] == query.partition("=")[0]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "res://",
        "res://project.godot",
        "res://../outside.tscn",
        "res://scenes/features/../features/vr_locomotion_test.tscn",
        "/etc/passwd",
        "user://x.tscn",
        "file:///etc/passwd",
        "res://scenes/features/vr_locomotion_test.tscn/",
        "RES://scenes/features/vr_locomotion_test.tscn",
    ],
)
def test_scenes_off_the_list(world: World, path: str) -> None:
    response = world.ask("/scene", {"scene_path": path})
    assert response.status == 403
    assert response.json()["error"]["field"] == "scene_path"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "discrete", "action_index": 0}, "action_index"),
        (
            {"type": "discrete", "move_horizontal": 0, "move_vertical": 0, "rotate": 0},
            "type",
        ),
        ({"move_horizontal": 0, "move_vertical": 0}, "rotate"),
        ({"move_horizontal": 0, "move_vertical": 0, "rotate": None}, "rotate"),
        (
            {
                "move_horizontal": 0,
                "move_vertical": 0,
                "rotate": 0,
                "max_movement_speed": 9,
            },
            "max_movement_speed",
        ),
    ],
)
def test_published_actions(world: World, body: object, field: str) -> None:
    assert (
        world.ask("/rl/action", {}).json()["error"]["field"] == "agents"
    )  # two agents
    world.ask("/rl/spec", {"agents": 1}).checked()
    world.ask("/rl/reset", GAME).checked()
    response = world.ask("/rl/action", body)
    assert response.status == 400
    assert response.json()["error"]["field"] == field


def test_the_published_game_ends_as_it_should(world: World) -> None:
    world.ask("/rl/spec", {"agents": 1, "spec": {}}).checked()
    goal = {**LEVEL, "boxes": [], "cylinders": [], "goal": [-2.0, -4.0]}
    goal["start"] = {"position": [-4.0, -4.0], "yaw": 0.0}
    ahead = {
        "type": "continuous",
        "move_horizontal": 0,
        "move_vertical": 1,
        "rotate": 0,
    }
    answer = world.ask("/rl/reset", {"level": goal}).checked().json()
    assert answer["observation"]["goal_distance"] == pytest.approx(2.0)
    steps = 0
    while not answer["state"]["done"]:
        answer = world.ask("/rl/action", ahead).checked().json()
        steps += 1
        assert answer["state"]["step"] == steps < 30
    assert answer["state"]["info"]["goal_reached"]
    assert answer["observation"]["goal_distance"] <= 1.0
    world.ask("/rl/reset", {"options": {"max_steps": 1, "goal_radius": 0.1}}).checked()
    info = world.ask("/rl/action", ahead).checked().json()["state"]["info"]
    assert info["timeout"]
    assert not info["goal_reached"]
