"""Cost and accuracy of the ways from a wanted torque to muscle activations (myolegs).

Accuracy: held-out random poses with feasible targets; the optimum of the bounded least
squares problem, and muscle networks trained here. Time of one solve: the exact solver from
the last solution and from nothing, coordinate descent, SciPy, the network, on the states
of a simulated movement. Time of a control step of 16 simulation steps: stable PD and
activations every second step, beside the cost of `mj_step` alone for the same movement.
Times are CPU times: the machine may be busy.

    python benchmarks/muscle_solver.py --steps 6000 --json docs/results/muscle_solver.json
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import mujoco.batch
import numpy as np
import torch
from _harness import Options, write
from scipy.optimize import lsq_linear

from ambulo.configs.arrays import Floats
from ambulo.configs.muscle import ActivationCost, JointGain, MuscleNNConfig, SpdGains
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.dynamics import dynamics_of_batch
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn, save_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.muscle.solver import descend, solve
from ambulo.muscle.spd import SpdController
from ambulo.shipped import locate
from ambulo.train.muscle.training import train_muscle_nn

SUBSTEPS = 16
VELOCITY = mujoco.mjtStage.mjSTAGE_VEL
GAINS = SpdGains(
    stiffness=250.0,
    damping=20.0,
    joints=(
        JointGain(joints="hip_rotation*", stiffness=100.0, damping=8.0),
        JointGain(joints="subtalar*", stiffness=60.0, damping=3.0),
        JointGain(joints="mtp*", stiffness=10.0, damping=0.5),
    ),
)
VARIANTS: dict[str, dict[str, Any]] = {
    "256x3, sigmoid, 2 corrections": {},
    "256x3, sigmoid": {"corrections": 0},
    "256x3, relu(tanh)": {"corrections": 0, "output": "relu_tanh"},
    "1024-512-512, relu(tanh)": {
        "corrections": 0, "output": "relu_tanh", "hidden": (1024, 512, 512),
    },
}  # fmt: skip


def load(name: str) -> mujoco.MjModel:
    """A model of myo-sim, without its warnings."""
    import myo_sim

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return myo_sim.load(name)[0]


def rms(values: Floats) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.square(values).mean()))


def accuracy(network: MuscleNN, layer: MuscleLayer, count: int) -> dict[str, float]:
    """Residual and effort of a network on held-out poses, beside the optimum."""
    rng = np.random.default_rng(20_001)
    samples = sample_muscles(
        layer, count, rng, pattern=network.pattern,
        weakness=network.config.weakness, shortness=network.config.shortness,
    )  # fmt: skip
    wanted, active = feasible_targets(samples, rng), samples.active
    best = solve(active, wanted)
    factors = samples.groups if network.scales.conditioned else None
    made = network.activations(active, wanted, factors)
    residual = np.einsum("bim,bm->bi", active, made) - wanted
    return {
        "torque_rms": rms(wanted),
        "optimum_residual_rms": rms(best.residual),
        "residual_rms": rms(residual),
        "residual_over_optimum": (rms(residual) - rms(best.residual)) / rms(wanted),
        "residual_from_optimum": rms(residual - best.residual) / rms(wanted),
        "optimum_mean_square_activation": float(np.square(best.activation).mean()),
        "mean_square_activation": float(np.square(made).mean()),
        "effort_ratio": float(
            np.square(made).mean() / np.square(best.activation).mean()
        ),
    }


def walk_like(model: mujoco.MjModel, t: float) -> Floats:
    """A target pose of two legs that swing in turns, (nq,)."""
    qpos = np.array(model.qpos0)
    for side, phase in (("r", 0.0), ("l", np.pi)):
        swing = np.sin(2.0 * np.pi * t + phase)
        bend = np.clip(np.sin(2.0 * np.pi * t + phase + 0.8), 0.0, None)
        for joint, angle in (
            ("hip_flexion", 0.1 + 0.35 * swing),
            ("knee_angle", 0.15 + 0.8 * bend),
            ("ankle_angle", 0.1 * swing),
        ):
            qpos[model.joint(f"{joint}_{side}").qposadr[0]] = angle
    return qpos


class ControlledLegs:
    """N simulations driven by stable PD and the muscle actuation of the environments."""

    def __init__(
        self, model: mujoco.MjModel, count: int, network: MuscleNN | None
    ) -> None:
        """Simulations at rest; the exact solver if `network` is None."""
        self.model, self.count = model, count
        self.batch = mujoco.batch.Batch(model, count, 1, persistent=True)
        self.spd = SpdController(model, GAINS)
        # `apply` is called every second simulation step, and so refreshes every time.
        self.muscles = MuscleActuation(model, self.batch, refresh=1, network=network)
        self.dynamics = dynamics_of_batch(self.batch)
        self.act, self.ctrl = self.batch.bind("act"), self.batch.bind("ctrl")

    def move(self, steps: int) -> tuple[list[Floats], float]:
        """Swing the legs in the air for `steps` control steps.

        Returns the activations of each refresh, (N, m), and the CPU time in seconds.
        """
        self.batch.reset()
        self.muscles.reset(np.arange(self.count))
        self.batch.forward(stage=VELOCITY)
        activations, taken = [], 0.0
        for k in range(steps):
            target = walk_like(self.model, k * SUBSTEPS * self.model.opt.timestep)
            targets = np.repeat(target[None], self.count, axis=0)
            begin = time.process_time()
            for _ in range(SUBSTEPS // 2):
                torque, _ = self.spd.torques(self.dynamics, targets)
                actuated = torque[:, self.spd.coupling.actuated]
                self.muscles.apply(actuated, self.ctrl)
                self.batch.step(nstep=2, stage=VELOCITY)
                activations.append(self.muscles.activation.copy())
            taken += time.process_time() - begin
        return activations, taken

    def replay(self, activations: list[Floats]) -> float:
        """CPU time of `mj_step` alone with the activations of a movement, [s]."""
        self.batch.reset()
        taken = 0.0
        for row in activations:
            self.act[:], self.ctrl[:] = row, row
            begin = time.process_time()
            self.batch.step(nstep=2)
            taken += time.process_time() - begin
        return taken


def solver_inputs(model: mujoco.MjModel, steps: int) -> list[tuple[Floats, Floats]]:
    """`active` (na, m) and `wanted` (na,) of each control step of a movement."""
    legs = ControlledLegs(model, 1, None)
    inputs: list[tuple[Floats, Floats]] = []
    legs.muscles.listener = lambda active, wanted: inputs.append((active[0], wanted[0]))
    legs.move(steps)
    return inputs[SUBSTEPS // 2 - 1 :: SUBSTEPS // 2]


def median_us(run: Callable[[], object], repetitions: int) -> float:
    """Median time of a call, [us]."""
    run()
    times = []
    for _ in range(repetitions):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return float(np.median(times)) * 1e6


def solve_times(
    tuples: list[tuple[Floats, Floats]], network: MuscleNN, repeat: int
) -> dict[str, float]:
    """Median time of one solve by each method on consecutive states, [us]."""
    active = np.array([row[0] for row in tuples])
    wanted = np.array([row[1] for row in tuples])
    found = solve(active, wanted)
    one = [(active[k : k + 1], wanted[k : k + 1]) for k in range(len(active))]
    warm = [found.dual[max(k - 1, 0)][None] for k in range(len(active))]
    near = [found.activation[max(k - 1, 0)][None] for k in range(len(active))]
    cost = ActivationCost()
    muscles = active.shape[2]

    def scipy_solve() -> None:
        for k in range(0, len(active), 20):
            left = np.vstack([active[k], np.sqrt(cost.effort) * np.eye(muscles)])
            right = np.concatenate([wanted[k], np.zeros(muscles)])
            lsq_linear(left, right, (0.0, 1.0))

    def each(call: Callable[[int], object]) -> Callable[[], None]:
        def run() -> None:
            for k in range(len(one)):
                call(k)

        return run

    n = len(one)
    return {
        "exact, warm": median_us(each(lambda k: solve(*one[k], start=warm[k])), repeat) / n,
        "exact, cold": median_us(each(lambda k: solve(*one[k])), repeat) / n,
        "exact, warm, batched": median_us(
            lambda: solve(active, wanted, start=np.concatenate(warm)), repeat
        ) / n,
        "descent, 6 sweeps": median_us(
            each(lambda k: descend(*one[k], start=near[k])), repeat
        ) / n,
        "network": median_us(each(lambda k: network.activations(*one[k])), repeat) / n,
        "network, batched": median_us(
            lambda: network.activations(active, wanted), repeat
        ) / n,
        "scipy lsq_linear (trf)": median_us(scipy_solve, 1) / len(range(0, n, 20)),
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; write the numbers as JSON."""
    parser = Options(
        __doc__, steps=2, heldout=4, control_steps=2, repetitions=1, variants=1
    )
    parser.add_argument("--steps", type=int, default=6000, help="gradient steps")
    parser.add_argument("--variants", type=int, default=1, help="networks to train")
    parser.add_argument(
        "--network", type=Path, help="use this network, shipped or a file, or write it"
    )
    parser.add_argument("--heldout", type=int, default=1000)
    parser.add_argument("--control-steps", type=int, default=120)
    parser.add_argument("--repetitions", type=int, default=5)
    args = parser.read(argv)
    torch.set_num_threads(1)
    model = load("myolegs")
    layer = MuscleLayer(model)
    result: dict[str, Any] = {"model": "myolegs", "networks": {}}
    network: MuscleNN | None = None
    for name, changes in list(VARIANTS.items())[: args.variants]:
        begin = time.process_time()
        file = locate(args.network) if network is None and args.network else None
        known = file is not None
        if file is not None:
            trained = load_muscle_nn(file)
        else:
            config = MuscleNNConfig(steps=args.steps).replace(**changes)
            trained = train_muscle_nn(layer, config, 0)
        seconds = time.process_time() - begin
        row = accuracy(trained, layer, args.heldout)
        if not known:
            row["train_seconds"] = seconds
        result["networks"][name] = row
        if network is None:
            network = trained
            if args.network and not known:
                save_muscle_nn(args.network, network)
        print(
            f"{name:32s} residual over the optimum {row['residual_over_optimum']:7.2%}"
            f" of {row['torque_rms']:.1f} N m, effort x {row['effort_ratio']:.2f}"
        )
    assert network is not None
    result |= costs(model, network, args.control_steps, args.repetitions)
    write(result, args)
    return 0


def costs(
    model: mujoco.MjModel, network: MuscleNN, steps: int, repetitions: int
) -> dict[str, Any]:
    """Times of solves and of control steps, printed too."""
    times = solve_times(solver_inputs(model, steps), network, repetitions)
    for name, taken in times.items():
        print(f"{name:32s} {taken:9.1f} us a solve")
    ratios: dict[str, list[float]] = {}
    for _ in range(repetitions):
        for name, resolver in (("exact", None), ("network", network)):
            for count, label in ((1, name), (32, f"{name}, 32 in a batch")):
                legs = ControlledLegs(model, count, resolver)
                activations, taken = legs.move(max(2, steps // count))
                ratio = taken / legs.replay(activations)
                ratios.setdefault(label, []).append(ratio)
    for name, values in ratios.items():
        print(f"{'control step, ' + name:44s} {np.median(values):5.2f} x mj_step alone")
    return {
        "solve_us": times,
        "control_step_over_bare": {
            name: float(np.median(values)) for name, values in ratios.items()
        },
        "substeps": SUBSTEPS,
    }


if __name__ == "__main__":
    raise SystemExit(main())
