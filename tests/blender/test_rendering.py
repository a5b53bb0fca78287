"""A rendered animation shows the character at its targets, not the action alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from fixtures.armatures import target

bpy = pytest.importorskip(
    "bpy", reason="no Blender here (the bpy wheel): run `make test-blender`"
)

ops = bpy.ops
PIXELS, WIDTH = 64, 2.0  # of a picture, and what it shows, [m]


def ball_on(armature, bone):
    """A shining ball at the tail of a bone."""
    ops.mesh.primitive_uv_sphere_add(radius=0.06)
    ball = bpy.context.object
    ball.parent, ball.parent_type, ball.parent_bone = armature, "BONE", bone
    ball.location = (0.0, 0.0, 0.0)
    material = bpy.data.materials.new("light")
    material.use_nodes = True
    nodes = material.node_tree.nodes
    nodes.clear()
    shine, out = (
        nodes.new("ShaderNodeEmission"),
        nodes.new("ShaderNodeOutputMaterial"),
    )
    material.node_tree.links.new(shine.outputs[0], out.inputs[0])
    ball.data.materials.append(material)
    return ball


def look_at(scene, place):
    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    scene.collection.objects.link(camera)
    scene.camera = camera
    camera.data.type, camera.data.ortho_scale = "ORTHO", WIDTH
    camera.location = (place.x, place.y - 5.0, place.z)
    camera.rotation_euler = (math.pi / 2.0, 0.0, 0.0)


def centre(file):
    """Middle of what shines, right and up from the middle of the picture, [m]."""
    image = bpy.data.images.load(str(file))
    pixels = np.array(image.pixels[:]).reshape(PIXELS, PIXELS, 4)[..., 0]
    up, right = np.nonzero(pixels > 0.3)
    assert len(up)
    middle = 0.5 * (PIXELS - 1)
    return (np.array([right.mean(), up.mean()]) - middle) * WIDTH / PIXELS


def test_a_rendered_animation_shows_the_targets(context, armature, tmp_path, cmu):
    ops.ambulo_ik.load_data(filepath=str(cmu / "asfamc/02/02_01.amc"))
    ops.ambulo_ik.load_weights(shipped=True)
    ops.ambulo_ik.key_data()
    scene = context.scene
    scene.frame_set(60)
    ops.ambulo_ik.apply()
    hand = target(armature, "LeftHand").empty
    hand.location.z += 0.2
    context.view_layer.update()
    place = hand.matrix_world.translation.copy()
    ball = ball_on(armature, "LeftHand")
    context.view_layer.update()
    # The hand is led in place and orientation: the ball stands still while the body walks.
    right_up = np.array(ball.matrix_world.translation - place)[[0, 2]]
    look_at(scene, place)
    render = scene.render
    render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.use_denoising = 4, False
    render.resolution_x = render.resolution_y = PIXELS
    render.image_settings.file_format = "PNG"
    render.filepath = str(tmp_path / "frame_")
    scene.frame_start, scene.frame_end = 61, 63
    ops.render.render(animation=True)
    for frame in range(61, 64):
        seen = centre(tmp_path / f"frame_{frame:04d}.png")
        assert np.abs(seen - right_up).max() < WIDTH / PIXELS, frame
