"""Make docs/images/overview.gif: ten seconds of an agent, two walkers and IK, side by side.

    python tools/make_overview.py [--films FOLDER]

The films are those of `ambulo eval NAME --video`; they are made where FOLDER lacks them,
which takes some minutes without a graphics card.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import imageio.v3 as iio
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FPS, SECONDS = 8, 10
CAPTION = 18
"""Height of a caption, [pixels]."""
FILMS: dict[str, tuple[str, ...]] = {
    "vr": (
        "vr_navigation", "--episodes", "9", "--baselines", "none",
        "--level-set", "rooms,clutter,pits",
    ),
    "walk": ("locomote", "--episodes", "4", "--push-episodes", "0"),
    "muscle": ("muscle_walk", "--episodes", "4", "--push-episodes", "0"),
}  # fmt: skip
"""Arguments of `ambulo eval` for each film."""
PANELS: dict[str, tuple[str, int, int, int, int]] = {
    "vr": ("VR navigation, a level it never saw", 0, 0, 720, 270),
    "walk": ("a walker that follows commands", 0, 288, 240, 180),
    "muscle": ("a walk by 80 muscles", 240, 288, 240, 180),
    "ik": ("full-body IK: look, reach, lean, step", 480, 288, 240, 180),
}
"""Caption, left edge, top edge, width and height of each panel, [pixels]."""


def main(argv: list[str] | None = None) -> int:
    """Write the animation and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--films", type=Path, help="folder of films to use and to keep")
    parser.add_argument("--out", type=Path, default=IMAGES / "overview.gif")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.films or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        panels = {name: panel_frames(name, folder) for name in PANELS}
    frames = [compose(panels, i) for i in range(FPS * SECONDS)]
    write_gif(args.out, frames)
    print(
        f"{args.out.name}: {len(frames)} frames, {args.out.stat().st_size / 1e6:.1f} MB"
    )
    return 0


def panel_frames(name: str, folder: Path) -> list[Image.Image]:
    """Return the frames of one panel at `FPS`, scaled to its size, for `SECONDS`."""
    _, _, _, width, height = PANELS[name]
    file = IMAGES / "ik_together.gif" if name == "ik" else folder / f"{name}.mp4"
    if not file.exists():
        command = ["-m", "ambulo.cli", "eval", *FILMS[name], "--no-report"]
        subprocess.run([sys.executable, *command, "--video", str(file)], check=True)
    film: NDArray[np.uint8] = iio.imread(file)
    meta = iio.immeta(file)
    rate = float(meta.get("fps") or 1000.0 / meta["duration"])
    times = np.arange(FPS * SECONDS) / FPS
    picks = (times * rate).astype(int) % len(film)
    return [
        Image.fromarray(film[i]).convert("RGB").resize((width, height)) for i in picks
    ]


def compose(panels: dict[str, list[Image.Image]], index: int) -> Image.Image:
    """Return frame `index` of the animation with a caption above each panel."""
    right = max(left + width for _, left, _, width, _ in PANELS.values())
    bottom = max(top + height for _, _, top, _, height in PANELS.values()) + CAPTION
    canvas = Image.new("RGB", (right, bottom), "white")
    draw = ImageDraw.Draw(canvas)
    for name, (caption, left, top, _, _) in PANELS.items():
        draw.text((left + 6, top + 3), caption, fill="black")
        canvas.paste(panels[name][index], (left, top + CAPTION))
    return canvas


def write_gif(file: Path, frames: list[Image.Image]) -> None:
    """Write a looping GIF whose frames share one palette."""
    palette = frames[len(frames) // 2].quantize(96, Image.Quantize.MAXCOVERAGE)
    small = [
        frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames
    ]
    small[0].save(
        file, save_all=True, append_images=small[1:], duration=1000 // FPS, loop=0
    )


if __name__ == "__main__":
    sys.exit(main())
