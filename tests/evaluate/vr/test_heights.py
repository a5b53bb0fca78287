"""Tasks, several agents and ways to move in levels with storeys, lifts and doors."""

from __future__ import annotations

import pytest

from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.vr.command import planner_subject
from ambulo.evaluate.vr.episodes import LevelSource
from ambulo.evaluate.vr.evaluation import evaluate

USUAL = NavigationConfig()
CASES = {
    "follow": USUAL.override("environment", tasks=("follow",)),
    "patrol": USUAL.override("environment", tasks=("patrol",)),
    "agents": USUAL.override("environment", agents=4),
    "snap turns": USUAL.override("actions", snap_turn=45.0),
    "teleports": USUAL.override("actions", teleport=3.0),
}


@pytest.mark.integration
@pytest.mark.parametrize("name", ["planner", "oracle"])
@pytest.mark.parametrize("case", CASES)
def test_planners_find_their_way(case: str, name: str) -> None:
    config = CASES[case]
    levels = 5 if (case, name) == ("agents", "planner") else 3
    episodes = levels * config.environment.agents
    source = LevelSource(
        config, level_set="storeys,lifts,doors", seed=3, split="validation"
    )
    played = evaluate({"": planner_subject(name, config)}, source, episodes)[""]
    failed = [e.level.name for e in played.episodes if not e.success]
    assert not failed
    assert played.spl().mean() > 0.5
    assert played.column("fell").sum() == 0
