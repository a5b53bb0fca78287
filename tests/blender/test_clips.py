"""Real clips: ours, through a BVH file and Blender's importer, and back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from fixtures.armatures import NEAR, gap, target

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)

from ambulo_ik.session import SESSION, bound_to

from ambulo.ik.rig import load_rig
from ambulo.motion.formats.files import read_motion, write_motion
from ambulo.motion.kinematics import joint_positions
from ambulo.motion.retargeting.retarget import retarget

ops = bpy.ops
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ambulo():
    """Function that runs an `ambulo` command in the environment that has all of it."""
    named = os.environ.get("AMBULO_PYTHON")
    python = Path(named) if named else ROOT / ".venv" / "bin" / "python"
    if not python.is_file():
        pytest.skip("no environment with the commands: `make setup`, or AMBULO_PYTHON")

    def run(*arguments):
        command = [str(python), "-m", "ambulo.cli", *map(str, arguments)]
        subprocess.run(command, check=True, timeout=120)

    return run


def imported(context, file, fps):
    """The armature that Blender's own importer makes of `file`."""
    context.scene.render.fps = fps
    ops.import_anim.bvh(
        filepath=str(file), axis_forward="-Z", axis_up="Y", global_scale=0.01
    )
    armature = context.object
    assert armature.type == "ARMATURE"
    return armature


def through_blender(context, motion, tmp_path):
    """`motion` written as BVH, imported, and extracted from the armature."""
    file = tmp_path / "clip.bvh"
    write_motion(file, motion)
    armature = imported(context, file, round(motion.fps))
    # What stands at rest has another roll at every bone, another height, another scale.
    assert ops.ambulo_ik.extract_data() == {"FINISHED"}
    return armature, SESSION.data.motion


def test_a_walk_through_bvh_and_back(context, tmp_path, walk_on_rig):
    armature, taken = through_blender(context, walk_on_rig, tmp_path)
    assert len(taken) == len(walk_on_rig)
    assert bound_to(armature).binding.size == pytest.approx(1.0, abs=1e-4)
    away = np.abs(joint_positions(taken) - joint_positions(walk_on_rig))
    assert away.max() < 2e-4
    context.scene.frame_set(5)
    assert ops.ambulo_ik.validate_fk() == {"FINISHED"}
    assert {line.state for line in context.scene.ambulo_ik.report} == {"PASS"}


def test_a_cmu_clip_through_bvh_and_back(context, tmp_path, cmu):
    rig = load_rig("ik23")
    captured = read_motion(cmu / "asfamc" / "02" / "02_01.amc")[:120:4]
    clip = retarget(captured, rig.skeleton).motion
    armature, taken = through_blender(context, clip, tmp_path)
    away = np.linalg.norm(joint_positions(taken) - joint_positions(clip), axis=-1)
    assert away.max() < 1e-3
    # And targets on the imported character, over its own action.
    context.scene.frame_set(10)
    ops.ambulo_ik.apply()
    hand = target(armature, "RightHand").empty
    hand.location.z += 0.05
    context.view_layer.update()
    assert gap(armature, "RightHand") < NEAR


def test_a_clip_is_loaded_onto_the_rig(context, armature, cmu):
    file = cmu / "asfamc" / "02" / "02_01.amc"
    assert ops.ambulo_ik.load_data(filepath=str(file)) == {"FINISHED"}
    assert SESSION.data.motion.skeleton.joints == load_rig("ik23").skeleton.joints
    SESSION.data = type(SESSION.data)(SESSION.data.motion[:40:4])
    context.scene.render.fps = 30
    ops.ambulo_ik.key_data()
    heights = []
    for frame in range(1, 11):
        context.scene.frame_set(frame)
        heights.append(armature.pose.bones["Hips"].matrix.translation.z)
    wanted = SESSION.data.motion.root_positions[:, 2]
    assert np.abs(np.array(heights) - wanted).max() < 1e-4


def misses(context, file):
    """From joints as our reader has them to the bones that Blender imports, [m]."""
    motion = read_motion(file)
    armature = imported(context, file, round(motion.fps))
    ours = joint_positions(motion)
    ours = np.stack([ours[..., 1], -ours[..., 0], ours[..., 2]], axis=-1)
    worst = 0.0
    for row, places in enumerate(ours):
        context.scene.frame_set(row + 1)
        bones = [armature.pose.bones[name] for name in motion.skeleton.joints]
        heads = np.array([armature.matrix_world @ bone.head for bone in bones])
        worst = max(worst, float(np.abs(heads - places).max()))
    return worst


def test_a_generated_walk_is_imported(context, tmp_path, ambulo):
    ambulo("gait", "generate", "--cycles", 2, "--out", tmp_path / "walk.bvh")
    assert misses(context, tmp_path / "walk.bvh") < 1e-5


def test_a_converted_clip_is_imported(context, tmp_path, ambulo, cmu):
    clip, out = cmu / "asfamc" / "02" / "02_01.amc", tmp_path / "clip.bvh"
    ambulo("data", "convert", clip, out, "--skeleton", "human23")
    assert misses(context, out) < 1e-5
