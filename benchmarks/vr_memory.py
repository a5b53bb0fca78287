"""Memory of VR training: peak resident size of a process with N environments.

python benchmarks/vr_memory.py --num-envs 64
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Sequence

from _harness import Options, write

from ambulo.configs.presets.vr import preset
from ambulo.envs.vr.task.build import make_batch
from ambulo.envs.vr.task.env import action_space
from ambulo.policies.learner import make_learner
from ambulo.policies.sb3_batch_env import Sb3BatchEnv

LIMIT_MB = 1000.0


def peak_mb() -> float:
    """Largest resident size of this process so far, [MB]."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (1e6 if sys.platform == "darwin" else 1e3)


def main(argv: Sequence[str] | None = None) -> int:
    """Train two roll-outs of `full_training` and print the peak."""
    parser = Options(__doc__, num_envs=2)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--world", choices=("compiled", "mujoco"), default="compiled")
    args = parser.read(argv)
    config = preset("full_training").override(
        "environment", num_environments=args.num_envs, world=args.world
    )
    imports = peak_mb()
    batch = make_batch(config, args.num_envs, privileged=True)
    learner = make_learner(config, Sb3BatchEnv(batch, action_space(config)))
    learner.learn(2 * config.ppo.n_steps * args.num_envs, log_interval=None)
    result = {
        "environments": args.num_envs,
        "peak_mb": peak_mb(),
        "imports_mb": imports,
    }
    print(
        f"{args.num_envs} environments, {len(batch.bank)} levels, {args.world} world: "
        f"{peak_mb():.0f} MB in all, {imports:.0f} MB of it imports "
        f"(limit {LIMIT_MB:.0f} MB)"
    )
    write(result, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
