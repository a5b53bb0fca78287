"""The probability of being lost in the real engine: the same numbers as in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fixtures.policy_replay import TOLERANCE, Godot, Probe, random_agent

from ambulo.policies.agents.navigation import Agent
from ambulo.policies.networks.lost_head import LostHead


def with_head(agent: Agent, hidden: int) -> Agent:
    agent.lost_head = LostHead(agent.actor.head.in_features, hidden)
    return agent.copy()


def told(agent: Agent, rows: np.ndarray) -> np.ndarray:
    """Actions and probabilities, decision by decision."""
    own, found = agent.copy(), []
    for row in rows:
        action = own.act(row[None])
        assert own.lost is not None
        found.append(np.append(action[0], own.lost))
    return np.array(found)


def test_the_engine_says_what_python_says(godot: Godot, tmp_path: Path) -> None:
    agents = [
        with_head(random_agent(memory="map"), 32),
        with_head(random_agent("discrete", "tanh"), 0),
        with_head(random_agent(units=10, memory="visits"), 5),
        with_head(random_agent(units=7, widths=(9,)), 32),
    ]
    probe, rng = Probe(tmp_path), np.random.default_rng(0)
    inputs = []
    for agent in agents:
        noise = rng.normal(size=(300, agent.layout.size)).astype(np.float32)
        inputs.append((noise / agent.actor.scales.numpy()).astype(np.float32))
        probe.add(agent, inputs[-1], states=False)
    probe.run(godot)
    for index, (agent, rows) in enumerate(zip(agents, inputs, strict=True)):
        want = told(agent, rows)
        assert want[:, -1].std() > 1e-3
        got = probe.output(index, len(rows))
        np.testing.assert_allclose(got, want, atol=TOLERANCE, rtol=0)
