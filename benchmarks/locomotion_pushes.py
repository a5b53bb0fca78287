"""Push recovery: what share stays on its feet, by impulse, with and without learning.

The balance controller alone, open loop (reference and its torque), and any policies, all under
the same pushes: 0.2 s at the pelvis, random direction, random moment of a stride, then 4 s
to stay up. Policies bring their reference; without one, name a clip or a reference.

    python benchmarks/locomotion_pushes.py residual=runs/walk --episodes 100 \
        --json docs/results/locomotion_pushes.json --png docs/images/locomotion_pushes.png
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from _harness import Options, write
from _policies import policies_of

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.configured import body_of, reference_of
from ambulo.evaluate.locomotion.evaluation import LocomotionSubject, baselines_of
from ambulo.evaluate.locomotion.figures import draw_pushes
from ambulo.evaluate.locomotion.pushes import IMPULSES, push_recovery
from ambulo.policies.agents.locomotion import LocomotionAgent

BUILT_IN = ("law", "open_loop")


def main(argv: Sequence[str] | None = None) -> int:
    """Push everyone; print the shares, write numbers and picture."""
    parser = Options(__doc__, episodes=2, impulses=[10.0], envs=2)
    parser.add_argument("models", nargs="*", metavar="NAME=MODEL")
    parser.add_argument("--reference", help="clip or reference of the built-in ones")
    parser.add_argument("--episodes", type=int, default=100, help="of each impulse")
    parser.add_argument("--impulses", type=float, nargs="+", default=IMPULSES)
    parser.add_argument("--players", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--png", type=Path)
    args = parser.read(argv)
    found, steps = {}, {}
    for name, subject in subjects(args.models, args.reference).items():
        if isinstance(subject.actor, LocomotionAgent):
            steps[name] = subject.actor.metadata.num_timesteps
        begun = time.perf_counter()
        found[name] = push_recovery(
            subject,
            args.episodes,
            impulses=args.impulses,
            seed=args.seed,
            envs=args.players,
        )
        shares = "  ".join(
            f"{impulse:g} N s {100 * share:.0f} %"
            for impulse, share in zip(
                found[name].impulses, found[name].survival, strict=True
            )
        )
        print(
            f"{name:12} {shares}  90 %: {found[name].impulse_90:.1f} N s  "
            f"({time.perf_counter() - begun:.0f} s)",
            flush=True,
        )
    result = {
        "seed": args.seed,
        "control_steps_trained": steps,
        "agents": {name: pushes.to_dict() for name, pushes in found.items()},
    }
    write(result, args)
    if args.png:
        args.png.write_bytes(draw_pushes(found))
    return 0


def subjects(
    models: Sequence[str], reference: str | None
) -> dict[str, LocomotionSubject]:
    """What is built in, on the named reference or the first policy's, and the policies."""
    policies = policies_of(models)
    if reference is not None or not policies:
        config = LocomotionConfig().override("environment", reference=reference)
        known = reference_of(config.environment, body_of(config.environment))
        return {**baselines_of(BUILT_IN, config, (known,)), **policies}
    first = next(iter(policies.values()))
    return {**baselines_of(BUILT_IN, first.config, first.references), **policies}


if __name__ == "__main__":
    raise SystemExit(main())
