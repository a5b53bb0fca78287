"""`ambulo body`: bodies from rigs, and what is found of a body."""

from __future__ import annotations

import json
from pathlib import Path

import imageio.v2 as imageio
import numpy as np
import pytest
from fixtures.gltf_files import Z_UP_TO_Y_UP, glb, gltf_of
from fixtures.people import PEOPLE, Person, dog, only_legs

from ambulo import cli
from ambulo.commands.body.check import BodyTestFlags, show
from ambulo.envs.characters.registry import load_character
from ambulo.envs.reference.standing import standing_positions
from ambulo.evaluate.locomotion.body_check import (
    BodyCheck,
    RoleCheck,
    SoleCheck,
    StandingCheck,
)
from ambulo.motion.roles import roles_of
from ambulo.viz.body_picture import body_picture


def write_rig(path: Path, rig: Person) -> Path:
    path.write_bytes(glb(gltf_of(rig.turned(Z_UP_TO_Y_UP, 100.0))))
    return path


@pytest.mark.slow
def test_a_body_is_made_from_a_rig_and_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = write_rig(tmp_path / "hero.glb", PEOPLE["unreal"]())
    out, report = tmp_path / "hero.xml", tmp_path / "hero.json"
    arguments = ["body", "make", str(rig), "-o", str(out), "--height", "1.8"]
    assert cli.main([*arguments, "--mass", "80", "--json", str(report)]) == 0
    said = capsys.readouterr().out
    assert "left thigh" in said
    assert "stands 10 s" in said
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["mass"] == pytest.approx(80.0, rel=1e-4)
    assert found["height"] == pytest.approx(1.8, abs=0.03)
    assert found["standing"]["calm"] == 1.0
    assert found["standing"]["pushed"] >= 0.5
    assert found["roles"]["left_shin"]["joint"] == "calf_l"
    assert len(found["roles"]) == 21
    for role, row in found["roles"].items():
        assert 0.0 <= row["load"] < 1.0, role
    assert cli.main([*arguments, "--no-check"]) == 2
    assert "hero.xml: is there already; --force" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("calm", "pushed", "code", "verdict"),
    [
        (1.0, 0.8, 0, "stands 10 s, 80% after a push of 20 N s"),
        (1.0, None, 0, "stands 10 s"),
        (1.0, 0.4, 1, "stands 10 s, 40% after a push of 20 N s"),
        (0.875, 1.0, 1, "falls after 4.0 s"),
    ],
)
def test_exit_codes_say_how_it_stands(
    calm: float, pushed: float | None, code: int, verdict: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    role = RoleCheck("knee", ("knee",), 100.0, 8.0, 50.0, 5.0)
    check = BodyCheck(
        "b", 3, 2, 70.0, 1.7, 0.8, 0.9, (0.0, -1.0, 0.0), (0.6, 0.0, 0.8),
        {"left_shin": role},
        SoleCheck(8, 0.2, 0.06, 0.1),
        StandingCheck(4.0, calm, pushed, 20.0, balance=True), ("n",),
    )  # fmt: skip
    flags = BodyTestFlags()
    assert show(check, flags, "b.xml") == code
    said = capsys.readouterr().out
    assert f"standing   {verdict}\n" in said
    assert "front      -Y of the file, up (0.60, 0.00, 0.80)" in said
    assert role.load == pytest.approx(0.1)
    assert check.to_dict()["roles"]["left_shin"]["load"] == pytest.approx(0.1)


@pytest.mark.integration
def test_the_picture_shows_both_sides(gl: None, tmp_path: Path) -> None:
    body = load_character("human23")
    pose = standing_positions(body)
    (tmp_path / "a.png").write_bytes(body_picture(body, pose, "t", "u", is_good=True))
    pixels = imageio.imread(tmp_path / "a.png")[..., :3].astype(int)
    red = (pixels[..., 0] > 130) & (pixels[..., 1] < 60)
    blue = (pixels[..., 2] > 130) & (pixels[..., 0] < 80)
    # Seen from ahead its right, red, is on the left; the picture is 1,430 wide.
    for colour, low, high in ((red, 200, 480), (blue, 470, 740)):
        columns = np.flatnonzero(colour[150:700, 205:740].sum(axis=0) > 20) + 205
        assert len(columns) > 60
        assert low < np.median(columns) < high


@pytest.mark.parametrize(
    ("rig", "flags", "rule"),
    [
        (dog, (), "rig: no body of this rig: four legs"),
        (only_legs, (), "legs only"),
        (PEOPLE["smpl"], ("--mass", "-3"), "mass -3 kg: must be from 1 to 500 kg"),
        (PEOPLE["smpl"], ("--height", "180"), "height 180 m: must be from 0.3 to 3 m"),
        (PEOPLE["chibi"], (), "give the body's height"),
        (PEOPLE["smpl"], ("--map", "none.roles.json"), "none.roles.json"),
        (PEOPLE["smpl"], ("--json", "none/report.json"), "no such folder"),
        (PEOPLE["smpl"], ("--picture", "body.jpg"), "must end in .png"),
    ],
)
def test_refusals_are_one_line_and_nothing_is_written(
    rig, flags: tuple[str, ...], rule: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write_rig(tmp_path / "rig.glb", rig())
    assert cli.main(["body", "make", "rig.glb", "-o", "out.xml", *flags]) == 2
    error = capsys.readouterr().err
    assert rule in error
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["rig.glb"]


def test_a_map_that_names_a_joint_twice_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = write_rig(tmp_path / "rig.glb", PEOPLE["smpl"]())
    roles = {"roles": {"hips": "Pelvis", "left_thigh": "L_Hip", "left_shin": "L_Hip"}}
    (tmp_path / "rig.roles.json").write_text(json.dumps(roles))
    flags = ["--map", str(tmp_path / "rig.roles.json"), "-o", str(tmp_path / "o.xml")]
    assert cli.main(["body", "make", str(rig), *flags]) == 2
    assert "'L_Hip' is named twice: left_thigh and left_shin" in capsys.readouterr().err


def test_a_given_map_goes_with_the_body(tmp_path: Path) -> None:
    rig = write_rig(tmp_path / "rig.glb", PEOPLE["smpl"]())
    skeleton = PEOPLE["smpl"]().skeleton()
    roles = {role: skeleton.joints[j] for role, j in roles_of(skeleton).items()}
    roles.pop("left_clavicle")
    roles.pop("right_clavicle")
    (tmp_path / "rig.roles.json").write_text(json.dumps({"roles": roles}))
    out = tmp_path / "out.xml"
    flags = ["--map", str(tmp_path / "rig.roles.json"), "-o", str(out), "--no-check"]
    assert cli.main(["body", "make", str(rig), *flags]) == 0
    written = json.loads((tmp_path / "out.roles.json").read_text(encoding="utf-8"))
    assert written["roles"] == roles
    again = ["body", "make", str(rig), *flags[2:], "--force"]
    assert cli.main(again) == 0, "the map lies beside the rig"
    assert (tmp_path / "out.roles.json").exists()
    (tmp_path / "rig.roles.json").unlink()
    assert cli.main(again) == 0
    assert not (tmp_path / "out.roles.json").exists()
