"""The trial `reaches`: hands led to points of all heights, standing and while walking up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from ambulo.configs.arrays import Bools, Floats
from ambulo.configs.errors import ConfigError
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.evaluate.locomotion.trials import Row, Run, by_row

HEIGHTS = (0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.6)
"""Heights of the points, [m]."""
COMING = {"standing": 0.0, "walking up": 0.5}
"""How bodies come to the point: speed of the walk, [m/s]."""
AHEAD, ASIDE = (0.2, 0.45), 0.3
"""Range of the way from between the shoulders ahead, and to either side, [m]."""
FIRST, LAST, SECONDS = 3.0, 8.0, 11.0
"""When points are given and taken away, and how long bodies are watched, [s]."""
MET = 0.05
"""A palm nearer to its point than this has met it, [m]."""
HELD = 1.0
"""How long it shall, before the point is taken away, [s]."""
STOP_TIME = 0.4
"""A walking body stops about as far ahead as it goes in this time, [s]."""
_STREAM = 78


def reaches(run: Run, each: int, seed: int) -> Iterator[Row]:
    """Yield one row for each height and way of coming, `each` bodies a row."""
    grid = list(product(COMING, HEIGHTS))
    commands = np.array(
        [(COMING[how], 0.0, 0.0) for how, _ in grid for _ in range(each)]
    )
    points = _Points(np.repeat([height for _, height in grid], each), seed)
    course = run(commands, SECONDS, event=points.lead)
    met, first = points.met(course.dt)
    for (how, height), mine in by_row(grid, each, course):
        yield {
            "while": how, "height": height, "bodies": float(each),
            "survival": float(course.survived[mine].mean()),
            "met": float((met & course.survived)[mine].mean()),
            "error": float(np.median(points.error[-1][mine])),
            "time": float(np.median(first[mine])),
        }  # fmt: skip


class _Points:
    """Points near bodies, and how far the palms are from them, step by step."""

    def __init__(self, heights: Floats, seed: int) -> None:
        rng = np.random.default_rng([seed, _STREAM])
        self._heights = heights
        self._ahead = rng.uniform(*AHEAD, len(heights))
        self._left = rng.uniform(-ASIDE, ASIDE, len(heights))
        self._points: Floats = np.zeros((len(heights), 3))
        self.error: list[Floats] = []
        """Distance of the nearer palm while points are there, (N,) each, [m]."""

    def lead(self, batch: WalkingBatch, step: int) -> None:
        """Give points, watch palms, take the points away.

        Raises:
            ConfigError: Bodies whose hands are not led: those of the user's own.
        """
        if not isinstance(batch, WalkCommandsBatch):
            raise ConfigError(
                f"{batch.character.name}: only human23 reaches for points"
            )
        every, at = np.arange(batch.num_envs), step * batch.simulation.dt
        if step == round(FIRST / batch.simulation.dt):
            self._place(batch)
            batch.set_command(every, *np.zeros((3, len(every))))
            batch.reach(every, self._points)
            batch.look_at(every, self._points)
        elif step == round(LAST / batch.simulation.dt):
            nothing = np.full_like(self._points, np.nan)
            batch.reach(every, nothing)
            batch.look_at(every, nothing)
        if FIRST < at < LAST:
            away = batch.arms.palms() - self._points[:, None]
            self.error.append(np.linalg.norm(away, axis=2).min(axis=1))

    def met(self, dt: float) -> tuple[Bools, Floats]:
        """Who met the point and held it, (N,), and after which time, [s], (N,)."""
        near = np.array(self.error) < MET
        first = np.where(near.any(axis=0), near.argmax(axis=0) * dt, np.inf)
        held = near[-round(HELD / dt) :].all(axis=0)
        return np.asarray(held), first

    def _place(self, batch: WalkCommandsBatch) -> None:
        """Points ahead of the shoulders; of walking bodies, of where they will stand."""
        yaw = batch.reference_frame[:, 2] + batch.state.yaw
        c, s = np.cos(yaw), np.sin(yaw)
        middle = batch.arms.shoulders().mean(axis=1)
        ahead = self._ahead + np.maximum(batch.state.heading[:, 0], 0.0) * STOP_TIME
        self._points[:, 0] = middle[:, 0] + c * ahead - s * self._left
        self._points[:, 1] = middle[:, 1] + s * ahead + c * self._left
        self._points[:, 2] = self._heights
