#!/usr/bin/env python3
"""Make docs/images/godot_beside_mujoco.gif: one held-out episode in both engines.

The shipped agent plays the level once in a Godot engine and once in MuJoCo; each engine
draws its own episode. Needs `godot/install_engine.sh --with-gl` and OpenGL for MuJoCo.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ambulo.common.find_model import find_model
from ambulo.configs.errors import RenderError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.world.render import EpisodeRenderer, Frame
from ambulo.evaluate.vr.evaluation import agent_subject, run_episodes
from ambulo.evaluate.vr.films import film_poses
from ambulo.evaluate.vr.scores import EpisodeRecord
from ambulo.policies.agents.navigation import Agent, load_agent
from ambulo.viz.godot_film import GodotFilm

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = (384, 288)
"""Width and height of each picture, [px]."""
CAPTION = 26
"""Height of the line above the pictures, [px]."""
GAP = 4
"""Between the pictures, [px]."""
FPS = 10.0
COLOURS = 160
INK, PAPER = (32, 38, 44), (250, 250, 248)
LARGEST = 3_000_000
"""Largest GIF that is accepted, [bytes]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the GIF and a still picture from its middle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--family", default="pits")
    parser.add_argument("--index", type=int, default=1, help="of the held-out level")
    parser.add_argument("--out", type=Path, default=IMAGES / "godot_beside_mujoco.gif")
    args = parser.parse_args(argv)
    agent = load_agent(find_model(args.model))
    godot, mujoco = (
        _played(
            agent,
            agent.config.override("environment", world=world),
            args.family,
            args.index,
        )
        for world in ("godot", "mujoco")
    )
    left, right = (
        list(_godot_frames(godot, agent.config)),
        list(_mujoco_frames(mujoco, agent.config)),
    )
    count = max(len(left), len(right))
    left += [left[-1]] * (count - len(left))
    right += [right[-1]] * (count - len(right))
    captions = (_caption("Godot 4", godot), _caption("MuJoCo", mujoco))
    sheets = [_side_by_side(pair, captions) for pair in zip(left, right, strict=True)]
    _write_gif(sheets, args.out)
    still = args.out.with_suffix(".png")
    sheets[count // 2].save(still, optimize=True)
    size = args.out.stat().st_size
    print(f"{args.out}: {count} frames, {size / 1e6:.2f} MB; {still}")
    for name, episode in (("Godot", godot), ("MuJoCo", mujoco)):
        print(
            f"{name}: {episode.level.name}: success {episode.success}, "
            f"{episode.time:.1f} s, {episode.path:.2f} m, {episode.collisions} collisions"
        )
    apart = _apart(godot, mujoco)
    print(f"distance between the two envs: at most {apart:.3f} m")
    if size > LARGEST:
        raise RenderError(f"{args.out}: {size} bytes, more than {LARGEST}")
    return 0


def _played(
    agent: Agent, config: NavigationConfig, family: str, index: int
) -> EpisodeRecord:
    """The agent's episode in the held-out level `index` of `family`."""
    from ambulo.evaluate.vr.episodes import LevelSource, episodes_for

    source = LevelSource(config, level_set=family)
    bank, starts = episodes_for(source, index + 1)
    subject = agent_subject(agent, config)
    return run_episodes(
        subject.make(1), subject.config, bank, starts[index:], first=index
    ).episodes[0]


def _godot_frames(episode: EpisodeRecord, config: NavigationConfig) -> Iterator[Frame]:
    poses, radius = film_poses(episode.trace, FPS), config.environment.goal_radius
    spec = WorldSpec.from_config(config)
    with GodotFilm(episode.level, poses, spec, goal_radius=radius, size=SIZE) as film:
        yield from film.frames()


def _mujoco_frames(episode: EpisodeRecord, config: NavigationConfig) -> Iterator[Frame]:
    poses, radius = film_poses(episode.trace, FPS), config.environment.goal_radius
    with EpisodeRenderer(episode.level, *SIZE, goal_radius=radius) as renderer:
        for k, (x, y, z, yaw, heading) in enumerate(poses):
            yield renderer.frame(
                np.array([x, y, z]), yaw, episode.level.goal, poses[: k + 1, :2],
                heading=heading,
            )  # fmt: skip


def _caption(engine: str, episode: EpisodeRecord) -> str:
    return f"{engine}   {episode.time:.1f} s, {episode.collisions} collisions"


def _side_by_side(pair: tuple[Frame, Frame], captions: tuple[str, str]) -> Image.Image:
    width, height = SIZE
    sheet = Image.new("RGB", (2 * width + GAP, height + CAPTION), PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=15)
    for k, (frame, caption) in enumerate(zip(pair, captions, strict=True)):
        x = k * (width + GAP)
        sheet.paste(Image.fromarray(frame), (x, CAPTION))
        draw.text((x + 8, 4), caption, fill=INK, font=font)
    return sheet


def _write_gif(sheets: Sequence[Image.Image], file: Path) -> None:
    """All frames with one palette and without dithering, which keeps the file small."""
    some = [np.asarray(sheet) for sheet in sheets[:: max(1, len(sheets) // 12)]]
    palette = Image.fromarray(np.concatenate(some)).quantize(
        COLOURS, Image.Quantize.MEDIANCUT, kmeans=2
    )
    flat = [
        sheet.quantize(palette=palette, dither=Image.Dither.NONE) for sheet in sheets
    ]
    flat[0].save(
        file, save_all=True, append_images=flat[1:], loop=0, optimize=True,
        duration=round(1000 / FPS),
    )  # fmt: skip


def _apart(one: EpisodeRecord, other: EpisodeRecord) -> float:
    """Largest distance at the same time, while both walk, [m]."""
    a, b = one.trace.position[:, :2], other.trace.position[:, :2]
    steps = min(len(a), len(b))
    return float(np.linalg.norm(a[:steps] - b[:steps], axis=1).max())


if __name__ == "__main__":
    sys.exit(main())
