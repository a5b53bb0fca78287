"""Every operator through bpy.ops, and the panel that shows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)

import ambulo_ik
from ambulo_ik import solver_checks
from ambulo_ik.session import SESSION, solve

import ambulo.shipped
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.rotations import quat_angle

ops = bpy.ops
MODULES = (
    ambulo_ik.operators_rig,
    ambulo_ik.operators_data,
    ambulo_ik.operators_network,
    ambulo_ik.operators_trackers,
)
SHIPPED = Path(ambulo.shipped.__path__[0])
BODY = str(SHIPPED / "ik_trackers" / "ik_trackers.zip")


def lines(context):
    return [(line.state, line.name) for line in context.scene.ambulo_ik.report]


def loaded_walk(tmp_path, walk):
    file = tmp_path / "walk.npz"
    write_motion(file, walk)
    ops.ambulo_ik.load_data(filepath=str(file))


def test_register_and_unregister_leave_nothing(context):
    classes = [cls for module in (*MODULES, ambulo_ik.panel) for cls in module.CLASSES]
    counts = {
        name: len(getattr(bpy.app.handlers, name))
        for name in ("depsgraph_update_post", "frame_change_post", "load_post")
    }
    ambulo_ik.unregister()
    try:
        assert not hasattr(bpy.types.Object, "ambulo_ik")
        assert not hasattr(bpy.types.Scene, "ambulo_ik")
        assert not any(cls.is_registered for cls in classes)
        for name, count in counts.items():
            assert len(getattr(bpy.app.handlers, name)) == count - 1
    finally:
        ambulo_ik.register()
    assert all(cls.is_registered for cls in classes)
    for name, count in counts.items():
        assert len(getattr(bpy.app.handlers, name)) == count


def test_panel_names_every_operator():
    text = Path(ambulo_ik.panel.__file__).read_text(encoding="utf-8")
    for module in MODULES:
        for cls in module.CLASSES:
            assert f'"{cls.bl_idname}"' in text, cls.bl_idname
    assert ambulo_ik.panel.AMBULO_PT_ik.bl_space_type == "VIEW_3D"
    assert ambulo_ik.panel.AMBULO_PT_ik.bl_region_type == "UI"


def test_add_rig_at_the_cursor(context):
    context.scene.cursor.location = (1.0, 2.0, 0.0)
    assert ops.ambulo_ik.add_rig() == {"FINISHED"}
    assert tuple(context.object.location) == pytest.approx((1.0, 2.0, 0.0))
    ops.ambulo_ik.add_rig()  # a second one beside it
    assert len([o for o in bpy.data.objects if o.type == "ARMATURE"]) == 2


def test_validate_fk_writes_a_report(context, armature):
    assert ops.ambulo_ik.validate_fk() == {"FINISHED"}
    assert [state for state, _ in lines(context)] == ["PASS", "PASS", "PASS"]
    assert (
        "Validate FK Pipeline: PASS" in bpy.data.texts["Ambulo IK report"].as_string()
    )


def test_extract_save_load(context, armature, tmp_path, walk_on_rig):
    loaded_walk(tmp_path, walk_on_rig)
    assert ops.ambulo_ik.key_data() == {"FINISHED"}
    context.scene.render.fps = 30
    ops.ambulo_ik.key_data()
    SESSION.data = None
    assert ops.ambulo_ik.extract_data() == {"FINISHED"}
    taken = SESSION.data.motion
    assert len(taken) == len(walk_on_rig)
    assert taken.fps == pytest.approx(30.0)
    assert np.abs(joint_positions(taken) - joint_positions(walk_on_rig)).max() < 1e-5
    file = tmp_path / "taken.npz"
    assert ops.ambulo_ik.save_data(filepath=str(file)) == {"FINISHED"}
    again = read_motion(file)
    assert quat_angle(again.rotations, walk_on_rig.rotations).max() < 1e-4
    SESSION.data = None
    assert ops.ambulo_ik.load_data(filepath=str(file)) == {"FINISHED"}
    assert len(SESSION.data.motion) == 20


def test_every_nth_frame(context, armature, tmp_path, walk_on_rig):
    loaded_walk(tmp_path, walk_on_rig)
    context.scene.render.fps = 30
    ops.ambulo_ik.key_data()
    context.scene.frame_set(7)
    context.scene.ambulo_ik.frame_step = 5
    ops.ambulo_ik.extract_data()
    assert len(SESSION.data.motion) == 4
    assert SESSION.data.motion.fps == pytest.approx(6.0)
    assert context.scene.frame_current == 7


def test_run_tests_on_starting_poses_and_on_data(
    context, armature, tmp_path, walk_on_rig
):
    assert ops.ambulo_ik.run_tests() == {"FINISHED"}
    states = dict((name.split(":")[0], state) for state, name in lines(context))
    assert states["All targets reached"] == "PASS", lines(context)
    assert states["Joint limits kept"] == "PASS"
    loaded_walk(tmp_path, walk_on_rig)
    ops.ambulo_ik.run_tests()
    assert lines(context)[0] == ("INFO", "Data: 20 poses in memory")
    assert "FAIL" not in [state for state, _ in lines(context)]


@pytest.mark.parametrize(
    ("operator", "arguments", "text"),
    [
        ("extract_data", {}, "select an armature"),
        ("validate_fk", {}, "select an armature"),
        ("run_tests", {}, "select an armature"),
        ("apply", {}, "select an armature"),
        ("save_data", {"filepath": "x.npz"}, "no poses in memory"),
        ("load_data", {"filepath": "absent.npz"}, "absent.npz"),
        ("load_weights", {"filepath": "absent.safetensors"}, "absent"),
        ("load_weights", {"filepath": ""}, "choose a network"),
        ("load_weights", {"filepath": BODY}, "Follow Trackers"),
        ("play_trackers", {"filepath": "absent.trackers"}, "select an armature"),
        ("follow_trackers", {}, "select an armature"),
    ],
)
def test_errors_are_one_line(context, operator, arguments, text):
    SESSION.data = None
    with pytest.raises(RuntimeError) as error:
        getattr(ops.ambulo_ik, operator)(**arguments)
    message = str(error.value).strip()
    assert text in message
    assert "Traceback" not in message
    assert len(message.splitlines()) == 1


def test_nothing_is_half_written(context, armature, tmp_path, walk_on_rig):
    loaded_walk(tmp_path, walk_on_rig)
    with pytest.raises(RuntimeError, match="must end in"):
        ops.ambulo_ik.save_data(filepath=str(tmp_path / "x.txt"), check_existing=False)
    with pytest.raises(RuntimeError):
        ops.ambulo_ik.save_data(filepath=str(tmp_path / "no folder" / "x.npz"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["walk.npz"]


def test_reset_weights(context, armature):
    context.scene.ambulo_ik.weights = "somewhere"
    assert ops.ambulo_ik.reset_weights() == {"FINISHED"}
    assert SESSION.network is None
    assert context.scene.ambulo_ik.weights == ""


def test_a_pose_that_is_no_number_keeps_no_limits(context, armature, monkeypatch):
    def damaged(bound, targets, base=None):
        solution = solve(bound, targets, base)
        solution.pose.rotations[0, 3] = np.nan
        return solution

    monkeypatch.setattr(solver_checks, "solve", damaged)
    ops.ambulo_ik.run_tests()
    states = dict((name.split(":")[0], state) for state, name in lines(context))
    assert states["Joint limits kept"] == "FAIL"


def test_the_network_that_comes_along(context, armature):
    assert ops.ambulo_ik.load_weights(shipped=True) == {"FINISHED"}
    assert SESSION.network is not None
    ops.ambulo_ik.run_tests()
    states = dict((name.split(":")[0], state) for state, name in lines(context))
    assert states["All targets reached"] == "PASS", lines(context)
    assert "Network alone" in states
    ops.ambulo_ik.reset_weights()
