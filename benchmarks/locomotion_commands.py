"""How well commands are followed: constant speeds and turns, each for 20 s.

Each body starts at a random phase and a random speed and is then given one speed and one
turning rate, which it keeps. Results: the fraction on its feet to the end and, of these
bodies from second 5 on, the distance of mean speed and turning rate from the command. Beside
each policy plays what is built in (the gaits and their balance controller, an action of 0).

    python benchmarks/locomotion_commands.py --models locomote runs/mine
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from _harness import run
from numpy.typing import NDArray

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomote import LocomoteBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    baseline,
    bodies,
    play,
    stored_references,
    undisturbed,
)
from ambulo.evaluate.locomotion.recording import Recording
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion

SPEEDS = (0.6, 0.85, 1.1, 1.35, 1.6)
TURNS = (-30.0, 0.0, 30.0)
SECONDS, SETTLED = 20.0, 5.0
TOLERANCE = 0.15
"""Largest speed error of a body that follows, [m/s]."""

Row = dict[str, Any]


def commanded(
    subject: LocomotionSubject, speed: Floats, turn: Floats, seed: int
) -> list[Row]:
    """One row for each command.

    Args:
        subject: The agent that gets the commands.
        speed: Command of each body, [m/s]. Shape (N,).
        turn: The same, [deg/s].
        seed: Of the starts; body i depends on (seed, i) alone.
    """
    calm = undisturbed(subject.config, SECONDS)
    seeds = [1_000_003 * seed + i for i in range(len(speed))]
    envs = bodies(subject, calm, seeds, 0)

    def order(batch: LocomotionBatch) -> None:
        assert isinstance(batch, LocomoteBatch)
        batch.set_command(np.arange(len(speed)), speed, np.deg2rad(turn))

    record = play(envs, subject, calm.environment.max_episode_steps, prepare=order)
    envs.close()
    pairs = sorted(set(zip(speed.tolist(), turn.tolist(), strict=True)))
    return [row_of(record, (speed == v) & (turn == w), v, w) for v, w in pairs]


def row_of(record: Recording, mine: NDArray[np.bool_], v: float, w: float) -> Row:
    """Result of the bodies `mine` (N,) under the command (v, w)."""
    survived = record.survived & mine
    first = round(SETTLED / record.dt)
    speed = record.velocity[first:, survived, 0].mean(axis=0)
    turn = np.rad2deg(record.turn[first:, survived].mean(axis=0))
    off, turned_off = np.abs(speed - v), np.abs(turn - w)
    return {
        "speed": v,
        "turn": w,
        "survival_rate": float(survived.sum() / mine.sum()),
        "speed_mean": _mean(speed),
        "speed_error": _mean(off),
        "speed_error_max": float(off.max()) if len(off) else None,
        "turn_mean": _mean(turn),
        "turn_error": _mean(turned_off),
        "follow_rate": float((off <= TOLERANCE).sum() / mine.sum()),
    }


def summary(rows: Sequence[Row]) -> Row:
    """Means over all commands, and the worst of them."""
    errors = [row["speed_error"] for row in rows if row["speed_error"] is not None]
    turns = [row["turn_error"] for row in rows if row["turn_error"] is not None]
    return {
        "survival_rate": _mean(np.array([row["survival_rate"] for row in rows])),
        "survival_rate_worst": min(row["survival_rate"] for row in rows),
        "speed_error": _mean(np.array(errors)),
        "speed_error_worst": max(errors, default=None),
        "turn_error": _mean(np.array(turns)),
        "turn_error_worst": max(turns, default=None),
        "follow_rate": _mean(np.array([row["follow_rate"] for row in rows])),
    }


def _mean(values: Floats) -> float | None:
    """None of nothing."""
    return float(values.mean()) if len(values) else None


def measure(
    models: tuple[str, ...] = ("locomote",),
    bodies: int = 20,
    speeds: tuple[float, ...] = SPEEDS,
    turns: tuple[float, ...] = TURNS,
    seed: int = 0,
) -> dict[str, Any]:
    """Rows of each policy, after the balance controller with the gaits of the first one."""
    subjects: dict[str, LocomotionSubject] = {}
    for name in models:
        file = find_model(name)
        model = load_locomotion(file)
        agent = LocomotionAgent(model, str(file))
        known = stored_references(model, str(file)) or (None,)
        if not subjects:
            controller = baseline("law", agent.config, known)
            assert controller is not None, "the first model has no gait to follow"
            subjects["controller"] = controller
        subjects[name] = LocomotionSubject(agent.config, known, agent)
    speed, turn = (
        np.repeat(part.ravel(), bodies)
        for part in np.meshgrid(speeds, turns, indexing="ij")
    )
    found: dict[str, Any] = {"rows": {}, "commands": {}}
    for name, subject in subjects.items():
        rows = commanded(subject, speed, turn, seed)
        found["rows"][name] = summary(rows)
        found["commands"][name] = {
            f"{r['speed']} m/s, {r['turn']} deg/s": r for r in rows
        }
    return found


if __name__ == "__main__":
    run(measure, {"bodies": 2, "speeds": [1.1], "turns": [0.0]})
