"""Agents with a planner in the real engine: they observe what Python's do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from fixtures.policy_replay import (
    TOLERANCE,
    Godot,
    Probe,
    play_everywhere,
    record,
    untrained,
)

from ambulo.configs.vr import NavigationConfig
from ambulo.envs.vr.contract import WorldSpec
from ambulo.envs.vr.families import FAMILIES
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.godot import export_godot

FAMILIES_SEEN = ("storeys", "doors", "lifts", "crowd", "pits", "rooms")
"""Families of levels that are replayed."""
KINDS = ("plan", "path", "navigator")


def follower(memory: str = "path") -> Agent:
    """An agent that walks to the waypoint of its plan; its weights are set by hand."""
    config = NavigationConfig().override("observations", memory=memory, plan_reach=10.0)
    agent = untrained(config.override("network", net_arch=(4, 3)))
    at = agent.layout.slices()[_waypoint(memory)].start
    metres = 5.0 / agent.policy.mlp_extractor.scales[at : at + 2]
    first = torch.zeros(4, agent.layout.size)
    first[:, at] = metres[0] * torch.tensor([1.0, 0.0, 0.0, -1.0])
    first[:, at + 1] = metres[1] * torch.tensor([0.0, 1.0, -1.0, 0.0])
    second = torch.tensor(
        [
            [1.0, -1.5, -1.5, 0.0],  # ahead, not before it has turned
            [0.0, 1.0, 0.0, 0.0],  # to the left
            [0.0, 0.0, 1.0, 1.0],  # to the right, or behind
        ]
    )
    last = torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, -1.5, 1.5]])
    acting = (*agent.policy.mlp_extractor.actor, agent.policy.action_net)
    linear = [m for m in acting if isinstance(m, torch.nn.Linear)]
    with torch.no_grad():
        for layer, weight in zip(linear, (first, second, last), strict=True):
            layer.weight.copy_(weight)
            layer.bias.zero_()
    return agent


def _waypoint(memory: str) -> str:
    return "waypoint" if memory == "navigator" else "plan_points"


def test_agents_observe_what_they_do_in_python(godot: Godot, tmp_path: Path) -> None:
    """The whole observation, decision for decision, of every kind of memory that plans."""
    probe, cases = Probe(tmp_path), []
    for memory in KINDS:
        agent = follower(memory)
        for recording in record(agent.config, agent, 125, FAMILIES_SEEN):
            cases.append((memory, recording.observations))
            probe.add(agent, recording.records, states=True)
    probe.run(godot)
    for k, (memory, want) in enumerate(cases):
        got = probe.output(k, len(want))[:, : want.shape[1]]
        same = np.isclose(got, want, atol=TOLERANCE).all(axis=1)
        times = probe.times(k)
        print(
            f"{memory} {k}: {same.mean():.3f}, {times.mean():.0f} us, at most {times.max():.0f}"
        )
        assert same.mean() >= 0.97, (memory, k)


def test_an_agent_that_follows_its_plan_plays_without_python(
    godot: Godot, tmp_path: Path
) -> None:
    agent, policy = follower(), tmp_path / "agent.ambulo"
    export_godot(agent, policy, vars(WorldSpec.from_config(agent.config)))
    engine, python, _ = play_everywhere(godot, agent, tmp_path, f"--policy={policy}")
    print(f"engine {engine.sum()}, Python {python.sum()} of {len(engine)}")
    assert engine.sum() >= len(FAMILIES) - 2
    assert abs(int(engine.sum()) - int(python.sum())) <= 1
