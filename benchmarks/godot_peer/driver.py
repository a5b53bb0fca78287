"""Drives the peer scene with godot-rl's own `GodotEnv`; run by its own interpreter.

    python driver.py FOLDER PORT WARM_UP STEPS

FOLDER holds `launch.json` (arguments of `GodotEnv`), the launcher `peer.x86_64` and, unless
actions are random, `actions.npy` (T, N, A); written are `seen.npy` (T, N, part "obs") and
`result.json`. It needs godot-rl and numpy, not our package.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from cpu import cpu_seconds
from godot_rl.core.godot_env import GodotEnv


def random_actions(env: GodotEnv, steps: int) -> list[list[np.ndarray]]:
    """Uniformly random actions of each step: one array a part of the action."""
    rng, parts = np.random.default_rng(0), []
    for space in env.action_spaces[0].values():
        if hasattr(space, "n"):
            parts.append(rng.integers(space.n, size=(steps, env.num_envs)))
        else:
            drawn = rng.uniform(-1.0, 1.0, (steps, env.num_envs, *space.shape))
            parts.append(drawn.astype(np.float32))
    return [[part[t] for part in parts] for t in range(steps)]


def measure(env: GodotEnv, folder: Path, warm_up: int, steps: int) -> dict[str, float]:
    """Make all steps; how long they took and their CPU time here and in the engine, [s]."""
    actions = random_actions(env, steps)
    if (folder / "actions.npy").exists():
        actions = [[rows] for rows in np.load(folder / "actions.npy")]
    env.reset()
    for t in range(warm_up):
        env.step(actions[t % steps])
    first = env.reset()[0]
    seen = np.zeros((steps, env.num_envs, len(first[0]["obs"])), np.float32)
    engine, own = cpu_seconds(env.proc.pid), time.process_time()
    begin = time.perf_counter()
    for t in range(steps):
        observations, *_ = env.step(actions[t])
        seen[t] = [observation["obs"] for observation in observations]
    seconds = time.perf_counter() - begin
    cpu = time.process_time() - own + cpu_seconds(env.proc.pid) - engine
    np.save(folder / "seen.npy", seen)
    return {"seconds": seconds, "cpu": cpu}


def main() -> None:
    """Start the game, measure, and end it whatever happens."""
    folder = Path(sys.argv[1])
    port, warm_up, steps = map(int, sys.argv[2:])
    env = None
    try:
        env = GodotEnv(
            env_path=str(folder / "peer.x86_64"),
            port=port,
            **json.loads((folder / "launch.json").read_text()),
        )
        result = measure(env, folder, warm_up, steps)
        (folder / "result.json").write_text(json.dumps(result))
    finally:
        if env is not None:
            with contextlib.suppress(OSError):
                env.close()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(env.proc.pid, signal.SIGKILL)
            env.proc.wait()


if __name__ == "__main__":
    main()
