"""Policies of a game in the real engine: the same actions as in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.game_agents import BOAT, CAR, WALKER, agent_of
from fixtures.policy_replay import Godot, run_jobs

from ambulo.policies.agents.game import GameAgent
from ambulo.policies.export.games import MAGIC, export_godot
from ambulo.policies.export.written import pack, unpack

STEPS = 12


def observed(agent: GameAgent, kind: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(kind)
    parts = agent.kinds[kind].observation
    return [
        {
            part.name: rng.integers(256, size=part.size).tolist()
            if part.is_picture
            else rng.normal(size=part.size).round(4).tolist()
            for part in parts
        }
        for _ in range(STEPS)
    ]


def probe(
    godot: Godot,
    folder: Path,
    jobs: list[tuple[Path, str, list[dict[str, Any]]]],
    *,
    refusals: bool = False,
) -> list[dict[str, Any]]:
    rows = [
        {
            "policy": str(file),
            "kind": kind,
            "seen": seen,
            "output": f"{folder}/{k}.json",
        }
        for k, (file, kind, seen) in enumerate(jobs)
    ]
    run_jobs(godot, "game_policy_probe", rows, folder, refusals=refusals)
    return [json.loads(Path(row["output"]).read_text()) for row in rows]


@pytest.mark.integration
def test_every_kind_of_network_acts_as_in_python(godot: Godot, tmp_path: Path) -> None:
    """Dense layers, a GRU over an episode, convolutions, numbers and choices."""
    agents = [
        agent_of(WALKER, CAR),
        agent_of(WALKER, CAR, recurrent=7, activation_fn="silu"),
        agent_of(BOAT, net_arch=[9], activation_fn="relu"),
    ]
    jobs, wanted = [], []
    for number, agent in enumerate(agents):
        file = tmp_path / f"{number}.ambulo"
        export_godot(agent, file)
        for index, spec in enumerate(agent.kinds):
            seen = observed(agent, index)
            jobs.append((file, "" if len(agent.kinds) == 1 else spec.name, seen))
            agent.reset()
            wanted.append(
                [
                    agent.act(
                        {
                            part.name: np.reshape(row[part.name], part.shape)
                            for part in spec.observation
                        },
                        kind=spec.name,
                    )
                    for row in seen
                ]
            )
    for found, want in zip(probe(godot, tmp_path, jobs), wanted, strict=True):
        assert found["error"] == ""
        for action, expected in zip(found["actions"], want, strict=True):
            assert set(action) == set(expected)
            for name, values in expected.items():
                np.testing.assert_allclose(action[name], values, atol=1e-5, rtol=0)


@pytest.mark.integration
def test_what_cannot_be_played_is_named(godot: Godot, tmp_path: Path) -> None:
    export_godot(agent_of(CAR), tmp_path / "car.ambulo")
    header, numbers = unpack((tmp_path / "car.ambulo").read_bytes())
    layers = header["agents"][0]["layers"]
    odd = {
        **header,
        "agents": [{**header["agents"][0], "layers": [{**layers[0], "type": "lstm"}]}],
    }
    (tmp_path / "odd.ambulo").write_bytes(pack(MAGIC, odd, numbers))
    (tmp_path / "cut.ambulo").write_bytes((tmp_path / "car.ambulo").read_bytes()[:-4])
    (tmp_path / "other.ambulo").write_bytes(b"AMBULOP1" + bytes(40))
    short = [{"obs": [1.0, 2.0]}]
    found = probe(
        godot,
        tmp_path,
        [
            (tmp_path / "odd.ambulo", "", []),
            (tmp_path / "cut.ambulo", "", []),
            (tmp_path / "other.ambulo", "", []),
            (tmp_path / "car.ambulo", "boat", []),
            (tmp_path / "car.ambulo", "", short),
            (tmp_path / "car.ambulo", "", [{"eyes": [1.0]}]),
        ],
        refusals=True,
    )
    for row, part in zip(
        found,
        (
            "layers.type: 'lstm' is no layer that this add-on has: gru",
            "bytes of weights",
            "is no game policy file",
            "plays car, not 'boat'",
            "car: observation 'obs': expected 5 numbers, got [1.0,2.0]",
            "car: observation 'obs': expected 5 numbers, got <null>",
        ),
        strict=True,
    ):
        assert part in row["error"]
