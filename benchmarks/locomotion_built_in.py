"""What walks before anything is learned: each built-in part alone and together.

The reference's pose is always followed; the torque of inverse dynamics (feed-forward) and
the balance law are switched on and off, with actions of 0 throughout.

    python benchmarks/locomotion_built_in.py --reference 02_01.amc --episodes 100 \
        --json docs/results/locomotion_built_in.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.reference import body_of, reference_of
from ambulo.evaluate.locomotion.evaluation import (
    PLAYERS,
    SECONDS,
    EvalSubject,
    evaluate,
)
from ambulo.evaluate.locomotion.scores import score

PARTS = {
    "pose alone": (False, False),
    "feed-forward": (True, False),
    "law": (False, True),
    "law and feed-forward": (True, True),
}
"""Feed-forward, balance law."""
SHOWN = ("survival_rate", "survival_s", "joint_error_deg", "speed")


def main(argv: Sequence[str] | None = None) -> int:
    """Play every combination; print the table, write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference", help="clip or reference; default: our own walk")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--players", type=int, default=PLAYERS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args(argv)
    config = LocomotionConfig().override("environment", reference=args.reference)
    known = reference_of(config.environment, body_of(config.environment))
    contestants = {
        name: EvalSubject(
            config.override("environment", feed_forward=torque, balance_law=law),
            (known,),
        )
        for name, (torque, law) in PARTS.items()
    }
    recordings = evaluate(
        contestants,
        args.episodes,
        seconds=args.seconds,
        seed=args.seed,
        players=args.players,
    )
    found = {}
    for name, recording in recordings.items():
        scores = score(recording, args.seed)
        found[name] = scores.to_dict()
        shown = "  ".join(f"{key} {getattr(scores, key):.3g}" for key in SHOWN)
        print(f"{name:22} {shown}", flush=True)
    if args.json:
        result = {"episodes": args.episodes, "seed": args.seed, "agents": found}
        text = json.dumps(result, indent=1, allow_nan=False) + "\n"
        args.json.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
