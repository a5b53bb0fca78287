"""Every endpoint of the real engine against docs/godot_openapi.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.transport import BINARY, HttpConnection

jsonschema = pytest.importorskip("jsonschema")
DOCUMENT = json.loads(
    (Path(__file__).parents[3] / "docs" / "godot_openapi.json").read_text()
)
PATHS = {p: m for p, m in DOCUMENT["paths"].items() if not p.startswith("/agents/")}
"""Without those of games, which tests/envs/godot/agents calls."""
SCENE = "res://scenes/features/vr_locomotion_test.tscn"
OWN = "res://scenes/demo/own_scene.tscn"
FLOOR = {
    "origin": [-4, -4],
    "size": 0.5,
    "first": [0, 0],
    "last": [15, 15],
    "heights": [-1, 3],
}
LEVEL = {
    "name": "room",
    "family": "custom",
    "bounds": [-6, -6, 6, 6],
    "holes": [[4, 4, 5, 5]],
    "boxes": [{"center": [0, 2, 0.5], "half_size": [1, 0.1, 0.5], "yaw": 0.3}],
    "cylinders": [{"center": [2, -2], "radius": 0.4, "height": 2}],
    "start": {"position": [-4, -4], "yaw": 0.8},
    "goal": [4, 2],
    "goal_distance": [2, 9],
}
DISCRETE = {"agents": 1, "spec": {"discrete": True}}
CONTINUOUS = {"agents": 1, "spec": {}}
PUSH = {"move_horizontal": 0.0, "move_vertical": 1.0, "rotate": -0.2}
POSE = [0.0, 0.0, 1.0, *[1.0, 0.0, 0.0, 0.0] * 23]
PLACED = {"agents": [0], "slots": [3], "poses": [[0.5, 0.25, 1.5]]}

# Method, path, body, status; in this order: what one does, the next ones need.
CALLS: list[tuple[str, str, Any, int]] = [
    ("GET", "/health", None, 200),
    ("GET", "/status", None, 200),
    ("GET", "/performance", None, 200),
    ("GET", "/scenes", None, 200),
    ("GET", "/debug/screenshot", None, 501),
    ("POST", "/rl/spec", CONTINUOUS, 200),
    ("GET", "/rl/spec", None, 200),
    ("GET", "/rl/state", None, 200),
    ("GET", "/rl/observation", None, 409),
    ("POST", "/rl/action", PUSH, 409),
    ("POST", "/rl/step", {"actions": [[0, 1, 0]]}, 409),
    ("POST", "/rl/reset", {"seed": 3}, 200),
    ("POST", "/rl/reset", {}, 200),
    ("POST", "/rl/reset", {"seed": 1, "level": LEVEL, "options": {"agent": 0}}, 200),
    ("POST", "/rl/reset", {"options": {"max_steps": 2, "goal_radius": 0.5}}, 200),
    ("GET", "/rl/observation?agent=0", None, 200),
    ("POST", "/rl/action", {"type": "continuous", **PUSH}, 200),
    ("POST", "/rl/levels", {"slots": [3], "levels": [LEVEL]}, 200),
    ("POST", "/rl/reset", PLACED, 200),
    ("POST", "/rl/comfort", {"comfort": [0.5]}, 200),
    ("POST", "/rl/comfort", {"comfort": [1.5]}, 400),
    ("POST", "/rl/comfort", {"comfort": [0.5, 0.5]}, 400),
    ("POST", "/rl/comfort", {}, 400),
    ("POST", "/rl/step", {"actions": [[0.1, 1, -1]]}, 200),
    ("GET", "/rl/state?agent=0", None, 200),
    ("POST", "/rl/spec", DISCRETE, 200),
    ("POST", "/rl/reset", PLACED, 200),
    ("POST", "/rl/step", {"actions": [5]}, 200),
    ("POST", "/rl/action", {"type": "discrete", "action_index": 0}, 200),
    ("GET", "/body?body=7", None, 409),
    ("POST", "/body", {"bodies": [0, 2], "poses": [POSE, POSE]}, 200),
    ("GET", "/body?body=2", None, 200),
    ("GET", "/body?body=1", None, 409),
    ("POST", "/body", {"bodies": [0], "poses": [POSE[:-1]]}, 400),
    ("GET", "/rl/scene", None, 200),
    ("POST", "/rl/floor", FLOOR, 409),
    ("POST", "/rl/scene", {"scene_path": "res://nowhere.tscn"}, 409),
    ("POST", "/rl/scene", {"scene_path": OWN}, 409),
    ("POST", "/scene", {"scene_path": OWN}, 200),
    ("GET", "/scene", None, 200),
    ("POST", "/rl/scene", {"scene_path": OWN}, 200),
    ("POST", "/rl/floor", FLOOR, 200),
    ("POST", "/rl/reset", {"seed": 2}, 200),
    ("POST", "/rl/spec", CONTINUOUS, 200),
    ("POST", "/rl/reset", {**PLACED, "poses": [[0, 0, 1.5, 0]]}, 200),
    ("POST", "/rl/step", {"actions": [[0.1, 1, -1]]}, 200),
    ("POST", "/rl/levels", {"slots": [3], "levels": [LEVEL]}, 409),
    ("POST", "/rl/scene", {"scene_path": None}, 200),
    ("POST", "/scene", {"scene_path": SCENE}, 200),
    ("GET", "/scene", None, 200),
    ("POST", "/scene", {"scene_path": "res://project.godot"}, 403),
    ("POST", "/scene", {}, 400),
]


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found: Any = DOCUMENT
        for key in schema["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        schema = found
    return schema


def check(value: Any, schema: dict[str, Any], at: str = "") -> None:
    """Fail unless `value` fits a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    errors = jsonschema.Draft202012Validator(whole).iter_errors(value)
    assert [f"{at}{error.json_path}: {error.message}" for error in errors] == []


def operation(method: str, path: str) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][path.partition("?")[0]][method.lower()]
    return found


def reply_schema(method: str, path: str, status: int) -> dict[str, Any]:
    responses = operation(method, path)["responses"]
    response = resolve(responses.get(str(status), responses["default"]))
    schema: dict[str, Any] = response["content"]["application/json"]["schema"]
    return schema


@pytest.fixture
def connection(engine: EngineProcess) -> HttpConnection:
    return HttpConnection("127.0.0.1", engine.port, timeout=30)


def test_live_replies_and_the_requests_that_caused_them_fit(
    connection: HttpConnection,
) -> None:
    for method, path, body, status in CALLS:
        sent = b"" if body is None else json.dumps(body).encode()
        response = connection.request(method, path, sent)
        text = f"{method} {path} {body}: {response.body[:300]!r}"
        assert response.status == status, text
        assert response.content_type == "application/json", text
        check(response.json(), reply_schema(method, path, status), text)
        if body is not None and status == 200:
            content = operation(method, path)["requestBody"]["content"]
            check(body, content["application/json"]["schema"], text)


def test_restored_states_fit(connection: HttpConnection) -> None:
    for path, body in (
        ("/rl/spec", {"agents": 2, "spec": {}}),
        ("/rl/levels", {"slots": [0], "levels": [LEVEL]}),
        ("/rl/reset", {"agents": [0, 1], "slots": [0, 0], "poses": [[0, 0, 0]] * 2}),
        ("/rl/step", {"actions": [[0, 1, 0], [1, 0, 0.5]]}),
    ):
        answer = connection.request("POST", path, json.dumps(body).encode())
        states = answer.checked().json().get("states")
    body = {"agents": [0, 1], "slots": [0, 0], "states": states}
    check(body, {"$ref": "#/components/schemas/StateRequest"})
    answer = connection.request("POST", "/rl/state", json.dumps(body).encode())
    check(answer.checked().json(), reply_schema("POST", "/rl/state", 200))


def test_every_documented_operation_is_called_here() -> None:
    called = {(method.lower(), path.partition("?")[0]) for method, path, *_ in CALLS}
    called |= {
        ("post", "/rl/state"),
        ("post", "/rl/things"),
        ("post", "/rl/shutdown"),
        ("post", "/scene/reload"),
    }
    documented = {
        (method, path) for path, methods in PATHS.items() for method in methods
    }
    assert documented == called


def test_methods_and_paths_are_those_of_the_document(
    connection: HttpConnection,
) -> None:
    for path, methods in PATHS.items():
        connection = HttpConnection(connection.host, connection.port, timeout=30)
        response = connection.request("DELETE", path)
        assert response.status == 405
        named = response.json()["error"]["message"]
        assert all(method.upper() in named for method in methods), named
    for path in ("/", "/rl", "/rl/step/", "/RL/STEP", "/rl/%73tep", "/../etc/passwd"):
        response = connection.request("GET", path)
        assert response.status == 404
        assert response.json()["error"]["field"] == "path"


def test_binary_is_taken_only_where_the_document_says_so(
    connection: HttpConnection,
) -> None:
    for path, methods in PATHS.items():
        content = methods.get("post", {}).get("requestBody", {}).get("content", {})
        if not content or path == "/rl/shutdown":
            continue
        response = connection.request("POST", path, b"\0" * 7, content_type=BINARY)
        assert response.status == (400 if BINARY in content else 415), path


def test_a_reloaded_scene_and_a_clean_end(program: Path, tmp_path: Path) -> None:
    from ambulo.envs.godot.locate import find_project

    with EngineProcess(program, find_project(), tmp_path / "log") as process:
        connection = HttpConnection("127.0.0.1", process.wait_until_ready(), timeout=30)
        for path in ("/scene/reload", "/rl/shutdown"):
            answer = connection.request("POST", path).checked().json()
            check(answer, reply_schema("POST", path, 200))
        assert process.ending(20) == "exit code 0"
