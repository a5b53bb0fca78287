"""Make docs/images/environments/: a film of every environment that has a body or a level.

    python tools/make_films.py [NAME ...] [--out FOLDER]

A film shows the shipped agent of the environment, or the built-in controllers where no agent is
shipped. It is an animated WebP, which browsers play in a page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import ambulo
from ambulo.viz.body_film import gait_frames

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "environments"
SECONDS, RATE = 6.0, 12.0
SIZE = (400, 300)
QUALITY = 45


@dataclass(frozen=True)
class Film:
    """Agent and environment of a film."""

    agent: str | None = None
    """A shipped model; None: actions of zero, which leave the built-in controllers."""
    settings: tuple[tuple[str, Any], ...] = ()
    """Keywords of the environment."""
    seed: int = 0


FILMS = {
    "EmbodiedNavigation": Film("embodied_navigation", (("body", "human23"),)),
    "Gait": Film("gait_walk"),
    "GetUp": Film(),
    "Imitate": Film("imitate_walk"),
    "Locomote": Film("locomote"),
    "Stand": Film(settings=(("push_impulse", (25, 35)), ("push_interval", (1, 2)))),
    "Track": Film("track"),
    "TrackBody": Film(),
    "VRNavigation": Film("vr_navigation", (("levels", ("furnished",)),)),
    "WalkCommands": Film("walk_commands"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the films and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="(default: all)")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args(argv)
    unknown = set(args.names) - FILMS.keys()
    if unknown:
        parser.error(f"no film of {', '.join(sorted(unknown))}: {', '.join(FILMS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or FILMS:
        file = args.out / f"{name}.webp"
        write_webp(file, frames_of(name, args.seconds))
        print(f"{file.name}: {file.stat().st_size / 1e3:.0f} kB")
    return 0


def frames_of(name: str, seconds: float) -> Iterator[NDArray[np.uint8]]:
    """Yield the pictures of an environment in action, `RATE` a second."""
    film = FILMS[name]
    settings = dict(film.settings)
    navigates = name.endswith("Navigation")
    agent: Any = None if film.agent is None else ambulo.load(film.agent)
    what = f"ambulo/{name}-v0" if agent is None else agent
    mode = {"render_mode": "rgb_array"} if navigates else {}
    env = ambulo.make(what, **mode, **settings)
    obs, _ = env.reset(seed=film.seed)
    act: Callable[[Any], Any] = (
        (lambda _: np.zeros(env.action_space.shape))
        if agent is None
        else lambda seen: agent.act(seen[None])[0]
    )
    try:
        yield from (played if navigates else posed)(env, obs, act, seconds)
    finally:
        env.close()


def played(
    env: Any, obs: Any, act: Callable[[Any], Any], seconds: float
) -> Iterator[NDArray[np.uint8]]:
    """Yield pictures that the environment draws of itself."""
    rate = env.metadata["render_fps"]
    every = max(1, round(rate / RATE))
    for step in range(round(seconds * rate)):
        obs, _, terminated, truncated, _ = env.step(act(obs))
        if step % every == 0:
            yield env.render()
        if terminated or truncated:
            obs, _ = env.reset()


def posed(
    env: Any, obs: Any, act: Callable[[Any], Any], seconds: float
) -> Iterator[NDArray[np.uint8]]:
    """Yield pictures of a body from the side."""
    batch = env.unwrapped.batch
    poses = []
    dt = float(batch.simulation.dt)
    for _ in range(round(seconds / dt)):
        obs, _, terminated, truncated, _ = env.step(act(obs))
        poses.append(np.array(batch.simulation.qpos[0]))
        if terminated or truncated:
            break
    every = max(1, round(1.0 / (dt * RATE)))
    model = batch.simulation.model
    yield from gait_frames(model, batch.character, np.array(poses), dt, every=every)


def write_webp(file: Path, frames: Iterator[NDArray[np.uint8]]) -> None:
    """Write a looping animated WebP."""
    small = [Image.fromarray(frame).convert("RGB").resize(SIZE) for frame in frames]
    small[0].save(
        file, save_all=True, append_images=small[1:], duration=round(1000 / RATE), loop=0,
        quality=QUALITY, method=6,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
