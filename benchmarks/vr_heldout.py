"""The shipped agent and all baselines on the nine held-out families, with the targets.

300 levels of each family, on seeds that no training uses, in the compiled world. Plays what
`ambulo eval` plays and writes the same JSON.

    python benchmarks/vr_heldout.py --per-family 300 --json docs/results/vr_heldout.json
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _harness import Options, scores_alone, write

from ambulo.envs.vr.families import FAMILIES
from ambulo.evaluate.command import main as evaluate

TARGETS = {"success_rate": 0.98, "spl": 0.86, "collisions_per_episode": 0.25}
FAMILY_TARGETS = {"success_rate": 0.95, "spl": 0.75}


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate, then print each number beside its target."""
    parser = Options(__doc__, per_family=1, baselines="straight")
    parser.add_argument("--model", default="vr_navigation")
    parser.add_argument("--per-family", type=int, default=300)
    parser.add_argument("--baselines", default="straight,dwa,planner,planner360,oracle")
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.json"
        code = evaluate(
            [
                args.model, "--episodes", str(len(FAMILIES) * args.per_family),
                "--level-set", "heldout", "--baselines", args.baselines,
                "--json", str(scores), "--no-report",
            ]
        )  # fmt: skip
        if code:
            return code
        result = json.loads(scores.read_text())
    policy = result["agents"]["policy"]
    for name, target in TARGETS.items():
        print(f"{name:>24}: {policy[name]['value']:.3f} (target {target})")
    for family in FAMILIES:
        row = result["groups"]["family"][family]["policy"]
        shown = ", ".join(
            f"{name} {row[name]['value']:.3f} (target {target})"
            for name, target in FAMILY_TARGETS.items()
        )
        print(f"{family:>24}: {shown}")
    write(scores_alone(result, args.model), args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
