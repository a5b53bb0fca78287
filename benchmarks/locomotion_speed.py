"""Speed of the locomotion environment beside bare physics, and Humanoid-v5 in three suites.

These things in turn, each round, on one thread; medians are reported, in control steps (of
all bodies) per second of processor time (so that other programs disturb less):

- `bare`: `mj_step` of human23 alone, through `mujoco.batch`, the bodies walking with the
  controls that our environment gave in the step before;
- `ours`: the batch of `imitate` with human23: reference, balance controller, stable PD, reward,
  observations;
- `humanoid_bare`: `mj_step` of Humanoid-v5's model (RK4, as it comes) through
  `mujoco.batch`, random controls;
- `humanoid_vector`: Humanoid-v5, whole (observations, reward, resets), in our vector
  environment (`_humanoid.py`);
- `gymnasium`: Humanoid-v5 in `gymnasium.make_vec("Humanoid-v5", "sync")`;
- `envpool`: Humanoid-v5 of EnvPool with one thread, if `--envpool-python` names a Python
  that has it (`pip install envpool` in a venv of its own);
- `humanoid_spd`: Humanoid-v5's model in a batch with stable PD (implicitfast: RK4 does not
  go with it).

`overhead` is what a control step costs over the `mj_step`s inside it, timed in place;
`overhead_bare` is bare over ours, whose solver starts less warm and whose states are
copied.

    python benchmarks/locomotion_speed.py --json docs/results/locomotion_speed.json
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import Any

from _harness import Options, write

os.environ.setdefault("OMP_NUM_THREADS", "1")

import gymnasium
import mujoco
import numpy as np
from _humanoid import humanoid_vector_env
from _timed import Timed, random_steps
from mujoco.batch import Batch

from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.muscle import SpdGains
from ambulo.envs.locomotion.build import make_batch
from ambulo.muscle.dynamics import dynamics_of_batch
from ambulo.muscle.spd import SpdController

VELOCITY = int(mujoco.mjtStage.mjSTAGE_VEL)


def rate(step: Callable[[], None], per_step: int, seconds: float) -> float:
    """Control steps per second of `step`, which makes `per_step` of them."""
    done, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        step()
        done += per_step
    return done / (time.process_time() - start)


ENVPOOL = """
import sys, time
import numpy as np
import envpool
bodies = int(sys.argv[1])
env = envpool.make_gymnasium(
    "Humanoid-v5", num_envs=bodies, batch_size=bodies, num_threads=1, seed=0
)
env.reset()
actions = np.random.default_rng(0).uniform(-0.4, 0.4, (64, bodies, 17))
for line in sys.stdin:
    seconds, done, start = float(line), 0, time.process_time()
    while time.process_time() - start < seconds:
        env.step(actions[done // bodies % 64])
        done += bodies
    print(done / (time.process_time() - start), flush=True)
"""


class EnvPool:
    """EnvPool's Humanoid-v5 in its own interpreter, asked for a rate at a time."""

    def __init__(self, python: str, bodies: int) -> None:
        """Start it; it waits without using the processor."""
        self._process = subprocess.Popen(
            [python, "-c", ENVPOOL, str(bodies)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def rate(self, seconds: float) -> float:
        """Control steps per second of processor time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def ours(
    bodies: int, controller: bool
) -> tuple[Callable[[], None], Callable[[], None], Timed]:
    """A control step of our environment, its physics alone, and the timed physics."""
    config = LocomotionConfig().override(
        "environment", balance_law=controller, max_episode_steps=10**6
    )
    batch = make_batch(config, bodies, seed=0)
    step = random_steps(batch)
    timed = Timed(batch.simulation._batch)
    batch.simulation._batch = timed
    physics = Batch(batch.simulation.model, bodies, 1, persistent=True)
    qpos, qvel, ctrl = (physics.bind(name) for name in ("qpos", "qvel", "ctrl"))

    def bare() -> None:
        # The same states as those of `step`, so that contacts and their cost are too.
        qpos[:], qvel[:] = batch.simulation.qpos, batch.simulation.qvel
        ctrl[:] = batch.simulation.ctrl
        physics.step(nstep=batch.simulation.substeps)

    return step, bare, timed


def humanoid(bodies: int) -> dict[str, Callable[[], None]]:
    """A control step (five physics steps) of Humanoid-v5 in three ways."""
    vector = gymnasium.make_vec(
        "Humanoid-v5", num_envs=bodies, vectorization_mode="sync"
    )
    vector.reset(seed=0)
    model = vector.envs[0].unwrapped.model  # type: ignore[attr-defined]
    skip = vector.envs[0].unwrapped.frame_skip  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    low, high = model.actuator_ctrlrange.T
    plain = Batch(model, bodies, 1, persistent=True)
    implicit = model.__copy__()
    implicit.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    driven = Batch(implicit, bodies, 1, persistent=True)
    spd = SpdController(implicit, SpdGains(stiffness=100.0, damping=10.0))
    dynamics = dynamics_of_batch(driven)
    target = np.tile(implicit.qpos0, (bodies, 1))

    def fresh(batch: Batch) -> None:
        """Put bodies that lie down back to rest, as the environment does."""
        fallen = np.flatnonzero(~(batch.bind("qpos")[:, 2] > 1.0))
        if len(fallen):
            batch.reset(fallen.astype(np.int32))

    whole = humanoid_vector_env(bodies)
    whole.reset(seed=0)

    def in_ours() -> None:
        whole.step(whole.action_space.sample())

    def gym() -> None:
        vector.step(vector.action_space.sample())

    def bare() -> None:
        plain.bind("ctrl")[:] = rng.uniform(low, high, (bodies, model.nu))
        plain.step(nstep=skip)
        fresh(plain)

    def with_spd() -> None:
        for _ in range(skip):
            torque, _ = spd.torques(dynamics, target)
            gear = implicit.actuator_gear[:, 0]
            driven.bind("ctrl")[:] = torque[:, 6:] / gear
            driven.step(stage=VELOCITY)
        fresh(driven)

    return {
        "humanoid_bare": bare,
        "humanoid_vector": in_ours,
        "gymnasium": gym,
        "humanoid_spd": with_spd,
    }


def main() -> None:
    """Measure, print, and write the JSON file if one is named."""
    parser = Options(__doc__, bodies=2, rounds=1, seconds=0.05)
    parser.add_argument("--bodies", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="of each measurement"
    )
    parser.add_argument(
        "--no-law", action="store_true", help="without the balance controller"
    )
    parser.add_argument("--envpool-python", help="a Python that has EnvPool")
    options = parser.read()
    step, bare, timed = ours(options.bodies, not options.no_law)
    things = {"ours": step, "bare": bare, **humanoid(options.bodies)}
    for thing in things.values():
        thing()  # compile and warm up
    rates: dict[str, list[float]] = {name: [] for name in things}
    inside: list[float] = []
    pool = None
    if options.envpool_python:
        pool = EnvPool(options.envpool_python, options.bodies)
        pool.rate(0.1)
        rates["envpool"] = []
    for _ in range(options.rounds):
        for name, thing in things.items():
            before, start = timed.seconds, time.process_time()
            rates[name].append(rate(thing, options.bodies, options.seconds))
            if name == "ours":
                whole = time.process_time() - start
                inside.append(whole / (timed.seconds - before))
        if pool is not None:
            rates["envpool"].append(pool.rate(options.seconds))
    if pool is not None:
        pool.close()
    found = {name: float(np.median(values)) for name, values in rates.items()}
    overheads = [b / o for b, o in zip(rates["bare"], rates["ours"], strict=True)]
    result = {
        "bodies": options.bodies,
        "rounds": options.rounds,
        "mujoco": mujoco.__version__,
        "load": os.getloadavg()[0],
        "control_steps_per_second": found,
        "spread": {name: [min(v), max(v)] for name, v in rates.items()},
        "overhead": float(np.median(inside)),
        "overhead_bare": float(np.median(overheads)),
    }
    for peer in ("gymnasium", "envpool"):
        if peer in found:
            ratios = np.divide(rates["humanoid_vector"], rates[peer])
            result[f"humanoid_over_{peer}"] = float(np.median(ratios))
    tell(result)
    write(result, options)


def tell(result: dict[str, Any]) -> None:
    """Print the numbers."""
    for name, value in result["control_steps_per_second"].items():
        print(f"{name:15s} {value:9.0f} control steps/s")
    print(f"overhead of ours over bare physics: {result['overhead']:.2f}x")
    for name in ("humanoid_over_gymnasium", "humanoid_over_envpool"):
        if name in result:
            print(f"{name}: {result[name]:.2f}x")
    print(f"load average {result['load']:.1f}")


if __name__ == "__main__":
    main()
