"""Muscle-driven myolegs walking a captured walk: build, survival, pushes.

Give it a captured walk (`02_01.amc --save walk.npz --json docs/results/muscle_walk.json`),
or a saved reference (`walk.npz`) to evaluate that.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, write

from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import myolegs
from ambulo.envs.locomotion.build import with_network
from ambulo.envs.reference.closed_loop import roll_out
from ambulo.envs.reference.muscle_walk import CONTROL_DT, build_muscle_walk
from ambulo.envs.reference.reference import (
    Reference,
    is_reference,
    load_reference,
    save_reference,
)
from ambulo.muscle.muscle_nn import find_muscle_nn


def measure(
    character: Character,
    reference: Reference,
    episodes: int,
    seconds: float,
    *,
    balance: bool = True,
    push: float = 0.0,
) -> dict[str, Any]:
    """One roll-out as a row of the results."""
    started = time.perf_counter()
    controller = reference.controller if balance else None
    rolled = roll_out(
        character, reference.table, controller, episodes, seconds,
        control_dt=CONTROL_DT, seed=1, push=push,
    )  # fmt: skip
    return {
        "body": character.name, "balance_law": balance, "push_ns": push,
        "episodes": episodes, "seconds": seconds,
        "survival_rate": rolled.share(seconds),
        "survival_mean_s": round(float(rolled.survived.mean()), 3),
        "speed_m_s": round(rolled.speed, 4),
        "joint_error_deg": round(float(np.rad2deg(rolled.joint_error)), 3),
        "activation_mean": round(rolled.activation, 4),
        "activation_mean_square": round(rolled.effort, 4),
        "torque_residual_rms_nm": round(rolled.torque_residual, 3),
        "torque_rms_nm": round(rolled.torque_size, 2),
        "wall_s": round(time.perf_counter() - started, 1),
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run and print."""
    parser = Options(__doc__, episodes=1, seconds=1.0, pushes=[])
    parser.add_argument("clip", type=Path, help="a captured walk, or a saved reference")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--pushes", type=float, nargs="*", default=[5.0, 10.0, 20.0])
    parser.add_argument(
        "--network", default="muscle_nn_myolegs",
        help="muscle network that walks too: a shipped one or a file; none: no network",
    )  # fmt: skip
    parser.add_argument("--save", type=Path, help="where to put the built reference")
    args = parser.read(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    started = time.perf_counter()
    saved = is_reference(args.clip)
    reference = load_reference(args.clip) if saved else build_muscle_walk(args.clip)
    built = time.perf_counter() - started
    if args.save:
        save_reference(args.save, reference)
    muscles = myolegs()
    runs = [(args.episodes, args.seconds, True, 0.0), (16, 3.0, False, 0.0)]
    runs += [(32, 6.0, True, push) for push in args.pushes]
    rows = []
    for episodes, seconds, balance, push in runs:
        rows.append(
            measure(muscles, reference, episodes, seconds, balance=balance, push=push)
        )
        print(json.dumps(rows[-1]), flush=True)
    if args.network != "none":
        walker = with_network(muscles, find_muscle_nn(args.network))
        row = measure(walker, reference, args.episodes, args.seconds)
        rows.append({**row, "resolver": args.network})
        print(json.dumps(rows[-1]), flush=True)
    result = {
        "clip": reference.name, "learned": False, "control_hz": 30,
        "physics_hz": 240, "solver_refresh_hz": 120,
        "actuation": "control through activation dynamics",
        "build_s": None if saved else round(built, 1),
        "reference": reference.report, "runs": rows,
    }  # fmt: skip
    write(result, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
