"""Trackers in Blender: recordings become actions, empties move a whole body live."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from fixtures.armatures import NEAR, gap, target

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)
from ambulo_ik.binding import read_pose
from ambulo_ik.empties import read_targets
from ambulo_ik.session import SESSION, bound_to
from ambulo_ik.tracking import shape_on
from mathutils import Quaternion, Vector

from ambulo.ik.pose import fk
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.record_motion import record_motion
from ambulo.ik.trackers.recording import Recording, write_recording
from ambulo.ik.trackers.rig_poses import recording_on_rig, rig_targets
from ambulo.ik.trackers.session import track_recording
from ambulo.ik.trackers.shape import BodyShape
from ambulo.motion.gaits.generated_walks import generated_walks

ops = bpy.ops
THREE = ("Head", "LeftHand", "RightHand")


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Head and hands along two seconds of a walk, 60 rows a second."""
    return record_motion(generated_walks(60.0, 2.0)[5])


@pytest.fixture
def file(recording, tmp_path):
    path = tmp_path / "walk.trackers"
    write_recording(path, recording)
    return path


def poses_shown(context, armature, frames):
    """Joint positions and targets of the pose that Blender shows in each of `frames`."""
    binding, places, rows = bound_to(armature).binding, [], []
    for frame in frames:
        context.scene.frame_set(frame)
        pose = read_pose(armature, binding)
        places.append(fk(binding.rig, pose)[0][0])
        rows.append(Targets.of_pose(binding.rig, pose).positions[0])
    return np.array(places), np.array(rows)


def test_play_trackers_keys_the_tracked_body(context, armature, file, recording):
    context.scene.render.fps = 30
    assert ops.ambulo_ik.play_trackers(filepath=str(file)) == {"FINISHED"}
    rig = bound_to(armature).binding.rig
    tracked = track_recording(SESSION.tracker_network[1], recording, rate=30.0)
    _, targets = recording_on_rig(rig, tracked)
    action = armature.animation_data.action
    assert action.name == "walk"
    assert tuple(action.frame_range) == (1.0, float(len(targets)))
    _, shown = poses_shown(context, armature, range(1, len(targets) + 1))
    away = np.linalg.norm(shown - targets.positions, axis=-1)[:, :5]
    assert np.median(away) < NEAR
    assert (away < 5e-3).mean() > 0.95
    # It walks: the hips move on, and nothing is keyed twice as fast.
    speed = np.linalg.norm(shown[-1, 5] - shown[0, 5]) / (len(shown) / 30.0)
    truth = np.linalg.norm(recording.positions[-1, 4] - recording.positions[0, 4]) / 2.0
    assert speed == pytest.approx(truth, rel=0.15)


@pytest.mark.parametrize("size", [0.5, 2.0])
def test_an_armature_of_another_size_moves_as_far_as_its_size(
    context, armature, file, size
):
    ops.ambulo_ik.play_trackers(filepath=str(file))
    small, _ = poses_shown(context, armature, (5, 30))
    armature.scale = (size, size, size)
    context.view_layer.update()
    ops.ambulo_ik.play_trackers(filepath=str(file))
    large, _ = poses_shown(context, armature, (5, 30))
    assert np.abs(large - size * small).max() < 0.02 * size


def test_a_recording_on_high_ground_in_other_axes_stands_on_the_ground(
    context, armature, tmp_path
):
    motion = generated_walks(60.0, 2.0)[5]
    plain = record_motion(motion, axes="unreal")
    raised = dataclasses.replace(
        plain,
        header=plain.header.replace(ground=300.0),
        positions=plain.positions + np.array([0.0, 0.0, 3.0]),
    )
    write_recording(tmp_path / "high.trackers", raised)
    ops.ambulo_ik.play_trackers(filepath=str(tmp_path / "high.trackers"))
    shown, _ = poses_shown(context, armature, (10, 20, 40))
    assert -0.05 < shown[..., 2].min() < 0.1


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("", None, "choose a recording"),
        ("absent.trackers", None, "cannot be read"),
        ("bad.trackers", b"hello\n", "bad.trackers"),
        ("cut.trackers", "cut", "checksum"),
    ],
)
def test_bad_recordings_are_one_line_and_key_nothing(
    context, armature, file, tmp_path, name, content, text
):
    if content == "cut":
        content = file.read_bytes()[:-40]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RuntimeError) as error:
        ops.ambulo_ik.play_trackers(filepath=str(tmp_path / name) if name else "")
    message = str(error.value).strip()
    assert text in message
    assert len(message.splitlines()) == 1
    assert armature.animation_data is None


def test_a_file_that_is_no_body_tracker_is_refused(context, armature, file):
    context.scene.ambulo_ik.tracker_model = str(file)
    for operator, arguments in (
        (ops.ambulo_ik.play_trackers, {"filepath": str(file)}),
        (ops.ambulo_ik.follow_trackers, {}),
    ):
        with pytest.raises(RuntimeError, match="zip"):
            operator(**arguments)
    assert not armature.ambulo_ik.live


def placed(context, recording, names):
    """Empties of these names that are keyed along the recording, at 30 frames a second."""
    context.scene.render.fps = 30
    context.scene.frame_start, context.scene.frame_end = 1, len(recording) // 2
    for name in names:
        empty = bpy.data.objects.new(name, None)
        empty.rotation_mode = "QUATERNION"
        context.collection.objects.link(empty)
    return [bpy.data.objects[name] for name in names]


@pytest.fixture
def tracked(context, armature, recording):
    """The rig, and empties `Head`, `LeftHand` and `RightHand` that walk."""
    binding = bound_to(armature).binding
    empties = placed(context, recording, THREE)
    samples = list(recording.joints())[::2]
    back = Quaternion(binding.turn.tolist()).inverted()
    for frame, sample in enumerate(samples, start=1):
        targets = rig_targets(sample, binding.rig, BodyShape().ratios)
        for empty in empties:
            row = TARGETS.index(empty.name)
            joint = binding.rig.effectors[row]
            turn = Quaternion(targets.rotations[0, row].tolist())
            axes = Quaternion(binding.axes[joint].tolist())
            empty.location = back @ Vector(targets.positions[0, row].tolist())
            empty.rotation_quaternion = back @ turn @ axes
            empty.keyframe_insert("location", frame=frame)
            empty.keyframe_insert("rotation_quaternion", frame=frame)
    context.scene.frame_set(1)
    assert ops.ambulo_ik.follow_trackers() == {"FINISHED"}
    return armature


def test_empties_are_trackers_by_their_names(context, tracked, recording):
    for name in THREE:
        assert target(tracked, name).empty.name == name
    assert target(tracked, "Hips").empty is None
    feet = []
    for frame in range(1, 60):
        context.scene.frame_set(frame)
        for name in THREE:
            assert gap(tracked, name) < NEAR, (frame, name)
        feet.append(
            [tuple(tracked.pose.bones[f"{side}Foot"].matrix.translation)
             for side in ("Left", "Right")]
        )  # fmt: skip
    assert tracked.ambulo_ik.problem == ""
    assert tracked.ambulo_ik.tracker_note == ""
    # The legs are the network's: they walk, and the feet stay near the ground.
    feet = np.array(feet)
    assert np.ptp(feet[..., :2], axis=0).max() > 0.5
    assert -0.05 < feet[..., 2].min() < feet[..., 2].max() < 0.6
    steps = 30.0 * np.linalg.norm(np.diff(feet, axis=0), axis=-1)
    assert steps.max() < 8.0


def test_the_same_way_through_the_frames_gives_the_same_body(context, tracked):
    first, _ = poses_shown(context, tracked, range(1, 20))
    again, _ = poses_shown(context, tracked, range(1, 20))
    np.testing.assert_allclose(first, again, atol=1e-5)
    # A jump to a frame far away begins anew there, wherever it came from.
    context.scene.frame_set(50)
    there, _ = poses_shown(context, tracked, (50,))
    context.scene.frame_set(1)
    far, _ = poses_shown(context, tracked, (50,))
    np.testing.assert_allclose(there, far, atol=1e-5)


def test_an_empty_that_is_moved_in_a_frame_is_met_at_once(context, tracked):
    for frame in range(1, 10):
        context.scene.frame_set(frame)
    before, _ = poses_shown(context, tracked, (9,))
    target(tracked, "LeftHand").empty.location.z += 0.05
    context.view_layer.update()
    assert gap(tracked, "LeftHand") < NEAR
    after = read_pose(tracked, bound_to(tracked).binding)
    places = fk(bound_to(tracked).binding.rig, after)[0][0]
    feet = [bound_to(tracked).binding.rig.effectors[row] for row in (2, 3)]
    assert np.abs(places[feet] - before[0, feet]).max() < 2e-3


def test_baked_trackers_are_what_was_shown(context, tracked):
    context.scene.frame_end = 25
    context.scene.frame_set(1)
    shown, _ = poses_shown(context, tracked, range(1, 26))
    context.scene.frame_set(60)
    assert ops.ambulo_ik.bake() == {"FINISHED"}
    assert not tracked.ambulo_ik.live
    baked, _ = poses_shown(context, tracked, range(1, 26))
    assert np.abs(baked - shown).max() < 1e-3


def test_without_empties_head_and_hands_get_some(context, armature):
    assert ops.ambulo_ik.follow_trackers() == {"FINISHED"}
    made = {row.name for row in armature.ambulo_ik.targets if row.empty is not None}
    assert made == set(THREE)
    for name in THREE:
        assert gap(armature, name) < NEAR
    # The targets of the solver come back with Apply.
    ops.ambulo_ik.apply()
    assert not armature.ambulo_ik.tracking
    assert all(row.empty is not None for row in armature.ambulo_ik.targets)


def test_a_head_that_is_gone_is_told_and_the_pose_stays(context, tracked):
    context.scene.frame_set(5)
    bpy.data.objects.remove(target(tracked, "Head").empty)
    context.scene.frame_set(6)
    assert "an empty for the head" in tracked.ambulo_ik.problem
    shown, _ = poses_shown(context, tracked, (6, 7))
    assert np.ptp(shown, axis=0).max() < 1e-6


def test_a_saved_file_goes_on_tracking(context, tracked, tmp_path):
    file = tmp_path / "scene.blend"
    ops.wm.save_as_mainfile(filepath=str(file))
    ops.wm.read_factory_settings(use_empty=True)
    ops.wm.open_mainfile(filepath=str(file))
    armature = next(o for o in bpy.data.objects if o.type == "ARMATURE")
    for frame in (10, 11, 12):
        bpy.context.scene.frame_set(frame)
        assert armature.ambulo_ik.problem == ""
        for name in THREE:
            assert gap(armature, name) < NEAR


def test_proportions_are_the_armatures(context, armature):
    shape = shape_on(bound_to(armature))
    np.testing.assert_allclose(shape.ratios, 1.0, atol=1e-3)
    armature.scale = (3.0, 3.0, 3.0)
    context.view_layer.update()
    large = bound_to(armature)
    np.testing.assert_allclose(shape_on(large).ratios, 1.0, atol=1e-3)
    assert read_targets(armature, large.binding).positions.shape == (1, 6, 3)
