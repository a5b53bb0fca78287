"""Cost and accuracy of the ways from a wanted torque to muscle activations (myolegs).

Accuracy: held-out random poses with feasible targets; the optimum of the bounded least
squares problem, and a muscle network. Time of one solve: the exact solver from
the last solution and from nothing, coordinate descent, SciPy, the network, on the states
of a simulated movement. Time of a control step of 16 simulation steps: stable PD and
activations every second step, beside the cost of `mj_step` alone for the same movement.
Times are CPU times: the machine may be busy.

    python benchmarks/muscle_solver.py
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import mujoco
import mujoco.batch
import numpy as np
import torch
from _harness import run
from scipy.optimize import lsq_linear

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.muscle import ActivationCost, JointGain, SpdGains
from ambulo.muscle.actuation import MuscleActuation
from ambulo.muscle.dynamics import dynamics_of_batch
from ambulo.muscle.muscle_nn import MuscleNN, load_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.muscle.solver import descend, solve
from ambulo.muscle.spd import SpdController

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


def measure(
    model: str = "muscle_nn_myolegs",
    heldout: int = 1000,
    control_steps: int = 120,
    rounds: int = 5,
) -> dict[str, Any]:
    """Accuracy of the network `model`, times of solves, and of control steps."""
    torch.set_num_threads(1)
    legs = load("myolegs")
    network = load_muscle_nn(find_model(model))
    ratios: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, solver in (("exact", None), ("network", network)):
            for count, label in ((1, name), (32, f"{name}, 32 in a batch")):
                moving = ControlledLegs(legs, count, solver)
                activations, taken = moving.move(max(2, control_steps // count))
                ratios.setdefault(label, []).append(taken / moving.replay(activations))
    return {
        "accuracy": accuracy(network, MuscleLayer(legs), heldout),
        "solve_us": solve_times(solver_inputs(legs, control_steps), network, rounds),
        "control_step_over_mj_step": {
            n: float(np.median(v)) for n, v in ratios.items()
        },
    }


if __name__ == "__main__":
    run(measure, {"heldout": 4, "control_steps": 2, "rounds": 1})
