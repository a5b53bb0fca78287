"""Recorded episodes of a navigator in the hand-drawn levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.envs.vr.contract import BODY_HEIGHT, BODY_RADIUS
from ambulo.envs.vr.handmade import handmade_levels
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.navigator.planning import points_ahead
from ambulo.envs.vr.task.bank import LevelBank, Start
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch
from ambulo.policies.agents.navigation import load_agent
from ambulo.viz.page.bundle import PageError
from ambulo.viz.page.recording import (
    LINE_POINTS,
    Readout,
    Recording,
    Scene,
    Shape,
    packed,
    resampled,
)

FIRST = "library"
"""The first level of the page."""
WALL, LOW, FLOOR, HOLE = 0x7D8B99, 0xB08D57, 0xFFFFFF, 0x3A4048
BODY, NOSE, GOAL = 0x1F6FEB, 0xFFFFFF, 0x1A7F37
RAY, PLAN = 0xD29922, 0x8250DF
TALLEST = 1.6
"""Largest drawn height of walls, so that one can look into rooms, [m]."""
_AHEAD = np.linspace(0.5, 10.0, LINE_POINTS)
"""Distances of the line's points along the planned path, [m]."""


def navigator_data(model: str) -> dict[str, bytes]:
    """Return an episode of the agent `model` in each level.

    Raises:
        PageError: The agent's memory plans no path, or it does not reach a goal.
    """
    agent: Any = load_agent(find_model(model))
    levels = sorted(handmade_levels(), key=lambda level: level.name != FIRST)
    scenes = [scene_of(agent, level) for level in levels]
    radius, middle = BODY_RADIUS, 0.5 * BODY_HEIGHT
    shapes: list[Shape] = [
        _shape("capsule", (radius, middle - radius), (0.0, 0.0, middle), BODY, body=0),
        _shape("box", (0.15, 0.06, 0.06), (radius, 0.0, 1.6), NOSE, body=0),
    ]
    picture = "A level from above, with an agent that walks to its goal"
    readouts = (
        Readout("Distance to the goal", "m", 1), Readout("Walked", "m", 1),
        Readout("Collisions", "", 0), Readout("Probability of being lost", "%", 0),
    )  # fmt: skip
    names = ("sideways", "ahead", "turn")
    return packed(
        Recording(picture, 0.1, shapes, scenes, names, readouts, colours=(RAY, PLAN))
    )


def scene_of(agent: Any, level: Level) -> Scene:
    """Return the episode from the level's designed start, with the goal as it was drawn.

    Raises:
        PageError: The agent's memory plans no path, or it does not reach the goal.
    """
    assert level.start is not None, "levels drawn by hand have one"
    bank = LevelBank([level], np.random.default_rng(0))
    batch = make_batch(agent.config, 1, bank=bank)
    obs = batch.reset(np.array([0]), [Start(0, 0, level.start)])
    goal = batch.task.goal[0, :2].copy()
    scene = Scene(
        level.name.replace("_", " "), "It sees this level for the first time.",
        standing_shapes(level, goal), _view(level),
    )  # fmt: skip
    walked, collisions, done = 0.0, 0, False
    while not done:
        action = agent.act(obs)
        lost = 0.0 if agent.lost is None else float(agent.lost[0])
        away = float(np.hypot(*(goal - batch.world.state.position[0, :2])))
        numbers = np.array([away, walked, collisions, 100.0 * lost])
        scene.frames.append(frame_of(batch, action[0], numbers))
        obs, _, terminated, truncated, info = batch.step(action)
        walked += float(batch.world.state.path[0])
        collisions += int(info["collisions"][0])
        done = bool(terminated[0] or truncated[0])
    batch.close()
    if not info["is_success"][0]:
        raise PageError(f"level {level.name!r}: the agent did not reach its goal")
    return scene


def frame_of(
    batch: NavigationBatch, action: Floats, numbers: Floats
) -> dict[str, Floats]:
    """Return one frame: the body, its rays and its planned path."""
    state, navigator = batch.world.state, batch.memory.navigator
    if navigator is None:
        raise PageError("the page shows agents whose memory is the navigator's alone")
    place, yaw, count = state.position[0], float(state.yaw[0]), state.rays.shape[1]
    quat = [np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]
    angles = yaw + 2.0 * np.pi * np.arange(count) / count
    ways = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    eye = place + np.array([0.0, 0.0, 0.5])
    ends = eye + state.rays[0, :, None] * ways
    rays = [resampled(np.stack([eye, end])) for end in ends]
    ahead = np.zeros((1, LINE_POINTS, 3))
    points_ahead(np.arange(1), navigator.plans, state.position, _AHEAD, ahead)
    plan = resampled(np.concatenate([place[None], ahead[0]]))
    plan[:, 2] += 0.08
    return {
        "poses": np.concatenate([place, quat])[None],
        "lines": np.array([*rays, plan]),
        "values": np.append(np.zeros(count), 1.0),
        "bars": action,
        "readouts": numbers,
    }


def standing_shapes(level: Level, goal: Floats) -> list[Shape]:
    """Return floor, holes, obstacles and goal of a level, walls cut at `TALLEST`."""
    shapes = [_slab(level.bounds, -0.05, FLOOR)]
    shapes += [_slab(hole, -0.04, HOLE) for hole in level.holes]
    for x, y, z, a, b, c, yaw in level.boxes.tolist():
        low, high = max(z - c, 0.0), min(z + c, TALLEST)
        if high > low:
            colour = WALL if z + c >= TALLEST else LOW
            half = 0.5 * (high - low)
            shapes.append(_shape("box", (a, b, half), (x, y, low + half), colour, yaw))
    for x, y, radius, height, base in level.cylinders.tolist():
        half = 0.5 * min(height, TALLEST)
        shapes.append(_shape("cylinder", (radius, half), (x, y, base + half), LOW))
    x, y = goal.tolist()
    return [
        *shapes,
        _shape("cylinder", (1.0, 0.01), (x, y, 0.02), 0xB7E4C2),
        _shape("cylinder", (0.05, 1.2), (x, y, 1.2), GOAL),
        _shape("sphere", (0.22,), (x, y, 2.4), GOAL),
    ]


def _slab(bounds: Floats, height: float, colour: int) -> Shape:
    """Return an axis-aligned rectangle x0, y0, x1, y1 whose top is 0.05 above `height`."""
    x0, y0, x1, y1 = bounds.tolist()
    size = (0.5 * (x1 - x0), 0.5 * (y1 - y0), 0.05)
    return _shape("box", size, (0.5 * (x0 + x1), 0.5 * (y0 + y1), height), colour)


def _shape(
    kind: str, size: tuple[float, ...], pos: tuple[float, ...], colour: int,
    yaw: float = 0.0, **more: int,
) -> Shape:  # fmt: skip
    quat = [float(np.cos(0.5 * yaw)), 0.0, 0.0, float(np.sin(0.5 * yaw))]
    return {
        "type": kind,
        "size": size,
        "pos": pos,
        "quat": quat,
        "colour": colour,
        **more,
    }


def _view(level: Level) -> tuple[list[float], list[float]]:
    """Return eye and target of a camera that sees all of a level from above."""
    x0, y0, x1, y1 = level.bounds.tolist()
    x, y, far = 0.5 * (x0 + x1), 0.5 * (y0 + y1), 1.25 * max(x1 - x0, y1 - y0)
    return [x, y - 0.45 * far, 0.9 * far], [x, y, 0.0]
