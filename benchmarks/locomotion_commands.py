"""How well commands are followed: constant speeds and turns, each for 20 s.

Each body starts at a random phase and a random speed and is then told one speed and one
turning rate, which it keeps. Told: the share on its feet to the end and, of these bodies
from second 5 on, how far their mean speed and turning rate are from the command. Beside
each policy plays what is built in (the gaits and their balance controller, an action of 0).

    python benchmarks/locomotion_commands.py task=runs/locomote prior=runs/locomote_prior \
        --bodies 20 --json docs/results/locomotion_commands.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from _harness import Options, write
from _policies import policies_of
from numpy.typing import NDArray

from ambulo.configs.arrays import Floats
from ambulo.envs.locomotion.batch import LocomotionBatch
from ambulo.envs.tasks.locomote import LocomoteBatch
from ambulo.evaluate.locomotion.evaluation import (
    LocomotionSubject,
    baseline,
    bodies,
    play,
    undisturbed,
)
from ambulo.evaluate.locomotion.recording import Recording

SPEEDS = (0.6, 0.85, 1.1, 1.35, 1.6)
TURNS = (-30.0, 0.0, 30.0)
SECONDS, SETTLED = 20.0, 5.0
TOLERANCE = 0.15
"""Largest speed error of a body that follows, [m/s]."""

Row = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Command everyone; print the tables, write the numbers."""
    parser = Options(
        __doc__, models=["locomote=locomote"], bodies=2, speeds=[1.1], turns=[0.0]
    )
    parser.add_argument("models", nargs="*", metavar="NAME=MODEL", default=["locomote"])
    parser.add_argument("--bodies", type=int, default=20, help="of each command")
    parser.add_argument("--speeds", type=float, nargs="+", default=SPEEDS)
    parser.add_argument("--turns", type=float, nargs="+", default=TURNS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without-law", action="store_true", help="policies only")
    args = parser.read(argv)
    speed, turn = (
        np.repeat(part.ravel(), args.bodies)
        for part in np.meshgrid(args.speeds, args.turns, indexing="ij")
    )
    found = {}
    for name, subject in subjects(args.models, args.without_law).items():
        rows = commanded(subject, speed, turn, args.seed)
        found[name] = {"commands": rows, "all": summary(rows)}
        print(name, json.dumps(found[name]["all"]), flush=True)
        for row in rows:
            print("  ", json.dumps(row), flush=True)
    write({"seed": args.seed, "bodies": args.bodies, "agents": found}, args)
    return 0


def subjects(
    models: Sequence[str], without_controller: bool
) -> dict[str, LocomotionSubject]:
    """The policies, after what is built in with the gaits of the first one."""
    policies = policies_of(models)
    if without_controller:
        return policies
    first = next(iter(policies.values()))
    controller = baseline("law", first.config, first.references)
    assert controller is not None, "the first model has no gait to follow"
    return {"law": controller, **policies}


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
    """What the bodies `mine` (N,) with the command (v, w) did."""
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


if __name__ == "__main__":
    raise SystemExit(main())
