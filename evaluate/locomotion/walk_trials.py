"""The trials: envelope, stops, walls, pushes, sweeps and reaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.errors import ConfigError
from ambulo.envs.simulation.touch import BOXES, WALLS
from ambulo.envs.tasks.walk_commands.batch import WalkCommandsBatch
from ambulo.envs.tasks.walk_commands.commands import within_envelope
from ambulo.envs.tasks.walk_commands.walking import WalkingBatch
from ambulo.evaluate.locomotion.trials import (
    SURVIVAL,
    Course,
    Event,
    Row,
    Trial,
    rate_of,
)
from ambulo.evaluate.shared.choices import chosen
from ambulo.evaluate.shared.result import MetricColumn

SPEEDS = (-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6)
TURNS = (-120.0, -90.0, -60.0, -30.0, 0.0, 30.0, 60.0, 90.0, 120.0)
SIDES = (-0.3, -0.1, 0.1, 0.3)
SETTLED, COMMAND_SECONDS = 4.0, 12.0
"""When a command counts as settled into, and how long it is given, [s]."""
SPEED_ERROR, TURN_ERROR = 0.05, 5.0
"""Errors of the mean, [m/s] and [deg/s], within which a command counts as followed."""
STOP_SPEEDS, STOP_AFTER, STAND_SECONDS = (0.3, 0.6, 1.0, 1.3, 1.6), 5.0, 30.0
STOP_WINDOW, STOPPED = 0.5, 0.1
"""A body has stopped from when it goes at less than this in the next half second, [m/s]."""
WALL_SPEEDS, WALL_ANGLES = (
    (0.4, 0.55, 0.7, 1.0),
    (5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0),
)
WALL_GAP, WALL_SECONDS = 1.6, 12.0
PUSHES = (20.0, 40.0, 60.0)
PUSHED = {"standing": (0.0, 0.0), "on the spot": (0.0, 6.0), "0.6 m/s": (0.6, 0.0),
          "1.2 m/s": (1.2, 0.0)}  # fmt: skip
PUSH_TIME, PUSH_FIRST, PUSH_SECONDS = 0.2, 3.0, 9.0
SWEEPS, SWEEP_GAP, SWEEP_SECONDS = (0.2, 0.4, 0.6, 0.8), 1.5, 9.0
HEIGHTS = (0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.6)
"""Heights of points to reach, [m]."""
COMING = {"standing": 0.0, "walking up": 0.5}
"""How bodies come to the point: speed of the walk, [m/s]."""
AHEAD, ASIDE = (0.2, 0.45), 0.3
"""Range of the way from between the shoulders ahead, and to either side, [m]."""
REACH_FIRST, REACH_LAST, REACH_SECONDS = 3.0, 8.0, 11.0
"""When points are given and taken away, and how long bodies are watched, [s]."""
MET, HELD = 0.05, 1.0
"""A palm nearer to its point than this has met it, [m], and shall for as long, [s]."""
STOP_TIME = 0.4
"""A walking body stops about as far ahead as it goes in this time, [s]."""
NOTE = (
    f"A command counts as followed when the mean of the bodies on their feet is within "
    f"{SPEED_ERROR} m/s ahead and to the left and {TURN_ERROR:g} deg/s of it, and all stay up."
)
_STREAM, _REACH_STREAM = 77, 78
_PILLARS = [b for b, box in enumerate(BOXES) if box.half[0] < 0.2 and b >= WALLS]


def _ahead(row: Row) -> tuple[float, float, float]:
    return row["speed"], 0.0, 0.0


def _stand(row: Row) -> tuple[float, float, float]:
    return 0.0, 0.0, 0.0


def _mean(name: str) -> Callable[[Sequence[Row]], float]:
    return lambda rows: float(np.mean([float(row[name]) for row in rows]))


def _worst(name: str) -> Callable[[Sequence[Row]], float]:
    return lambda rows: max(float(row[name]) for row in rows)


def _followed(rows: Sequence[Row]) -> float:
    return float(np.mean([follows(row) for row in rows]))


def follows(row: Row) -> bool:
    """Whether a command of the envelope's grid was followed by all bodies."""
    return bool(
        row["survival"] == 1.0
        and row["speed_off"] <= SPEED_ERROR
        and row["side_off"] <= SPEED_ERROR
        and row["turn_off"] <= TURN_ERROR
    )


def envelope_commands() -> list[Row]:
    """The grid of commands, [m/s], [deg/s], [m/s], all within the envelope."""
    plain = list(product(SPEEDS, TURNS, (0.0,)))
    aside = list(product((-0.2, 0.0, 0.4, 0.8, 1.2, 1.6), (-30.0, 0.0, 30.0), SIDES))
    grid = [one for one in plain + aside if one != (0.0, 0.0, 0.0)]
    _, outside = within_envelope(np.array(grid) * [1.0, np.pi / 180.0, 1.0])
    return [
        dict(zip(("speed", "turn", "side"), one, strict=True))
        for one, out in zip(grid, outside, strict=True)
        if not out
    ]


def _settled(case: Row, course: Course, mine: Ints, _: Any) -> Row:
    """How well a command is followed, of the bodies on their feet."""
    late = course.rates[round(SETTLED / course.dt) :].mean(axis=0)[mine]
    late[:, 1] = np.rad2deg(late[:, 1])
    stood = late[course.survived[mine]]
    row: dict[str, float] = {}
    for i, name in enumerate(("speed", "turn", "side")):
        mean = float(stood[:, i].mean()) if len(stood) else float("nan")
        off = np.abs(stood[:, i] - case[name])
        row[f"{name}_mean"] = mean
        row[f"{name}_off"] = abs(mean - case[name])
        row[f"{name}_worst"] = float(off.max()) if len(off) else float("nan")
    return row


def _halt(cases: Sequence[Row], seed: int) -> Event:
    def halt(batch: WalkingBatch, step: int) -> None:
        if step == round(STOP_AFTER / batch.simulation.dt):
            n = batch.num_envs
            batch.set_command(np.arange(n), *np.zeros((3, n)))

    return halt


def _stopped(case: Row, course: Course, mine: Ints, _: Any) -> Row:
    """Whether walkers stop within a second and then stand for `STAND_SECONDS`."""
    first = round(STOP_AFTER / course.dt)
    walked = mine[course.alive[first - 1, mine]]
    ahead = course.rates[first:, walked, 0]
    window = round(STOP_WINDOW / course.dt)
    sums = np.cumsum(np.vstack([np.zeros((1, len(walked))), ahead]), axis=0)
    slow = np.abs(sums[window:] - sums[:-window]) / window < STOPPED
    time = np.where(slow.any(axis=0), slow.argmax(axis=0) * course.dt, np.inf)
    survived = course.survived[walked]
    count = max(1, len(walked))
    return {
        "bodies": float(count), "walked": len(walked) / len(mine),
        "survival": float(survived.sum() / count),
        "stops_in_1_s": float((time <= 1.0).sum() / count),
        "stands_30_s": float((survived & course.standing[-1, walked]).sum() / count),
        "stop_s": float(np.median(time)) if len(walked) else float("nan"),
        "stop_slowest_s": float(time.max(initial=0.0)),
    }  # fmt: skip


def _put_walls(cases: Sequence[Row], seed: int) -> Event:
    """Walls before the bodies, at angles of `WALL_ANGLES` to either side."""
    rng = np.random.default_rng([seed, _STREAM])
    angle = np.deg2rad(np.resize(WALL_ANGLES, len(cases)))
    angle *= np.where(rng.random(len(cases)) < 0.5, -1.0, 1.0)

    def put(batch: WalkingBatch, step: int) -> None:
        if step != round(3.0 / batch.simulation.dt):
            return
        root = batch.simulation.qpos[:, :2]
        yaw = batch.reference_frame[:, 2] + batch.state.yaw
        for i, case in enumerate(cases):
            # The body meets the wall, whose normal is `angle` short of aside, in `WALL_GAP`.
            normal = yaw[i] + np.sign(angle[i]) * (np.pi / 2.0 - abs(angle[i]))
            ahead = np.array([np.cos(yaw[i]), np.sin(yaw[i])])
            out = np.array([np.cos(normal), np.sin(normal)])
            gap = max(0.5, WALL_GAP * abs(float(ahead @ out)))
            meet = root[i] + ahead * gap / abs(float(ahead @ out))
            middle = meet + BOXES[case["_box"]].half[0] * out
            batch.boxes.place[i, case["_box"]] = *middle, normal
        batch.boxes.show()

    return put


def _touched(case: Row, course: Course, mine: Ints, _: Any) -> Row:
    force = (course.force[:, mine] * course.alive[:, mine]).max(axis=0)
    met = force > 0.0
    peak = float(np.median(force[met])) if met.any() else float("nan")
    return {"touched": float(met.mean()), "peak_force": peak}


def _push(cases: Sequence[Row], seed: int) -> Event:
    """A push of the pelvis in a random direction."""
    impulse = np.array([case["impulse"] for case in cases])
    rng = np.random.default_rng([seed, _STREAM, 1])
    angle = rng.uniform(0.0, 2.0 * np.pi, len(cases))
    when = PUSH_FIRST + rng.random(len(cases))
    force = impulse / PUSH_TIME * np.stack([np.cos(angle), np.sin(angle)])

    def push(batch: WalkingBatch, step: int) -> None:
        now = step * batch.simulation.dt
        on = (now >= when) & (now < when + PUSH_TIME - 1e-6)
        root, size = batch.character.model.jnt_bodyid[0], batch.pushes.scale
        batch.simulation.push[:, root, :2] = np.where(on, size * force, 0.0).T

    return push


def _sweep(cases: Sequence[Row], seed: int) -> Event:
    """A pillar that moves through a standing body, from any side."""
    rng = np.random.default_rng([seed, _STREAM, 2])
    angle = rng.uniform(0.0, 2.0 * np.pi, len(cases))

    def put(batch: WalkingBatch, step: int) -> None:
        if step != round(2.0 / batch.simulation.dt):
            return
        root = batch.simulation.qpos[:, :2]
        for i, case in enumerate(cases):
            out = np.array([np.cos(angle[i]), np.sin(angle[i])])
            batch.boxes.place[i, case["_box"], :2] = root[i] + SWEEP_GAP * out
            batch.boxes.velocity[i, case["_box"]] = -case["speed"] * out
        batch.boxes.show()

    return put


def _boxed(speeds: Sequence[float], boxes: Sequence[int]) -> Callable[[], list[Row]]:
    return lambda: [
        {"speed": speed, "friction": BOXES[box].friction, "_box": box}
        for speed, box in product(speeds, boxes)
    ]


class _Points:
    """Points near bodies, and how far the palms are from them, step by step."""

    def __init__(self, cases: Sequence[Row], seed: int) -> None:
        rng = np.random.default_rng([seed, _REACH_STREAM])
        self._heights = np.array([case["height"] for case in cases])
        self._ahead = rng.uniform(*AHEAD, len(cases))
        self._left = rng.uniform(-ASIDE, ASIDE, len(cases))
        self._points: Floats = np.zeros((len(cases), 3))
        self.error: list[Floats] = []
        """Distance of the nearer palm while points are there, (N,) each, [m]."""

    def __call__(self, batch: WalkingBatch, step: int) -> None:
        """Give points, watch palms, take the points away.

        Raises:
            ConfigError: Bodies whose hands are not led: those of the user's own.
        """
        if not isinstance(batch, WalkCommandsBatch):
            raise ConfigError(
                f"{batch.character.name}: only human23 reaches for points"
            )
        every, at = np.arange(batch.num_envs), step * batch.simulation.dt
        if step == round(REACH_FIRST / batch.simulation.dt):
            self._place(batch)
            batch.set_command(every, *np.zeros((3, len(every))))
            batch.reach(every, self._points)
            batch.look_at(every, self._points)
        elif step == round(REACH_LAST / batch.simulation.dt):
            nothing = np.full_like(self._points, np.nan)
            batch.reach(every, nothing)
            batch.look_at(every, nothing)
        if REACH_FIRST < at < REACH_LAST:
            away = batch.arms.palms() - self._points[:, None]
            self.error.append(np.linalg.norm(away, axis=2).min(axis=1))

    def _place(self, batch: WalkCommandsBatch) -> None:
        """Points ahead of the shoulders; of walking bodies, of where they will stand."""
        yaw = batch.reference_frame[:, 2] + batch.state.yaw
        c, s = np.cos(yaw), np.sin(yaw)
        middle = batch.arms.shoulders().mean(axis=1)
        ahead = self._ahead + np.maximum(batch.state.heading[:, 0], 0.0) * STOP_TIME
        self._points[:, 0] = middle[:, 0] + c * ahead - s * self._left
        self._points[:, 1] = middle[:, 1] + s * ahead + c * self._left
        self._points[:, 2] = self._heights


def _reached(case: Row, course: Course, mine: Ints, points: _Points) -> Row:
    """Whether bodies on their feet met the point and held it, and after which time, [s]."""
    error = np.array(points.error)[:, mine]
    near = error < MET
    first = np.where(near.any(axis=0), near.argmax(axis=0) * course.dt, np.inf)
    held = near[-round(HELD / course.dt) :].all(axis=0)
    return {
        "met": float((held & course.survived[mine]).mean()),
        "error": float(np.median(error[-1])),
        "time": float(np.median(first)),
    }


TRIALS = {
    "envelope": Trial(
        envelope_commands, lambda row: (row["speed"], row["turn"], row["side"]),
        COMMAND_SECONDS, 4, "commands held for 12 s from standing, means from 4 s on",
        lambda row: "to the side" if row["side"] else f"{row['speed']:g} m/s",
        (
            SURVIVAL,
            MetricColumn("followed", "followed", 0, percent=True, of=_followed),
            MetricColumn("speed_off", "worst speed", unit="m/s", of=_worst("speed_off")),
            MetricColumn("turn_off", unit="deg/s", of=_worst("turn_off")),
        ),
        values=_settled,
    ),
    "stops": Trial(
        lambda: [
            {"speed": v, "turn": w}
            for v, w in product(STOP_SPEEDS, (0.0, 30.0))
            if w == 0.0 or v <= 1.3
        ],
        lambda row: (row["speed"], row["turn"], 0.0),
        STOP_AFTER + STAND_SECONDS, 24, "stops after 5 s, then standing", "{speed:g} m/s",
        (
            SURVIVAL,
            MetricColumn(
                "stops_in_1_s", "stops in 1 s", 0, percent=True, of=rate_of("stops_in_1_s")
            ),
            MetricColumn(
                "stands_30_s", "stands 30 s later", 0, percent=True,
                of=rate_of("stands_30_s"),
            ),
            MetricColumn("stop_s", of=_mean("stop_s")),
        ),
        event=_halt, values=_stopped,
    ),
    "walls": Trial(
        _boxed(WALL_SPEEDS, range(WALLS)), _ahead, WALL_SECONDS, 42,
        "blind into walls of friction 0 to 1, at 5 to 90 degrees",
        "{speed:g} m/s, friction {friction:g}",
        (
            SURVIVAL,
            MetricColumn("peak_force", "peak force", 0, unit="N", of=_mean("peak_force")),
            MetricColumn("touched", of=_mean("touched")),
        ),
        event=_put_walls, values=_touched, boxes=True,
    ),
    "pushes": Trial(
        lambda: [
            {"while": how, "impulse": one} for how, one in product(PUSHED, PUSHES)
        ],
        lambda row: (*PUSHED[row["while"]], 0.0), PUSH_SECONDS, 40,
        "pushes of the pelvis", "{while}, {impulse:g} N s", event=_push,
    ),
    "sweeps": Trial(
        _boxed(SWEEPS, _PILLARS), _stand, SWEEP_SECONDS, 24,
        "a standing body swept by a pillar", "{speed:g} m/s, friction {friction:g}",
        event=_sweep, boxes=True,
    ),
    "reaches": Trial(
        lambda: [{"while": how, "height": z} for how, z in product(COMING, HEIGHTS)],
        lambda row: (COMING[row["while"]], 0.0, 0.0), REACH_SECONDS, 24,
        "a palm within 5 cm of a point for the last of five seconds",
        "{while}, {height:g} m high",
        (
            SURVIVAL,
            MetricColumn("met", "met", 0, percent=True, of=rate_of("met")),
            MetricColumn("time", "time", unit="s", of=_mean("time")),
        ),
        event=_Points, values=_reached,
    ),
}  # fmt: skip
"""By name."""


def chosen_trials(text: str | None) -> dict[str, Trial]:
    """Trials named in `--trials`; none for None.

    Raises:
        ConfigError: No trial has such a name.
    """
    names = () if text is None else chosen("--trials", text, TRIALS, "trial")
    return {name: TRIALS[name] for name in names}
