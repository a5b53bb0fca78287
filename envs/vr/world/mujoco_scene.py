"""MuJoCo models of a level for rendering; nothing in them moves by itself."""

from __future__ import annotations

import mujoco
import numpy as np

from ambulo.envs.vr.contract import (
    BODY_HEIGHT,
    BODY_RADIUS,
    EYE_HEIGHT,
    HAND_OFFSET,
)
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.solids import Solids
from ambulo.envs.vr.world.level_geoms import (
    FLOOR,
    UPPER_FLOOR,
    add_level,
    add_visual,
)

PLAYER = "player"
"""Name of the player's body."""

_HEAD_RADIUS = 0.13
_HAND_RADIUS = 0.06
BEAM = 6.0
"""Height of the goal's beam, as in Godot, visible over walls, [m]."""


def render_model(
    level: Level,
    width: int,
    height: int,
    goal_radius: float = 1.0,
    character: mujoco.MjSpec | None = None,
    eye_height: float = EYE_HEIGHT,
) -> mujoco.MjModel:
    """The visual model of a level, for frames of `width` x `height` pixels.

    Mocap bodies: `player` (origin at the XR origin), whose eyes are at `eye_height` [m], and
    `goal`. With the model of a `character`, `qpos` is that of the character, and there is no
    player.
    """
    spec = mujoco.MjSpec() if character is None else character
    spec.visual.global_.offwidth = width
    spec.visual.global_.offheight = height
    spec.visual.quality.shadowsize = 4096
    spec.visual.headlight.ambient = [0.40, 0.40, 0.43]
    spec.visual.headlight.diffuse = [0.18, 0.18, 0.18]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.visual.map.znear = 0.005
    spec.visual.map.zfar = 6.0
    # With a smaller value, the floor's corner nearest to the sun has shadow artefacts.
    spec.visual.map.shadowclip = 1.0
    spec.stat.center = [*(0.5 * (level.bounds[:2] + level.bounds[2:])), 0.0]
    low, high = (
        Solids.of(level, as_drawn=True)
        .floor_heights()
        .clip([-np.inf, 0.0], [0.0, np.inf])
    )
    sides = np.ptp(level.bounds.reshape(2, 2), axis=0)
    # The depth range grows with it, and must hold the view from above.
    spec.stat.extent = max(*sides.tolist(), (high + BEAM - low) / 2)
    _add_looks(spec)
    if character is None:
        _add_player(spec.worldbody, eye_height / EYE_HEIGHT)
    else:
        spec.delete(spec.geom("floor"))
        for geom in spec.geoms:
            geom.rgba = SKIN
    add_level(spec, level)
    goal = spec.worldbody.add_body(name="goal", mocap=True)
    add_visual(
        goal, "CYLINDER", [goal_radius, 0.015, 0], [0, 0, 0.02], [0.2, 0.9, 0.35, 0.9]
    )
    beam = [0.06, BEAM / 2, 0]
    add_visual(goal, "CYLINDER", beam, [0, 0, BEAM / 2], [0.2, 0.9, 0.35, 0.35])
    return spec.compile()


def _add_looks(spec: mujoco.MjSpec) -> None:
    kinds, patterns = mujoco.mjtTexture, mujoco.mjtBuiltin
    sky = kinds.mjTEXTURE_SKYBOX, patterns.mjBUILTIN_GRADIENT
    checker = kinds.mjTEXTURE_2D, patterns.mjBUILTIN_CHECKER
    for name, (kind, pattern), first, second in (
        ("sky", sky, [0.70, 0.82, 0.94], [0.16, 0.20, 0.28]),
        (FLOOR, checker, [0.80, 0.82, 0.85], [0.66, 0.69, 0.74]),
        (UPPER_FLOOR, checker, [0.88, 0.80, 0.66], [0.78, 0.68, 0.54]),
    ):
        spec.add_texture(
            name=name, type=kind, builtin=pattern,
            rgb1=first, rgb2=second, width=256, height=256,
        )  # fmt: skip
    for name in (FLOOR, UPPER_FLOOR):
        floor = spec.add_material(
            name=name, texrepeat=[1, 1], texuniform=True, specular=0.1
        )
        textures = list(floor.textures)
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
        floor.textures = textures
    sun = np.array([0.3, 0.2, -1.0])
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=spec.stat.center - spec.stat.extent * sun,
        dir=sun,
        diffuse=[0.45, 0.45, 0.43],
        specular=[0.1, 0.1, 0.1],
        castshadow=True,
    )


SKIN = [0.22, 0.38, 0.80, 1.0]
"""Colour of players and bodies."""


def _add_player(world: mujoco.MjsBody, scale: float) -> None:
    """A body whose height is `scale` times the usual one."""
    player = world.add_body(name=PLAYER, mocap=True)
    tall = BODY_HEIGHT * scale
    shoulder = tall - 2 * _HEAD_RADIUS
    straight = max(shoulder / 2 - BODY_RADIUS, 0.01)
    add_visual(
        player, "CAPSULE", [BODY_RADIUS, straight, 0],
        [0, 0, shoulder / 2], SKIN,
    )  # fmt: skip
    head = [0, 0, tall - _HEAD_RADIUS]
    add_visual(player, "SPHERE", [_HEAD_RADIUS, 0, 0], head, [0.93, 0.78, 0.66, 1.0])
    visor = [_HEAD_RADIUS * 0.8, 0, head[2]]
    add_visual(player, "BOX", [0.05, 0.1, 0.05], visor, [0.1, 0.1, 0.12, 1.0])
    ahead, left, up = (scale * offset for offset in HAND_OFFSET)
    for side in (left, -left):
        add_visual(
            player, "SPHERE", [_HAND_RADIUS, 0, 0], [ahead, side, up],
            [0.95, 0.75, 0.2, 1.0],
        )  # fmt: skip
