"""What a step of MyoSuite's walking task costs over the `mj_step`s inside it.

Run by a Python that has MyoSuite (`pip install myosuite` in a venv of its own):

    PYTHON_WITH_MYOSUITE benchmarks/_myosuite.py [--env myoLegWalk-v0] [--rounds 9]

Random activations around 0.1; episodes restart when they end. The `mj_step`s are timed on
the same data in the same state, with the controls that the task set.
"""

from __future__ import annotations

import argparse
import json
import time

import mujoco
import numpy as np


def main() -> None:
    """Print a line of JSON: control steps per second and the overhead."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="myoLegWalk-v0")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args()
    import myosuite
    from myosuite.utils import gym

    env = gym.make(options.env)
    task = env.unwrapped
    model, data = task.mj_model, task.mj_data
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    own = mujoco.MjData(model)
    ratios, rates = [], []
    for _ in range(options.rounds):
        whole = bare = 0.0
        for _ in range(options.steps):
            mujoco.mj_copyData(own, model, data)
            action = rng.uniform(-1.0, -0.5, env.action_space.shape)
            start = time.process_time()
            _, _, ended, cut, _ = env.step(action)
            whole += time.process_time() - start
            own.ctrl[:] = data.ctrl
            start = time.process_time()
            mujoco.mj_step(model, own, task.frame_skip)
            bare += time.process_time() - start
            if ended or cut:
                env.reset()
        ratios.append(whole / bare)
        rates.append(options.steps / whole)
    result = {
        "env": options.env,
        "myosuite": myosuite.__version__,
        "mujoco": mujoco.__version__,
        "substeps": int(task.frame_skip),
        "control_steps_per_second": float(np.median(rates)),
        "overhead": float(np.median(ratios)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
