from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixtures.motion_texts import ASF_ROOT

from ambulo.configs.errors import MotionFileError
from ambulo.motion.formats.asf import (
    asf_to_skeleton,
    read_asf,
    read_asf_skeleton,
    write_asf,
)
from ambulo.motion.kinematics import rest_positions
from ambulo.motion.rotations import quat_to_rotvec

ASF = f"""# a comment
:version 1.10
:name ARM
:units
  mass 1.0
  length 0.5   # inches times a half
  angle deg
:documentation
  two bones
  and a hand
{ASF_ROOT}  begin
    id 1
    name upper
    direction 1 0 0
    length 3
    axis 0 0 90 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 2
    name lower
    direction 0 1 0
    length 2
    axis 0 0 0 XYZ
    dof rz
    limits (0 inf)
    bodymass 3
    cofmass 1.0
  end
  begin
    id 3
    name hand
    direction 0 0 1
    length 1
    axis 30 0 0 XYZ
  end
:hierarchy
  begin
    lower hand
    root upper
    upper lower
  end
"""


def asf_file(tmp_path: Path, text: str = ASF) -> Path:
    path = tmp_path / "arm.asf"
    path.write_text(text)
    return path


def test_values(tmp_path: Path) -> None:
    asf = read_asf(asf_file(tmp_path))
    assert (asf.name, asf.length, asf.mass, asf.degrees) == ("ARM", 0.5, 1.0, True)
    assert asf.documentation == ("two bones", "and a hand")
    assert asf.metres == pytest.approx(2 * 0.0254)
    upper = asf.bone("upper")
    assert upper is not None
    assert (upper.dof, upper.axis) == (("rx", "ry", "rz"), (0.0, 0.0, 90.0))
    assert upper.limits == ((-160.0, 20.0), (-70.0, 70.0), (-60.0, 70.0))
    assert asf.bone("root") is None


def test_skeleton_in_our_axes(tmp_path: Path) -> None:
    skeleton = read_asf_skeleton(asf_file(tmp_path), metres=1.0)
    # Parents first, though the file's hierarchy is not.
    assert skeleton.joints == ("root", "upper", "lower", "hand")
    # Joints lie at the starts of bones. File x, y, z are our y, z, x: the upper bone of
    # length 3 goes to our left (y), the lower one of 2 up (z), the hand of 1 forward (x).
    np.testing.assert_array_equal(
        rest_positions(skeleton), [[0, 0, 0], [0, 0, 0], [0, 3, 0], [0, 3, 2]]
    )
    assert skeleton.tip_parents == (3,)
    np.testing.assert_array_equal(skeleton.tips, [[1, 0, 0]])
    # rx ry rz act about fixed axes: R = Rz Ry Rx, which in our letters is Rx Rz Ry.
    assert skeleton.orders == ("XZY", "XZY", "X", "")
    # The frame of the upper bone: 90 degrees about the file's z, our x.
    np.testing.assert_allclose(quat_to_rotvec(skeleton.axes[1]), [np.pi / 2, 0, 0])
    # Limits follow the order of the angles: first those of rz, then ry, rx.
    np.testing.assert_allclose(
        np.degrees(skeleton.limits[3:6]), [[-60, 70], [-70, 70], [-160, 20]]
    )
    np.testing.assert_allclose(np.degrees(skeleton.limits[6]), [0, 180])


def test_axis_angles_act_in_the_order_of_the_letters(tmp_path: Path) -> None:
    text = ASF.replace("axis 0 0 90 XYZ", "axis 90 0 90 XYZ")
    asf = read_asf(asf_file(tmp_path, text))
    frame = asf_to_skeleton(asf).axes[1]
    # First 90 degrees about x, then 90 about z (fixed axes): x -> y, y -> z, z -> x in the
    # file, a turn of 120 degrees about (1, 1, 1), which is so in our axes too.
    expected = np.full(3, 2 * np.pi / 3 / np.sqrt(3))
    np.testing.assert_allclose(quat_to_rotvec(frame), expected)


def test_radians(tmp_path: Path) -> None:
    text = ASF.replace("angle deg", "angle rad").replace("0 0 90", f"0 0 {np.pi / 2!r}")
    text = text.replace("-160.0", "-2.0")
    skeleton = read_asf_skeleton(asf_file(tmp_path, text))
    np.testing.assert_allclose(quat_to_rotvec(skeleton.axes[1]), [np.pi / 2, 0, 0])
    assert skeleton.limits[5, 0] == -2.0


def test_limits_of_the_wrong_order_are_sorted(tmp_path: Path) -> None:
    skeleton = read_asf_skeleton(
        asf_file(tmp_path, ASF.replace("-160.0 20", "20 -160"))
    )
    np.testing.assert_allclose(np.degrees(skeleton.limits[5]), [-160, 20])


def test_write_and_read_are_exact(tmp_path: Path) -> None:
    asf = read_asf(asf_file(tmp_path))
    path = tmp_path / "again.asf"
    write_asf(path, asf)
    assert read_asf(path) == asf


def test_real_skeletons_round_trip(cmu: Path, tmp_path: Path) -> None:
    found = sorted(cmu.glob("asfamc/*/*.asf"))
    assert found
    for path in found:
        asf = read_asf(path)
        write_asf(tmp_path / "out.asf", asf)
        assert read_asf(tmp_path / "out.asf") == asf
        skeleton = asf_to_skeleton(asf)
        assert len(skeleton) == 31
        assert sum(map(len, skeleton.orders)) == 59
        places = rest_positions(skeleton)
        head, toes = skeleton.index("head"), skeleton.index("ltoes")
        assert 1.2 < places[head, 2] - places[toes, 2] < 1.8
        assert places[skeleton.index("lhumerus"), 1] > 0.1


Change = Callable[[str], str]


@pytest.mark.parametrize(
    ("change", "line", "rule"),
    [
        (lambda t: t.replace("    lower hand\n", ""), 0, "'hand' is not joined"),
        (lambda t: t.replace("root upper", "hand upper"), 0, "not joined to the root"),
        (lambda t: t.replace("lower hand", "lower hand upper"), 49, "two parents"),
        (lambda t: t.replace("lower hand", "lower fist"), 48, "'fist' is no bone"),
        (lambda t: t.replace("upper lower", "upper root"), 50, "two parents"),
        (lambda t: t.replace("dof rz", "dof rz l"), 34, "change in length"),
        (lambda t: t.replace("dof rz", "dof rq"), 34, "rx ry rz"),
        (lambda t: t.replace("dof rz", "dof rz rz"), 34, "twice"),
        (lambda t: t.replace("           (-60.0 70.0)\n", ""), 25, "2 limits for 3"),
        (lambda t: t.replace("(0 inf)", "0 inf"), 35, "expected limits"),
        (lambda t: t.replace("(0 inf)", "(0 nan)"), 35, "not a number"),
        (lambda t: t.replace("length 2", "length two"), 32, "not a number"),
        (lambda t: t.replace("length 2", "length nan"), 32, "not a number"),
        (lambda t: t.replace("direction 0 1 0", "direction 0 1"), 31, "2 numbers"),
        (lambda t: t.replace("0 0 90 XYZ", "0 0 90 XXZ"), 22, "order of X, Y and Z"),
        (lambda t: t.replace("name lower", "name upper"), 28, "two bones"),
        (lambda t: t.replace("    name lower\n", ""), 28, "without name"),
        (lambda t: t.replace("angle deg", "angle turns"), 7, "deg or rad"),
        (lambda t: t.replace("length 0.5", "length 0"), 6, "above 0"),
        (lambda t: t.replace("TX TY TZ", "TX TX TZ"), 12, "each once"),
        (lambda t: t[: t.index(":hierarchy")], 0, "no :hierarchy"),
        (lambda t: t[: t.index(":bonedata")], 0, "no :bonedata"),
        (lambda t: t[: t.index("    bodymass")], 35, "ends where a bone's end"),
        (lambda t: t.replace("  end\n:hier", ":hier"), 45, "no end"),
    ],
)
def test_broken_rules(tmp_path: Path, change: Change, line: int, rule: str) -> None:
    path = asf_file(tmp_path, change(ASF))
    with pytest.raises(MotionFileError, match=rule) as caught:
        read_asf_skeleton(path)
    assert (caught.value.path, caught.value.line) == (path, line)
