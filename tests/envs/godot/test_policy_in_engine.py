"""In-game inference in the real engine: the same numbers as in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.policy_replay import (
    NUM_ENVS,
    TOLERANCE,
    Godot,
    Probe,
    Recording,
    acted,
    play_demo,
    play_everywhere,
    random_agent,
    record,
    untrained,
)

from ambulo.common.find_model import find_model
from ambulo.envs.vr.families import FAMILIES
from ambulo.policies.agents.navigation import Agent, load_agent


def test_the_shipped_agent_sees_and_acts_as_in_python(
    godot: Godot, tmp_path: Path
) -> None:
    """1 600 real observations: features, actions and the remembered places."""
    agent = load_agent(find_model("vr_navigation"))
    recordings = record(agent.config, agent, 400)
    probe = Probe(tmp_path)
    for recording in recordings:
        probe.add(agent, recording.records, states=True)
        probe.add(agent, recording.observations, states=False)
    probe.run(godot)
    assert sum(recording.records[:, 0].sum() for recording in recordings) > NUM_ENVS
    for index, recording in enumerate(recordings):
        count = len(recording.records)
        acted = agent.act(recording.observations, deterministic=True)
        assert agent.lost is not None
        want = np.column_stack([acted, agent.lost])
        actions = probe.output(2 * index + 1, count)
        np.testing.assert_allclose(actions, want, atol=TOLERANCE, rtol=0)
        got = probe.output(2 * index, count)
        size = agent.layout.size
        seen = recording.observations
        # Of equally short ways the two searches may take different ones.
        same = np.isclose(got[:, :size], seen, atol=TOLERANCE, rtol=0).all(axis=1)
        assert same.mean() >= 0.97
        np.testing.assert_allclose(
            got[same, size:], want[same, :3], atol=TOLERANCE, rtol=0
        )
        visits, _ = probe.grids(2 * index)
        np.testing.assert_array_equal(visits, recording.visits.ravel())


def test_a_recurrent_agent_remembers_as_in_python(godot: Godot, tmp_path: Path) -> None:
    """Over several episodes, and over 200 observations without a new one."""
    agents = [
        random_agent(units=10, memory="visits"),
        random_agent(units=7, widths=(9,), bound=(0.8, 0.4)),
        random_agent("discrete", "tanh", units=8, widths=(8, 8, 8)),
    ]
    probe, rng = Probe(tmp_path), np.random.default_rng(3)
    wanted = []
    for agent in agents:
        recording = record(agent.config, agent, 300)[0]
        probe.add(agent, recording.records, states=True)
        own, acts = agent.copy(), []
        begun = recording.records[:, 0] != 0.0
        assert begun.sum() >= 1
        for seen, begins in zip(recording.observations, begun, strict=True):
            if begins:
                own.reset()
            acts.append(own.act(seen))
        wanted.append(np.array(acts))
        noise = rng.normal(size=(200, agent.layout.size)).astype(np.float32)
        rows = noise / agent.policy.mlp_extractor.scales.numpy()
        probe.add(agent, rows, states=False)
        wanted.append(acted(agent, rows))
    probe.run(godot)
    for index, actions in enumerate(wanted):
        want = actions.reshape(len(actions), -1)
        got = probe.output(index, len(want))[:, -want.shape[1] :]
        np.testing.assert_allclose(got, want, atol=TOLERANCE, rtol=0)


def _kinds() -> dict[str, Agent]:
    """Agents by memory, frame and rays, with several tasks, and with the comfort dial."""
    found = {
        f"{memory} {frame} {rays}": random_agent(
            memory=memory, frame=frame, num_ray_sensors=rays
        )
        for memory in ("none", "visits", "map")
        for frame in ("head", "world")
        for rays in (16, 7)
    }
    config = random_agent(memory="visits").config
    tasks = ("navigate", "reach", "patrol")  # the goal of `reach` is raised
    found["tasks"] = untrained(config.override("environment", tasks=tasks))
    limits = {"max_acceleration": 1.5, "facing": 60.0, "comfort_speed": 1.2}
    for memory in ("none", "visits"):
        config = random_agent(memory=memory, comfort=True).config
        config = config.override("environment", tasks=("navigate", "patrol"))
        agent = untrained(config.override("actions", **limits))
        agent.comfort = 0.3
        found[f"comfort {memory}"] = agent
    return found


KINDS = _kinds()


@pytest.fixture(scope="module")
def replayed(
    godot: Godot, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Probe, dict[str, tuple[list[Recording], int]]]:
    """Of each kind recordings and the first job; replayed by one engine."""
    probe, found = Probe(tmp_path_factory.mktemp("kinds")), {}
    for kind, agent in KINDS.items():
        recordings = record(agent.config, agent, 60)
        found[kind] = recordings, len(probe.jobs)
        for recording in recordings:
            probe.add(agent, recording.records, states=True)
    probe.run(godot)
    return probe, found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_observation(replayed: Any, kind: str) -> None:
    probe, found = replayed
    agent, (recordings, first) = KINDS[kind], found[kind]
    size = agent.layout.size
    for index, recording in enumerate(recordings, first):
        got = probe.output(index, len(recording.records))
        seen = recording.observations
        np.testing.assert_allclose(got[:, :size], seen, atol=TOLERANCE, rtol=0)
        want = agent.act(seen, deterministic=True)
        np.testing.assert_allclose(got[:, size:], want, atol=TOLERANCE, rtol=0)
        if kind.startswith("comfort"):
            assert (seen[:, 52] == np.float32(0.3)).all()
        if kind.startswith("map"):
            visits, cells = probe.grids(index)
            np.testing.assert_array_equal(visits, recording.visits.ravel())
            np.testing.assert_array_equal(cells, recording.cells.ravel())
            assert set(np.unique(cells)) == {0, 1, 2}
    if kind == "tasks":
        drawn = np.concatenate([recording.records[:, 1] for recording in recordings])
        assert len(np.unique(drawn)) > 1


def test_every_kind_of_network(godot: Godot, tmp_path: Path) -> None:
    agents = [
        random_agent(mode, activation)
        for mode in ("continuous", "discrete")
        for activation in ("relu", "tanh", "elu", "silu")
    ]
    agents += [
        random_agent(bound=(0.7, 0.4)),
        random_agent(widths=(5,)),
        random_agent(widths=(8, 3, 9), memory="map"),
        random_agent("discrete", "tanh", memory="plan"),
        random_agent(units=10, memory="visits"),
        random_agent(memory="path", comfort=True),
        random_agent(units=7, widths=(9,)),
    ]
    rng = np.random.default_rng(1)
    probe = Probe(tmp_path)
    inputs = []
    for agent in agents:
        noise = rng.normal(size=(200, agent.layout.size)).astype(np.float32)
        noise[0] = 0.0
        inputs.append(
            (noise / agent.policy.mlp_extractor.scales.numpy()).astype(np.float32)
        )
        probe.add(agent, inputs[-1], states=False)
    probe.run(godot)
    for index, (agent, obs) in enumerate(zip(agents, inputs, strict=True)):
        want = acted(agent, obs)
        got = probe.output(index, len(obs))
        assert len(np.unique(want, axis=0)) > 3
        if agent.config.observations.memory != "none":  # it says how likely it is lost
            assert want[:, -1].std() > 1e-2
        np.testing.assert_allclose(got, want, atol=TOLERANCE, rtol=0)


def test_the_demo_plays_without_python(godot: Godot, tmp_path: Path) -> None:
    """The demo scene solves the same held-out levels as Python in the kernel world."""
    agent = load_agent(find_model("vr_navigation"))
    engine, python, said = play_everywhere(godot, agent, tmp_path, "--seed=3")
    # One step in 1,600 has a hit in the next cell, after which walks differ.
    assert sum(engine == python) >= len(FAMILIES) - 1
    rate = re.search(r"^success rate (\S+) \((\d+) of 9\)$", said, re.MULTILINE)
    assert rate is not None, said
    assert int(rate[2]) == engine.sum()
    assert float(rate[1]) == pytest.approx(engine.mean(), abs=1e-4)
    families = {line.split()[0] for line in said.splitlines() if line}
    assert families >= set(FAMILIES)
    assert re.search(r"^collisions \d+\.\d+ per episode$", said, re.MULTILINE)


def test_the_demo_repeats_and_draws_what_levels_leave_open(
    godot: Godot, tmp_path: Path
) -> None:
    level = tmp_path / "yard.json"
    level.write_text(
        json.dumps(
            {
                "name": "yard", "bounds": [-9, -9, 9, 9], "goal_distance": [6, 9],
                "boxes": [{"center": [0, 0, 1], "half_size": [4, 0.2, 1]}],
            }
        )
    )  # fmt: skip
    played = [
        play_demo(
            godot, tmp_path / f"{run}.out", f"--levels={level}", "--episodes=3",
            f"--seed={seed}",
        )[0]
        for run, seed in enumerate((5, 5, 6))
    ]  # fmt: skip
    assert played[0] == played[1] != played[2]
    paths = [episode["path"] for episode in played[0]]
    assert len(set(paths)) == 3
    assert min(paths) >= 5.0


def test_the_demo_refuses_bad_arguments(godot: Godot) -> None:
    """`godot/tests/test_demo.gd` has more of them."""
    done = godot("res://scenes/demo/demo.tscn", "--", "--policy=no.ambulo")
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("demo: ")]
    assert len(lines) == 1
    assert "no.ambulo: File not found" in lines[0]
