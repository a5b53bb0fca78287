"""What walks before anything is learned: each built-in part alone and together.

The reference's pose is always followed; the torque of inverse dynamics (feed-forward) and
the balance controller are switched on and off, with actions of 0 throughout.

    python benchmarks/locomotion_built_in.py --reference 02_01.amc --episodes 100 \
        --json docs/results/locomotion_built_in.json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from _harness import Options, write

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import body_of, reference_of
from ambulo.evaluate.locomotion.evaluation import (
    NUM_ENVS,
    SECONDS,
    LocomotionSubject,
    evaluate,
)
from ambulo.evaluate.locomotion.scores import score

PARTS = {
    "pose alone": (False, False),
    "feed-forward": (True, False),
    "law": (False, True),
    "law and feed-forward": (True, True),
}
"""Feed-forward, balance controller."""
SHOWN = ("survival_rate", "survival_s", "joint_error_deg", "speed")


def main(argv: Sequence[str] | None = None) -> int:
    """Play every combination; print the table, write the numbers."""
    parser = Options(__doc__, episodes=2, seconds=2.0, envs=2)
    parser.add_argument("--reference", help="clip or reference; default: our own walk")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--players", type=int, default=NUM_ENVS)
    args = parser.read(argv)
    config = LocomotionConfig().override("environment", reference=args.reference)
    known = reference_of(config.environment, body_of(config.environment))
    subjects = {
        name: LocomotionSubject(
            config.override("environment", feed_forward=torque, balance_law=controller),
            (known,),
        )
        for name, (torque, controller) in PARTS.items()
    }
    recordings = evaluate(
        subjects,
        args.episodes,
        seconds=args.seconds,
        seed=args.seed,
        envs=args.players,
    )
    found = {}
    for name, recording in recordings.items():
        metrics = score(recording, args.seed).metrics
        found[name] = {key: asdict(one) for key, one in metrics.items()}
        shown = "  ".join(f"{key} {metrics[key].value:.3g}" for key in SHOWN)
        print(f"{name:22} {shown}", flush=True)
    write({"episodes": args.episodes, "seed": args.seed, "agents": found}, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
