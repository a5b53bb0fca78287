"""Push recovery: what share stays on its feet, by impulse, with and without learning.

The balance law alone, open loop (reference and its torque), and any policies, all under
the same pushes: 0.2 s at the pelvis, random direction, random moment of a stride, then 4 s
to stay up. Policies bring their reference; without one, name a clip or a reference.

    python benchmarks/locomotion_pushes.py residual=runs/walk --episodes 100 \
        --json docs/results/locomotion_pushes.json --png docs/images/locomotion_pushes.png
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from ambulo.common.find_model import find_model
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.reference.reference import body_of, reference_of
from ambulo.evaluate.locomotion.evaluation import EvalSubject, baselines_of
from ambulo.evaluate.locomotion.figures import draw_pushes
from ambulo.evaluate.locomotion.pushes import IMPULSES, push_recovery
from ambulo.evaluate.locomotion.task import stored_references
from ambulo.policies.agents.locomotion import LocomotionAgent, load_locomotion

BUILT_IN = ("law", "open_loop")


def main(argv: Sequence[str] | None = None) -> int:
    """Push everyone; print the shares, write numbers and picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="NAME=MODEL")
    parser.add_argument("--reference", help="clip or reference of the built-in ones")
    parser.add_argument("--episodes", type=int, default=100, help="of each impulse")
    parser.add_argument("--impulses", type=float, nargs="+", default=IMPULSES)
    parser.add_argument("--players", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--png", type=Path)
    args = parser.parse_args(argv)
    found, steps = {}, {}
    for name, contestant in contestants(args.models, args.reference).items():
        if isinstance(contestant.actor, LocomotionAgent):
            steps[name] = contestant.actor.metadata.num_timesteps
        begun = time.perf_counter()
        found[name] = push_recovery(
            contestant,
            args.episodes,
            impulses=args.impulses,
            seed=args.seed,
            players=args.players,
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
    if args.json:
        result = {
            "seed": args.seed,
            "control_steps_trained": steps,
            "agents": {name: pushes.to_dict() for name, pushes in found.items()},
        }
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.png:
        args.png.write_bytes(draw_pushes(found))
    return 0


def contestants(models: Sequence[str], reference: str | None) -> dict[str, EvalSubject]:
    """What is built in, on the named reference or the first policy's, and the policies."""
    found: dict[str, EvalSubject] = {}
    for text in models:
        name, _, path = text.rpartition("=")
        file = find_model(path)
        model = load_locomotion(file)
        agent = LocomotionAgent(model, str(file))
        references = stored_references(model, str(file)) or (None,)
        found[name or file.stem] = EvalSubject(agent.config, references, agent)
    if reference is not None or not found:
        config = LocomotionConfig().override("environment", reference=reference)
        known = reference_of(config.environment, body_of(config.environment))
        return {**baselines_of(BUILT_IN, config, (known,)), **found}
    first = next(iter(found.values()))
    return {**baselines_of(BUILT_IN, first.config, first.references), **found}


if __name__ == "__main__":
    raise SystemExit(main())
