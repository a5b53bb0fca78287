"""Pictures of a replay: what the engine sent beside what the rig server answered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambulo.commands.rig.replay import Replay, errors_over_time
from ambulo.common.figures import new_figure, png_of
from ambulo.common.files import write_bytes
from ambulo.configs.arrays import Floats
from ambulo.rig_server.layout import LEGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REAL, PREDICTED = "0.45", "tab:orange"
_BONES = [(bone, parent) for bone, parent in enumerate(LEGS.parents) if parent >= 0]


def write_sheet(path: Path, replay: Replay, title: str, free: Floats | None) -> None:
    """A PNG: poses, errors over time, loss over time, and the free run if there is one.

    Args:
        path: The PNG.
        replay: What was sent and answered.
        title: Stands on top.
        free: World positions of a free run, [m]. Shape (k, 7, 3).
    """
    rows = 3 if free is None else 4
    figure = new_figure((11.0, 2.6 * rows))
    grid = figure.add_gridspec(rows, 6)
    answered = sorted(replay.predicted)
    picks = [answered[i] for i in np.linspace(0, len(answered) - 1, 6).astype(int)]
    for column, index in enumerate(picks):
        axes = figure.add_subplot(grid[0, column])
        _draw_legs(axes, replay.positions(index, real=True), REAL, 4.0)
        _draw_legs(axes, replay.positions(index, real=False), PREDICTED, 1.5)
        axes.set_title(f"frame {index}", fontsize=9)
        axes.set_aspect("equal")
        axes.axis("off")
    frames, distance, angle = errors_over_time(replay)
    axes = figure.add_subplot(grid[1, :])
    axes.plot(frames, distance, color="tab:blue", label="calf position [cm]")
    axes.plot(frames, angle, color="tab:red", label="calf orientation [deg]")
    axes.set_ylabel("error of the answer")
    axes.legend(loc="upper right", fontsize=8)
    axes.grid(alpha=0.3)
    axes = figure.add_subplot(grid[2, :])
    _draw_losses(axes, replay)
    if free is not None:
        axes = figure.add_subplot(grid[3, :])
        _draw_free_run(axes, replay, free)
    figure.suptitle(f"{title}: sent (grey) and predicted (orange)")
    figure.tight_layout()
    write_bytes(path, png_of(figure))


def write_film(path: Path, replay: Replay, fps: float) -> None:
    """A GIF or MP4 of the legs from the side, in real time."""
    from ambulo.envs.vr.world.render import write_video

    step = max(1, round(fps / 20.0))
    write_video(_film(replay, step), path, fps / step)


def _film(replay: Replay, step: int) -> Iterator[NDArray[np.uint8]]:
    figure = new_figure((3.6, 3.6))
    axes = figure.add_axes((0.0, 0.0, 1.0, 0.92))
    axes.set_aspect("equal")
    axes.axis("off")
    first = replay.positions(0, real=True)
    size = 1.3 * float(np.ptp(first[:, 2]))
    lines = [
        [axes.plot([], [], color=color, linewidth=width)[0] for _ in _BONES]
        for color, width in ((REAL, 5.0), (PREDICTED, 2.0))
    ]
    for index in range(0, len(replay.frames), step):
        root = replay.positions(index, real=True)[0]
        for real, group in zip((True, False), lines, strict=True):
            shown = real or index in replay.predicted
            for line, (bone, parent) in zip(group, _BONES, strict=True):
                line.set_visible(shown)
                if shown:
                    ends = replay.positions(index, real=real)[[parent, bone]]
                    line.set_data(ends[:, 0], ends[:, 2])
        axes.set_xlim(root[0] - 0.6 * size, root[0] + 0.6 * size)
        axes.set_ylim(root[2] - 1.05 * size, root[2] + 0.15 * size)
        axes.set_title(f"frame {index}", fontsize=9)
        canvas: Any = figure.canvas
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _draw_legs(axes: Axes, positions: Floats, color: str, width: float) -> None:
    for bone, parent in _BONES:
        ends = positions[[parent, bone]]
        axes.plot(
            ends[:, 0], ends[:, 2], color=color, linewidth=width, solid_capstyle="round"
        )


def _draw_losses(axes: Axes, replay: Replay) -> None:
    frames = [index for index, _ in replay.statuses]
    answers = [max(status.loss, 1e-12) for _, status in replay.statuses]
    network = [max(status.network_loss, 1e-12) for _, status in replay.statuses]
    axes.semilogy(frames, network, label="network alone")
    axes.semilogy(frames, answers, label="answer")
    axes.axhline(1e-3, color="0.6", linestyle="--")
    axes.set_ylabel("prequential loss [cm²]")
    axes.set_xlim(0, len(replay.frames))
    axes.legend(loc="upper right", fontsize=8)
    axes.grid(alpha=0.3)


def _draw_free_run(axes: Axes, replay: Replay, free: Floats) -> None:
    """Heights of both feet: the end of the stream, then the free run."""
    count = min(len(replay.frames), len(free))
    start = len(replay.frames) - count
    real = np.array(
        [replay.positions(i, real=True) for i in range(start, len(replay.frames))]
    )
    for bone, color in ((3, "tab:blue"), (6, "tab:green")):
        axes.plot(np.arange(-count, 0), 100.0 * real[:, bone, 2], color=color)
        axes.plot(
            np.arange(len(free)), 100.0 * free[:, bone, 2], color=color, linestyle="--"
        )
    axes.axvline(0.0, color="0.6")
    axes.set_ylabel("feet's height [cm]")
    axes.set_xlabel("frames; sent before 0, free run (dashed) after it")
    axes.grid(alpha=0.3)
