"""Role maps as files, and in the commands that take them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ambulo.cli import main
from ambulo.configs.errors import ConfigError
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.motion import Motion
from ambulo.motion.roles import map_of, missing_roles, roles_of
from ambulo.motion.roles.files import (
    RolesFile,
    read_roles,
    roles_file,
    with_map,
    write_roles,
)
from ambulo.motion.skeletons import load_skeleton

Walk = Callable[..., Motion]


def test_a_map_is_read_as_it_was_written(tmp_path: Path) -> None:
    skeleton = load_skeleton("cmu31")
    path = tmp_path / "cmu.roles.json"
    write_roles(path, roles_file(map_of(skeleton), skeleton.joints))
    again = read_roles(path)
    assert again.joints(skeleton.joints, "cmu") == roles_of(skeleton)
    assert again.chains["neck"] == ("lowerneck", "upperneck")
    assert again.up == (0.0, 0.0, 1.0)
    assert again.forward == (1.0, 0.0, 0.0)
    assert roles_of(with_map(skeleton, path)) == roles_of(skeleton)


def test_a_given_map_beats_names_and_shape(tmp_path: Path) -> None:
    skeleton = load_skeleton("cmu31")
    given = RolesFile(roles={"hips": "lowerback", "left_thigh": "rfemur"})
    write_roles(tmp_path / "odd.roles.json", given)
    odd = with_map(skeleton, tmp_path / "odd.roles.json")
    assert {r: odd.joints[j] for r, j in roles_of(odd).items()} == given.roles
    assert "left_shin" in missing_roles(odd)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ({"roles": {"hips": "root", "head": "root"}}, "'root' is named twice: hips and head"),
        ({"roles": {"hip": "root"}}, "unknown role 'hip' (did you mean 'hips'?)"),
        ({"roles": {"hips": "rooot"}}, "hips: no joint 'rooot' (did you mean 'root'?)"),
        ({"roles": {}}, "roles"),
        ({"roles": {"hips": 3}}, "roles.hips = 3: expected a text"),
        ({"roles": ["root"]}, "roles"),
        ({"roles": {"hips": "root"}, "chains": {"hips": ["head"]}}, "lacks the role's joint"),
        ({"roles": {"hips": "root"}, "chains": {"hips": ["root", "x"]}}, "no joint 'x'"),
        ({"roles": {"hips": "root"}, "chains": {"head": ["head"]}}, "the role has no joint"),
        ({"roles": {"hips": "root"}, "chains": {"hip": ["root"]}}, "unknown role 'hip'"),
        ({"roles": {"hips": "root"}, "up": [0, 1]}, "up"),
        ({"role": {}}, "unknown key 'role'"),
        ([], "top level"),
        ("{", "not valid JSON"),
    ],
)  # fmt: skip
def test_faulty_maps_are_one_line(content: object, rule: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.roles.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ConfigError) as caught:
        with_map(load_skeleton("cmu31"), path)
    text = str(caught.value)
    assert rule in text
    assert "\n" not in text
    assert str(path) in text


@pytest.mark.integration
def test_commands_save_and_take_maps(
    walk_motion: Walk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip, path = str(tmp_path / "walk.npz"), str(tmp_path / "walk.roles.json")
    write_motion(clip, walk_motion(20))
    assert main(["data", "info", clip, "--save-map", path]) == 0
    data = json.loads(Path(path).read_text())
    assert data["roles"]["left_foot"] == "lfoot"
    out = str(tmp_path / "out.npz")
    words = ["data", "convert", clip, out, "--skeleton", "human23", "--force"]
    words += ["--map", path]
    assert main(words) == 0
    del data["roles"]["left_forearm"], data["roles"]["left_hand"]
    data["chains"] = {}
    Path(path).write_text(json.dumps(data))
    capsys.readouterr()
    assert main(words) == 0
    assert "no joints found for left_forearm, left_hand" in capsys.readouterr().out
    kept = str(tmp_path / "kept.npz")
    assert main(["data", "convert", clip, kept, "--map", path]) == 0
    assert "left_hand" not in roles_of(read_motion(kept).skeleton)
    data["roles"]["head"] = "nose"
    Path(path).write_text(json.dumps(data))
    capsys.readouterr()
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "head: no joint 'nose'" in said
    assert said.count("\n") == 1
    assert main(words[:-2]) == 2, "the map beside the file counts too"
    assert "head: no joint 'nose'" in capsys.readouterr().err
    assert main([*words[:-1], str(tmp_path / "missing.roles.json")]) == 2
    assert main(["data", "info", str(tmp_path), "--save-map", path]) == 2
