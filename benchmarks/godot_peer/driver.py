"""Drives the peer scene with godot-rl's own `GodotEnv`; run by its own interpreter.

    python driver.py FOLDER PORT WARM_UP

FOLDER holds `actions.npy` (T, N, 3), `setup.json` and the launcher `peer.x86_64`; written
are `seen.npy` (T, N, 48) and `result.json`. It needs godot-rl and numpy, not our package.
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
from godot_rl.core.godot_env import GodotEnv


def measure(env: GodotEnv, folder: Path, warm_up: int) -> dict[str, float]:
    """Walk through all actions; how long it took, [s]."""
    actions = np.load(folder / "actions.npy")
    decisions, agents, _ = actions.shape
    if env.num_envs != agents:
        raise SystemExit(f"the game has {env.num_envs} agents, not {agents}")
    env.reset()
    for t in range(warm_up):
        env.step([actions[t % decisions]])
    env.reset()
    seen = np.zeros((decisions, agents, 48), np.float32)
    begin = time.perf_counter()
    for t in range(decisions):
        observations, *_ = env.step([actions[t]])
        seen[t] = [observation["obs"] for observation in observations]
    seconds = time.perf_counter() - begin
    np.save(folder / "seen.npy", seen)
    return {"seconds": seconds}


def main() -> None:
    """Start the game, measure, and end it whatever happens."""
    folder, port, warm_up = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    env = None
    try:
        env = GodotEnv(
            env_path=str(folder / "peer.x86_64"),
            port=port,
            action_repeat=9,
            framerate=10,
            setup=folder / "setup.json",
        )
        result = measure(env, folder, warm_up)
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
