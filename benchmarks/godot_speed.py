"""How many decisions a second come out of one Godot engine: ours beside godot-rl 0.8.2.

One engine process, 16 rays, 9 physics ticks an action, for one agent and for a batch. Each
measurement starts engines of its own; the sides take turns (A B C A B C ...), and the
median and range over the repetitions are printed. The sides:

* `ambulo`: `GodotWorld` (binary `/rl/step` over a keep-alive socket), and
  `GodotClient` (JSON through requests) for one agent;
* `godot-rl`: its `GodotEnv`, from PyPI and in a venv of its own, talks to the scene of
  `benchmarks/godot_peer` in its own protocol (JSON over TCP). The envs are
  `CharacterBody3D` nodes as in other games; with `same world` they are our own world
  code, so that only the protocol and the way of stepping differ.

Made equal: engine program, headless, Jolt and its settings; held-out levels, built of the
same shapes; body, command filter, speeds, fall, 16 `intersect_ray` readings; 9 ticks of
1/90 s; the same smooth random actions, starts and goals; an episode ends with a fall or
after `--limit` decisions and goes on in the next level; all levels are built before the
clock starts; both loops end with the 48 published numbers an env in a float32 array;
waiting in the engine (0.3 ms of polling, then naps of 50 us). Nobody computes rewards.

godot-rl's best settings are used: it starts the engine itself with `action_repeat` 9 and
`framerate` 10, which is `--fixed-fps 10`: nine ticks in one engine frame, no real time
(90 is as fast; its speedup without it is bound to real time and slower). Its engine has
one worker thread, which is a quarter faster. Its add-on is not copied; the node that speaks
for the game here does less than it (no pausing of the tree around the wait, one write a
message, no info dictionaries).

Not equal, by design: ours moves envs within the request, while godot-rl's protocol
lets the engine tick; ours resets an env with one more request, the peer in the game;
ours computes the observation in Python, the peer in GDScript; the character is slid by
the engine's solver, our envs by the contract's rule from the engine's overlaps.

    python benchmarks/godot_speed.py --json docs/results/godot_speed.json
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _godot_peer import Peer
from _godot_walk import Sample, Task, Walk, make_task
from _harness import Options, machine, write

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.cores import usable_cores
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.locate import find_engine, find_project
from ambulo.envs.godot.protocol import RowLayout
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.world.state import WorldState

TARGETS = {1: 1500.0, 16: 8000.0}
"""Decisions a second of all agents together that our fast side should reach."""
OURS, CLIENT = "ambulo GodotWorld", "ambulo GodotClient (requests)"
PEERS = {"character": "godot-rl 0.8.2", "world": "godot-rl 0.8.2, same world"}


def measure_world(task: Task) -> Sample:
    """Through the world that training uses."""
    world = GodotWorld(task.agents, WorldSpec())
    with contextlib.closing(world):
        world.set_levels(range(len(task.bank)), task.bank.levels)
        sample = Walk(task, world.state, world.step, world.reset).run()
        if world.faults.total():
            raise RuntimeError(f"the engine had faults: {dict(world.faults)}")
    return sample


def measure_client(task: Task, folder: Path) -> Sample:
    """Through the client for scripts, which speaks JSON."""
    spec, agents = WorldSpec(), task.agents
    layout, falling = RowLayout(spec), np.zeros(agents, np.bool_)
    state = WorldState.zeros(agents, spec.num_rays)
    engine, project = find_engine(), find_project()
    with EngineProcess(
        engine, project, folder / "client.log", agents=agents
    ) as process:
        url = f"http://127.0.0.1:{process.wait_until_ready()}"
        with GodotClient(url) as client:
            client.set_levels(range(len(task.bank)), task.bank.levels)

            def step(action: Floats) -> None:
                rows = np.array(client.step(action.tolist())["states"])
                layout.write(rows, state, falling, slice(None))

            def place(envs: Ints, slots: Ints, poses: Floats) -> None:
                answer = client.place(envs.tolist(), slots.tolist(), poses.tolist())
                layout.write(np.array(answer["states"]), state, falling, envs)

            return Walk(task, state, step, place).run()


def summary(samples: Sequence[Sample], reference: Sample, task: Task) -> dict[str, Any]:
    """Rates of one side, and how its walk compares with our world's."""
    rates = [task.actions[:, :, 0].size / sample.seconds for sample in samples]
    seen = samples[0].seen
    first = min(task.limit, len(seen)) - 1  # within everybody's first episode
    apart = np.linalg.norm(
        seen[:first, :, :2] - reference.seen[:first, :, :2], axis=-1
    ).max(axis=0)
    return {
        "rates": rates,
        "median": float(np.median(rates)),
        "lowest": min(rates),
        "highest": max(rates),
        "episodes": samples[0].episodes,
        "mean_speed": float(np.linalg.norm(seen[:, :, 7:9], axis=-1).mean()),
        "mean_ray": float(seen[:, :, 13:29].mean()),
        "first_episode_apart": float(np.median(apart)),
    }


def machine_and_engine() -> dict[str, Any]:
    """What the numbers were measured on."""
    engine = subprocess.run(
        [str(find_engine()), "--headless", "--version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {
        **machine(),
        "usable_cores": usable_cores(),
        "engine": engine.stdout.strip().splitlines()[-1],
    }


def table(agents: int, rows: dict[str, dict[str, Any]]) -> None:
    """Print the sides of one number of agents."""
    print(f"\n{agents} agent{'s' if agents > 1 else ''}: decisions/s of all agents")
    head = ("median", "lowest", "highest", "ours/it", "episodes", "m/s", "ray", "apart")
    print(f"{'':32s}" + "".join(f"{name:>9s}" for name in head))
    ours = rows[OURS]["median"]
    for name, row in rows.items():
        print(
            f"{name:32s}{row['median']:9,.0f}{row['lowest']:9,.0f}{row['highest']:9,.0f}"
            f"{ours / row['median']:9.2f}{row['episodes']:9d}{row['mean_speed']:9.3f}"
            f"{row['mean_ray']:9.3f}{row['first_episode_apart']:9.3f}"
        )
    target = TARGETS.get(agents)
    if target is not None:
        verdict = "reached" if ours >= target else "MISSED"
        print(f"target for {OURS}: >= {target:,.0f} decisions/s: {verdict}")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all sides in turn, print a table for each batch, and write the JSON."""
    parser = Options(
        __doc__,
        agents=[1],
        decisions=20,
        batches=10,
        levels=2,
        warm_up=2,
        repetitions=1,
    )
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--decisions", type=int, default=3600, help="of one agent")
    parser.add_argument("--batches", type=int, default=900, help="of more agents")
    parser.add_argument("--limit", type=int, default=100, help="decisions an episode")
    parser.add_argument("--levels", type=int, default=18)
    parser.add_argument("--warm-up", type=int, default=200)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--framerate", type=int, default=10, help="godot-rl; 0: none")
    parser.add_argument("--speedup", type=int, default=1, help="godot-rl")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.read(argv)

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that all engines end
    tasks = {
        agents: make_task(
            agents, args.decisions if agents == 1 else args.batches, args.limit,
            args.levels, args.seed, args.warm_up,
        )
        for agents in args.agents
    }  # fmt: skip
    settings = {name: value for name, value in vars(args).items() if name != "json"}
    found: dict[str, Any] = {
        "machine": machine_and_engine(),
        "settings": settings,
        "agents": {},
    }
    with tempfile.TemporaryDirectory(prefix="ambulo-speed-") as text:
        folder = Path(text)
        peer = Peer(folder, args.framerate, args.speedup)
        sides: dict[str, Callable[[Task], Sample]] = {OURS: measure_world}
        for body, name in PEERS.items():
            sides[name] = lambda task, body=body: peer.measure(task, body)
        sides[CLIENT] = lambda task: measure_client(task, folder)
        samples: dict[tuple[int, str], list[Sample]] = {}
        for repetition in range(args.repetitions):
            for agents, task in tasks.items():
                for name, side in sides.items():
                    if name == CLIENT and agents > 1:
                        continue
                    sample = side(task)
                    samples.setdefault((agents, name), []).append(sample)
                    rate = task.actions[:, :, 0].size / sample.seconds
                    print(
                        f"repetition {repetition + 1}: {agents:3d} x {name}: {rate:,.0f}/s",
                        file=sys.stderr,
                    )
    for agents, task in tasks.items():
        reference = samples[agents, OURS][0]
        rows = {
            name: summary(taken, reference, task)
            for (count, name), taken in samples.items()
            if count == agents
        }
        table(agents, rows)
        found["agents"][str(agents)] = rows
    found["machine"]["load_after"] = os.getloadavg()[0]
    print(
        f"\n{found['machine']['cores']} cores, load {found['machine']['load']:.1f} "
        f"before and {found['machine']['load_after']:.1f} after; {args.repetitions} "
        "repetitions; 'apart': median over agents of the largest distance to our world's "
        "walk in the first episode, [m]"
    )
    write(found, args)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
