"""The probability of being lost in the real engine: the same numbers as in Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from fixtures.policy_replay import TOLERANCE, Godot, Probe, acted, random_agent


def test_the_engine_says_what_python_says(godot: Godot, tmp_path: Path) -> None:
    agents = [
        random_agent(memory="map"),
        random_agent("discrete", "tanh", memory="plan"),
        random_agent(units=10, memory="visits"),
        random_agent(memory="path", comfort=True),
        random_agent(units=7, widths=(9,)),
    ]
    probe, rng = Probe(tmp_path), np.random.default_rng(0)
    inputs = []
    for agent in agents:
        noise = rng.normal(size=(300, agent.layout.size)).astype(np.float32)
        inputs.append(
            (noise / agent.policy.mlp_extractor.scales.numpy()).astype(np.float32)
        )
        probe.add(agent, inputs[-1], states=False)
    probe.run(godot)
    for index, (agent, rows) in enumerate(zip(agents, inputs, strict=True)):
        want = acted(agent, rows)
        remembers = agent.config.observations.memory != "none"
        assert want.shape[1] == (1 if agent.discrete else 3) + remembers
        if remembers:
            assert want[:, -1].std() > 1e-2
        got = probe.output(index, len(rows))
        np.testing.assert_allclose(got, want, atol=TOLERANCE, rtol=0)
