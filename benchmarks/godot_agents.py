"""How many steps a second the agents of a Godot game make: ours beside godot-rl 0.8.2.

The same scene, not a line changed, with 1 and with 16 agents after godot-rl's controller
contract. Ours is the add-on and the batch that training steps; theirs is `GodotEnv` from PyPI,
in a venv of its own, and the scene's node that speaks its protocol (`benchmarks/godot_peer`,
written for this comparison; a game of `--game` brings godot-rl's own `Sync`). Each sample
starts an engine, and the sides take turns. `cpu_us` is the CPU time of trainer and engine for a
step of an agent; `ratios` are medians over rounds of how many times better ours is.

Made equal: engine program, headless, without real time; ticks of a step, all of them in one
frame; random actions; both loops end with all observations in a float32 array. Where godot-rl
cannot be installed ours is measured alone.

    python benchmarks/godot_agents.py
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _godot_peer import PEER_PACKAGES, NoPeer, PeerGame, peer_project
from _harness import run
from godot_peer.cpu import cpu_seconds

from ambulo.envs.godot.agents.game import Game
from ambulo.envs.godot.agents.link import GameSettings, ticks_per_second
from ambulo.envs.godot.locate import find_project
from ambulo.evaluate.game.agents import random_actions
from ambulo.evaluate.game.engines import KindsBatch

Sample = tuple[float, float]
"""Steps of all agents in a second, and CPU time of one, [us]."""
SERVER = 'AmbuloServer="*res://addons/ambulo_rl/server/server.gd"'


def with_server(game: Path, folder: Path) -> Path:
    """Copy `game` to a new `folder`, with our add-on and its autoload; return it."""
    peer_project(folder, game)
    add_on = Path("addons") / "ambulo_rl"
    shutil.copytree(find_project() / add_on, folder / add_on, dirs_exist_ok=True)
    file = folder / "project.godot"
    text = file.read_text()
    head = "[autoload]\n"
    text = text.replace(head, f"{head}{SERVER}\n") if head in text else text
    file.write_text(text if SERVER in text else f"{text}\n{head}\n{SERVER}\n")
    return folder


def ours(project: Path, scene: str | None, repeat: int, steps: int) -> Sample:
    """Through the batch that training steps."""
    settings = GameSettings(
        project=str(project), scene=scene, action_repeat=repeat, speed_up=repeat
    )
    with contextlib.closing(KindsBatch(Game(settings))) as batch:
        everyone = np.arange(batch.num_envs)
        batch.seed(everyone.tolist())
        rng, width = np.random.default_rng(0), batch.game.spec.kinds[0].action_size
        actions = [
            random_actions(batch.kinds, batch.kind, width, rng) for _ in range(steps)
        ]
        seen = np.zeros((steps, *batch.obs.shape), np.float32)
        (engine,) = batch.game.pids
        for count in (min(steps, 200), steps):
            batch.reset(everyone)
            cpu, own = cpu_seconds(engine), time.process_time()
            begin = time.perf_counter()
            for t in range(count):
                obs, _, terminated, truncated, _ = batch.step(actions[t])
                seen[t] = obs
                over = np.flatnonzero(terminated | truncated)
                if len(over):
                    seen[t] = batch.reset(over)
            seconds = time.perf_counter() - begin
            spent = time.process_time() - own + cpu_seconds(engine) - cpu
        if batch.game.faults.total():
            raise RuntimeError(f"the engine had faults: {dict(batch.game.faults)}")
    return steps * len(everyone) / seconds, 1e6 * spent / (steps * len(everyone))


def measure(
    scenes: tuple[str, ...] = ("res://game_1.tscn", "res://game_16.tscn"),
    game: Path | None = None,
    action_repeat: int = 9,
    steps: int = 1500,
    rounds: int = 5,
) -> dict[str, Any]:
    """Steps of all agents in a second, lowest and highest of all rounds, and ratios.

    `game` is the folder of a game of godot-rl in place of ours, with its `scenes`.
    """
    rows: dict[str, dict[str, float]] = {}
    ratios: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="ambulo-agents-") as text:
        folder = Path(text)
        theirs = peer_project(folder / "theirs", game)
        project = with_server(theirs, folder / "ours")
        frames = ticks_per_second(project)
        for scene in scenes:
            samples: dict[str, list[Sample]] = {"ambulo": []}
            try:
                peer = PeerGame(folder, theirs, scene)
            except NoPeer as error:
                print(f"skipped: {error}", file=sys.stderr)
                peer = None
            for _ in range(rounds):
                samples["ambulo"].append(ours(project, scene, action_repeat, steps))
                if peer is not None:
                    launch = {"framerate": frames, "speedup": action_repeat}
                    result, seen = peer.measure(
                        {"action_repeat": action_repeat, **launch}, steps
                    )
                    count = seen.shape[0] * seen.shape[1]
                    samples.setdefault(PEER_PACKAGES[0], []).append(
                        (count / result["seconds"], 1e6 * result["cpu"] / count)
                    )
            for name, made in samples.items():
                rates = np.array(made)
                rows[f"{name}, {scene}"] = {
                    "median": float(np.median(rates[:, 0])),
                    "lowest": float(rates[:, 0].min()),
                    "highest": float(rates[:, 0].max()),
                    "cpu_us": float(np.median(rates[:, 1])),
                }
                if name != "ambulo":
                    times = np.array(samples["ambulo"]) / rates
                    ratios[scene] = {
                        "steps": float(np.median(times[:, 0])),
                        "cpu": float(np.median(1.0 / times[:, 1])),
                    }
    return {"rows": rows, "ratios": ratios}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all engines end
    small = {"scenes": ["res://game_1.tscn"], "steps": 20, "rounds": 1}
    run(measure, small, [("ratios.*.steps", ">=", 2.0)])
