"""What priors of captured motion give to agents on a walking body: an ablation over seeds.

Each arm goes on from the shipped agent for as many environment steps, on the twin of
`embodied_quick`, with nothing else (`none`), features of the body's past (`motion`), a cost
of motion that a motion network did not foresee (`novelty`), a bonus for postures that an IK
network knows (`posture`), or all three. Then it plays held-out levels on twin and body.
With `--keep` what was done before is not done again.

    python benchmarks/embodied_priors.py --json docs/results/embodied_priors.json
    python benchmarks/embodied_priors.py --arms none,motion --seeds 5 --keep runs/priors
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _harness import Options, in_turn, machine, print_rows, write

from ambulo.common.setting_flags import with_overrides
from ambulo.configs.presets.vr import preset
from ambulo.envs.vr.task.batch import NavigationBatch
from ambulo.envs.vr.task.build import make_batch

MOTION = "observations.motion=motion_nn"
NOVELTY = "rewards.novelty_cost=0.2"
POSTURE = "rewards.posture_bonus=2"
ARMS = {
    "none": (),
    "motion": (MOTION,),
    "novelty": (NOVELTY,),
    "posture": (POSTURE,),
    "all": (MOTION, NOVELTY, POSTURE),
}
COLUMNS = {
    "success_rate": "success", "spl": "SPL", "fall_rate": "falls",
    "contact_free_rate": "no contact", "collisions_per_episode": "collisions",
    "comfort_score": "comfort",
}  # fmt: skip


def trained(arm: str, seed: int, timesteps: int, folder: Path, *more: str) -> Path:
    """Return the model of one training, which is done unless it lies there."""
    model = folder / f"{arm}_{seed}" / "final_model.zip"
    if not model.is_file():
        settings = [f"--set={setting}" for setting in (*ARMS[arm], *more)]
        subprocess.run(
            [
                sys.executable, "-m", "ambulo.train.train_vr_navigation",
                "--preset", "embodied_quick", "--seed", str(seed),
                "--timesteps", str(timesteps), "--eval-freq", "0", "--episodes", "1",
                "--no-progress", "--output", str(folder), "--run-name", f"{arm}_{seed}",
                "--force", *settings,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return model


def scores(model: Path, body: str, episodes: int) -> dict[str, float]:
    """Scores of `model` on held-out levels, which it plays unless it has before."""
    out = model.with_name(f"{body}_{episodes}.json")
    if not out.is_file():
        subprocess.run(
            [
                sys.executable, "-c",
                "from ambulo.cli import main; raise SystemExit(main())",
                "eval", str(model), "--episodes", str(episodes), "--body", body,
                "--level-set", "heldout", "--baselines", "none", "--no-report",
                "--num-envs", "16", "--json", str(out),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
    found = json.loads(out.read_text())["agents"]["policy"]
    return {name: float(found[name]["value"]) for name in COLUMNS if name in found}


def speeds(arms: Sequence[str], steps: int) -> dict[str, dict[str, float]]:
    """Environment steps of each arm a second of processor time, task and all, by body."""
    rates: dict[str, dict[str, float]] = {}
    sticks = np.random.default_rng(0).normal([0.0, 0.6, 0.0], 0.3, (steps, 256, 3))
    for body, count in {"twin": 256, "human23": 64}.items():
        batches = {}
        for arm in arms:
            settings = [f"environment.body={body}", "environment.levels_per_family=2"]
            config = with_overrides(preset("embodied_quick"), [*ARMS[arm], *settings])
            batches[arm] = make_batch(config, count, seed=0)

        def play(batch: NavigationBatch) -> None:
            batch.reset(np.arange(batch.num_envs))
            for stick in sticks:
                batch.step(stick[: batch.num_envs])

        runs = {arm: partial(play, batch) for arm, batch in batches.items()}
        in_turn(runs, 1)  # compiles
        times = in_turn(runs, 5)
        rates[body] = {arm: count * steps / min(t) for arm, t in times.items()}
        for batch in batches.values():
            batch.close()
    return rates


def summary(rows: Sequence[dict[str, float]], key: str) -> str:
    """Mean over seeds, and half of the range."""
    values = [row[key] for row in rows if key in row]
    if not values:
        return "-"
    return f"{np.mean(values):.3f} ±{0.5 * (max(values) - min(values)):.3f}"


def ablation(args: Any, folder: Path) -> dict[str, Any]:
    """Train and play everything; scores by arm, body and seed, and speeds by arm."""
    result: dict[str, Any] = {"scores": {}}
    models: dict[str, list[Path]] = {arm: [] for arm in args.arms.split(",")}
    for seed in range(args.seeds):
        for arm, done in models.items():
            done.append(trained(arm, seed, args.timesteps, folder, *args.set))
    for body in args.bodies.split(","):
        result["scores"][body] = {
            arm: [scores(model, body, args.episodes) for model in done]
            for arm, done in models.items()
        }
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ablation and print a table for each body."""
    parser = Options(
        __doc__, arms="none,all", seeds=1, timesteps=256, episodes=2, bodies="twin", steps=1,
        set=["environment.num_environments=8", "environment.levels_per_family=1"],
    )  # fmt: skip
    parser.add_argument("--arms", default=",".join(ARMS), help="of " + ", ".join(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--timesteps", type=int, default=400_000)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20, help="of a round for speed")
    parser.add_argument("--bodies", default="twin,human23")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="runs and scores")
    args = parser.read(argv)
    with tempfile.TemporaryDirectory() as folder:
        result = ablation(args, args.keep or Path(folder))
    for body, arms in result["scores"].items():
        print_rows(
            f"{body}: mean of {args.seeds} seeds ± half of their range",
            COLUMNS.values(),
            {a: [summary(rows, key) for key in COLUMNS] for a, rows in arms.items()},
        )
    result["steps_per_second"] = speeds(args.arms.split(","), args.steps)
    print_rows(
        "environment steps a second of processor time, without the learner",
        result["steps_per_second"],
        {
            arm: [f"{rates[arm]:,.0f}" for rates in result["steps_per_second"].values()]
            for arm in args.arms.split(",")
        },
    )
    sizes = {"timesteps": args.timesteps, "episodes": args.episodes}
    write(result, args, **sizes, machine=machine())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
