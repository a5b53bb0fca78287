"""How weak hip abductors may be for a cascade, its base and the controller alone to walk.

python benchmarks/gait_cascade.py --json docs/results/gait_cascade.json
"""

from __future__ import annotations

import numpy as np
from _harness import Options, write

from ambulo.envs.tasks.gait.sampling import healthy_parameters
from ambulo.evaluate.gait.policy_scores import play_bodies
from ambulo.evaluate.locomotion.cascades import healthy_of, last_agent, load_gait_policy
from ambulo.evaluate.locomotion.evaluation import undisturbed
from ambulo.policies.agents.cascade import Cascade

SIDES = (("left", "right"), ("left",), ("right",))
"""Which sides are weak."""


def main() -> None:
    """Measure."""
    parser = Options(__doc__, forces=[0.3], walks=1)
    parser.add_argument("--model", default="gait_cascade")
    parser.add_argument("--group", default="gluteus_medius", help="muscles")
    parser.add_argument(
        "--forces", type=float, nargs="+", default=[0.05, 0.1, 0.15, 0.2, 0.3]
    )
    parser.add_argument("--walks", type=int, default=4, help="of each body")
    parser.add_argument("--seed", type=int, default=7)
    args = parser.read()
    whole = load_gait_policy(args.model)
    assert isinstance(whole, Cascade)
    agent = last_agent(whole)
    reference, config = healthy_of(agent), undisturbed(agent.config, 10.0)
    healthy = healthy_parameters(config, reference)
    actors = {"cascade": whole, "base": whole.nodes[0].agent, "law": None}
    found = {}
    for force in args.forces:
        rows = []
        for sides in SIDES:
            values = healthy.copy()
            for side in sides:
                values[whole.space.index(f"force_{args.group}_{side}")] = force
            rows += [values] * args.walks
        scores = {
            name: play_bodies(config, reference, np.array(rows), actor, args.seed)
            for name, actor in actors.items()
        }
        found[f"{force:g}"] = {
            name: {key: m.value for key, m in s.metrics.items()}
            for name, s in scores.items()
        }
        told = (
            f"{name} {100 * found[f'{force:g}'][name]['survival_rate']:.0f} %, "
            f"{found[f'{force:g}'][name]['survival_s']:.1f} s"
            for name in scores
        )
        print(f"{args.group} at {100 * force:.0f} %:", "; ".join(told), flush=True)
    write(found, args)


if __name__ == "__main__":
    main()
