#!/usr/bin/env python3
"""Make docs/images/NAME.gif and .png: one held-out episode in MuJoCo and in Godot.

An agent of the capsule plays the level once in each engine, and each draws its own episode.
An agent of a body with legs plays it once: both engines draw the same poses of the body,
from behind and through its eyes. Needs `godot/install_engine.sh --with-gl` and OpenGL for
MuJoCo.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ambulo.common.find_model import find_model
from ambulo.configs.errors import RenderError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.offscreen import Frame
from ambulo.evaluate.vr.episodes import LevelSource, episodes_for
from ambulo.evaluate.vr.evaluation import run_episodes
from ambulo.evaluate.vr.films import ENGINES, Engine, film_frames
from ambulo.evaluate.vr.reel import HUMAN, make_reel
from ambulo.evaluate.vr.scores import EpisodeRecord
from ambulo.evaluate.vr.subjects import agent_subject
from ambulo.policies.agents.navigation import Agent, load_agent

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZE = (480, 360)
"""Width and height of each view in the still picture, [px]."""
PARTS = {1: 0.8, 2: 0.62}
"""Largest scale of the views in the GIF, by the number of views below each other."""
SMALLER = 0.95
"""A GIF that is too large is made again, smaller by this."""
CAPTION = 30
"""Height of the line above the pictures, [px]."""
GAP = 4
"""Between the pictures, [px]."""
FPS = 10.0
COLOURS = {1: 160, 2: 88}
"""Colours of the GIF, by the number of views below each other."""
INK, PAPER = (32, 38, 44), (250, 250, 248)
TITLES: dict[Engine, str] = {"mujoco": "MuJoCo", "godot": "Godot 4"}
LARGEST = {".gif": 3_000_000, ".png": 400_000}
"""Largest files that are accepted, [bytes]."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the GIF and a still picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--family", default="pits")
    parser.add_argument("--index", type=int, default=1, help="of the held-out level")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="the GIF shows the last of them"
    )
    parser.add_argument(
        "--still", type=float, default=0.5, help="its place in the GIF, from 0 to 1"
    )
    parser.add_argument("--out", type=Path, default=IMAGES / "godot_beside_mujoco.gif")
    args = parser.parse_args(argv)
    agent = load_agent(find_model(args.model))
    films, records = _films(agent, args.family, args.index)
    count = max(len(film) for film in films)
    films = [film + [film[-1]] * (count - len(film)) for film in films]
    count = min(count, round(args.seconds * FPS))
    same = len(films) == 1
    captions = [_caption(name, record, same) for name, record in records.items()]
    sheets = [
        _sheet(np.concatenate(frames, axis=1), captions)
        for frames in list(zip(*films, strict=True))[-count:]
    ]
    still = args.out.with_suffix(".png")
    number = min(round(args.still * count), count - 1)
    sheets[number].quantize(256).save(still, optimize=True)
    args.out.write_bytes(_gif(sheets))
    for name, episode in records.items():
        print(
            f"{TITLES[name]}: {episode.level.name}: success {episode.success}, "
            f"{episode.time:.1f} s, {episode.path:.2f} m, {episode.collisions} collisions"
        )
    apart = _apart(*records.values())
    print(f"{count} frames; the players are at most {apart:.3f} m apart")
    for file in (args.out, still):
        size = file.stat().st_size
        print(f"{file}: {size} bytes")
        if size > LARGEST[file.suffix]:
            raise RenderError(f"{file}: {size} bytes, more than {LARGEST[file.suffix]}")
    return 0


def _films(
    agent: Agent, family: str, index: int
) -> tuple[list[list[Frame]], dict[Engine, EpisodeRecord]]:
    """The pictures of one or two films that stand side by side, and the episodes."""
    if agent.config.environment.body == "capsule":
        films, records = [], {}
        for engine in ENGINES:
            config = agent.config.override("environment", world=engine)
            records[engine] = _played(agent, config, family, index)
            reel = make_reel(records[engine], None, ("chase",), FPS)
            films.append(list(film_frames(reel, config, (engine,), SIZE)))
        return films, records
    config = agent.config.override("environment", world="mujoco", body=HUMAN)
    record = _played(agent, config, family, index)
    reel = make_reel(record, HUMAN, ("chase", "eyes"), FPS)
    frames = list(film_frames(reel, config, ENGINES, SIZE))
    return [frames], dict.fromkeys(ENGINES, record)


def _played(
    agent: Agent, config: NavigationConfig, family: str, index: int
) -> EpisodeRecord:
    """The agent's episode in the held-out level `index` of `family`."""
    source = LevelSource(config, level_set=family)
    bank, starts = episodes_for(source, index + 1)
    subject = agent_subject(agent, config)
    return run_episodes(
        subject.make(1), subject.config, bank, starts[index:], first=index
    ).episodes[0]


def _caption(engine: Engine, episode: EpisodeRecord, same: bool) -> str:
    """What stands above the pictures of an engine; `same`: they show one episode."""
    if same and engine == "godot":
        return f"{TITLES[engine]}   the same poses"
    return f"{TITLES[engine]}   {episode.time:.1f} s, {episode.collisions} collisions"


def _sheet(frame: Frame, captions: Sequence[str]) -> Image.Image:
    """The views (rows * height, 2 * width, 3) with gaps, and a line above each column."""
    width, height = SIZE
    rows = frame.shape[0] // height
    sheet = Image.new(
        "RGB", (2 * width + GAP, CAPTION + rows * (height + GAP) - GAP), PAPER
    )
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=18)
    for k, caption in enumerate(captions):
        x = k * (width + GAP)
        draw.text((x + 8, 4), caption, fill=INK, font=font)
        for row in range(rows):
            part = frame[row * height : (row + 1) * height, k * width : (k + 1) * width]
            sheet.paste(Image.fromarray(part), (x, CAPTION + row * (height + GAP)))
    return sheet


def _gif(sheets: Sequence[Image.Image]) -> bytes:
    """All frames with one palette and without dithering, as large as may be."""
    rows = round(sheets[0].height / SIZE[1])
    scale = PARTS[rows]
    while True:
        width, height = (round(scale * side) for side in sheets[0].size)
        small = [one.resize((width, height), Image.Resampling.BOX) for one in sheets]
        some = [np.asarray(one) for one in small[:: max(1, len(small) // 12)]]
        palette = Image.fromarray(np.concatenate(some)).quantize(
            COLOURS[rows], Image.Quantize.MEDIANCUT, kmeans=2
        )
        flat = [
            one.quantize(palette=palette, dither=Image.Dither.NONE) for one in small
        ]
        file = io.BytesIO()
        flat[0].save(
            file, "GIF", save_all=True, append_images=flat[1:], loop=0, optimize=True,
            duration=round(1000 / FPS),
        )  # fmt: skip
        if len(file.getvalue()) <= LARGEST[".gif"]:
            return file.getvalue()
        scale *= SMALLER


def _apart(one: EpisodeRecord, other: EpisodeRecord) -> float:
    """Largest distance at the same time, while both walk, [m]."""
    a, b = one.trace.position[:, :2], other.trace.position[:, :2]
    steps = min(len(a), len(b))
    return float(np.linalg.norm(a[:steps] - b[:steps], axis=1).max())


if __name__ == "__main__":
    sys.exit(main())
