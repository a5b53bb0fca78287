"""Films of generated gaits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.common.gl import import_mujoco
from ambulo.configs.arrays import Floats
from ambulo.motion.contacts import foot_contacts
from ambulo.motion.motion import Motion
from ambulo.policies.agents.gait_network import RefNetwork
from ambulo.viz.skeleton_actor import Actor, actor_of
from ambulo.viz.skeleton_film import PANEL, RATES, write_film
from ambulo.viz.skeleton_view import (
    DARK,
    THREE_QUARTER,
    draw_actor,
    draw_strokes,
    ground_strokes,
    shadow_strokes,
)

LEAD = 2
"""Cycles in front of a film and behind it, in which contacts settle."""
TILE = 0.5
"""About how far the lines on the ground are apart, [m]."""
_DPI = 100


def write_walk(path: Path, network: RefNetwork, values: Floats, cycles: int) -> Path:
    """A film of a walk that loops without a seam, in real time.

    Args:
        path: .gif or .mp4.
        network: What says how the walk is.
        values: Its parameters (P,), in their units.
        cycles: Shown.

    Raises:
        RenderError: The encoder fails.
    """
    named = network.space.named(values)
    label = f"stride {named['stride']:.2f}, cadence {named['cadence']:.2f}"
    fps = RATES[path.suffix.lower()]
    motion = network.to_motion(values, cycles + 2 * LEAD, fps)
    return _write_loop(path, [_shown(motion, cycles, label)], motion.fps)


def write_varied(path: Path, network: RefNetwork, cycles: int = 2) -> Path:
    """Walks side by side: the shortest, the healthy and the longest stride.

    All have the healthy cadence, so that they step together.
    """
    space, fps = network.space, RATES[path.suffix.lower()]
    k = space.index("stride")
    actors = []
    strides = [space.low[k], space.default[k], space.high[k]]
    if "stride" in network.held:
        strides = [network.held["stride"]]
    for value in strides:
        motion = network.to_motion(
            network.vector(stride=float(value)), cycles + 2 * LEAD, fps
        )
        fps = motion.fps
        actors.append(_shown(motion, cycles, f"stride {value:.2f}"))
    return _write_loop(path, actors, fps, panel=320)


def write_comparison(path: Path, motions: Sequence[Motion]) -> Path:
    """A film of motions of one length side by side; the first is a shadow of the others."""
    actors = [
        actor_of(motion, contacts=foot_contacts(motion), label=motion.name)
        for motion in motions
    ]
    ground = actors[0].ground
    return write_film(
        path,
        [replace(actor, ground=ground) for actor in actors],
        motions[0].fps,
        ghost=True,
        panel=320,
    )


def _shown(motion: Motion, cycles: int, label: str) -> Actor:
    """The cycles in the middle of a motion that has `LEAD` more at both ends.

    A frame more than they have, at which they begin again.
    """
    frames = len(motion) // (cycles + 2 * LEAD)
    contacts = foot_contacts(motion)
    shown = slice(LEAD * frames, (LEAD + cycles) * frames + 1)
    return actor_of(motion[shown], contacts=contacts[shown], label=label)


def _write_loop(
    path: Path, actors: Sequence[Actor], fps: float, panel: int = PANEL
) -> Path:
    import_mujoco()
    from ambulo.envs.vr.world.render import write_video

    return write_video(_loop_frames(actors, panel), path, fps=fps)


def _loop_frames(actors: Sequence[Actor], panel: int) -> Iterator[NDArray[np.uint8]]:
    """Pictures (H, W, 3) of all frames but the last, in which the walks begin again.

    The camera goes along evenly, and the way of the film is a whole number of tiles: so
    neither jumps where the film begins again.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = (len(actors) * panel / _DPI, panel / _DPI)
    figure = Figure(figsize=size, dpi=_DPI, facecolor=DARK.background)
    canvas: Any = FigureCanvasAgg(figure)
    tall = max(float(np.ptp(actor.positions[..., 2])) for actor in actors)
    axes = []
    for k, actor in enumerate(actors):
        ax = figure.add_axes((k / len(actors), 0.0, 1.0 / len(actors), 1.0))
        ax.set_axis_off()
        ax.set_xlim(-0.62 * tall, 0.62 * tall)
        ax.set_ylim(-0.62 * tall, 0.62 * tall)
        ax.text(
            0.04, 0.95, actor.label, color=DARK.text, transform=ax.transAxes, va="top",
            fontsize=11, parse_math=False,
        )  # fmt: skip
        axes.append(ax)
    count = min(len(actor) for actor in actors) - 1
    for frame in range(count):
        for ax, actor in zip(axes, actors, strict=True):
            for artist in [*ax.collections, *ax.patches]:
                artist.remove()
            target, step = _target(actor, frame)
            ground = ground_strokes(
                THREE_QUARTER, target, DARK, height=actor.ground, step=step
            )
            draw_strokes(ax, ground, zorder=1.0)
            shadow = shadow_strokes(actor, frame, THREE_QUARTER, target, DARK)
            draw_strokes(ax, shadow, zorder=1.5)
            draw_actor(ax, actor, frame, THREE_QUARTER, target, DARK)
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _target(actor: Actor, frame: int) -> tuple[Floats, float]:
    """Where the camera looks in a frame, [m], (3,), and the size of a tile, [m]."""
    last = len(actor) - 1
    way = float(actor.root[-1, 0] - actor.root[0, 0])
    step = way / max(round(way / TILE), 1)
    ahead = np.arange(last + 1) / last * way
    place = actor.root[:, 0] - ahead
    middle = 0.5 * (actor.positions[..., 2].min() + actor.positions[..., 2].max())
    centre = [place.mean() + ahead[frame], actor.root[:, 1].mean(), middle]
    return np.array(centre), step
