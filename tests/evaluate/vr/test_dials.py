"""Evaluations at several places of the comfort dial."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fixtures.untrained import untrained_navigator

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig
from ambulo.evaluate.shared.result import main_agent
from ambulo.evaluate.vr.dials import at_dials, dials_of
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.files.model_file import save_model
from ambulo.viz.plots import agent_colour

PLAIN = NavigationConfig().override(
    "environment", levels=("open",), levels_per_family=1, max_episode_steps=40
)
DIAL = PLAIN.override("observations", comfort=True).override(
    "actions", max_acceleration=1.5
)


def saved(config: NavigationConfig, path: Path) -> Path:
    """A file of an untrained agent."""
    save_model(path, untrained_navigator(config.override("network", net_arch=(8,))))
    return path


def test_dials_are_read() -> None:
    assert dials_of(None, PLAIN) == ()
    assert dials_of(None, DIAL) == (0.5,)
    fast = DIAL.override("environment", comfort_default=0.0)
    assert dials_of(None, fast) == (0.0,)
    assert fast.at_comfort(1.0).usual_comfort == 1.0
    assert dials_of("0,.5,1", DIAL) == (0.0, 0.5, 1.0)
    assert list(at_dials(DIAL, (0.25,))) == [""]
    several = at_dials(DIAL, (0.0, 0.5))
    assert list(several) == [" c=0", " c=0.5"]
    assert several[" c=0.5"].environment.comfort_range == (0.5, 0.5)
    assert at_dials(PLAIN, ()) == {"": PLAIN}
    assert main_agent(["oracle", "policy c=0", "policy c=1"]) == "policy c=0"
    colours = {agent_colour(f"policy c={dial}") for dial in ("0", "0.5", "1", "1e-05")}
    assert len(colours) >= 3


@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "", "a", "0,,1", "0.5,0.50"])
def test_dials_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--comfort"):
        dials_of(text, DIAL)
    with pytest.raises(ConfigError, match="has no comfort dial"):
        dials_of("0.5", PLAIN)


def test_each_dial_is_a_row_of_one_report(
    tmp_path: Path, drawing: None, capsys: pytest.CaptureFixture[str]
) -> None:
    from ambulo.cli import main

    model = saved(DIAL, tmp_path / "agent.zip")
    flags = ["--world", "compiled", "--episodes", "2", "--baselines", "stand"]
    out = tmp_path / "report"
    done = main(["eval", str(model), *flags, "--comfort", "0,1", "--output", str(out)])
    assert done == 0
    printed = capsys.readouterr().out
    assert "policy c=0 " in printed
    assert "policy c=1 " in printed
    assert (out / "comfort_dial.png").is_file()
    assert main(["eval", str(model), *flags, "--no-report"]) == 0
    printed = capsys.readouterr().out
    assert "policy c=" not in printed
    assert "comfort dial 0.5" in printed
    plain = saved(PLAIN, tmp_path / "plain.zip")
    assert main(["eval", str(plain), *flags, "--comfort", "0.5"]) == 2
    assert "has no comfort dial" in capsys.readouterr().err


def test_an_agent_makes_environments_at_its_dial(tmp_path: Path) -> None:
    import ambulo

    agent = ambulo.load(saved(DIAL, tmp_path / "agent.zip"), Agent)
    assert agent.comfort == 0.5
    agent.comfort = 0.8
    env = ambulo.make(agent)
    obs, _ = env.reset(seed=0)
    where = env.unwrapped.batch.layout.slices()["comfort"]
    assert obs[where] == np.float32(0.8)
    env.unwrapped.comfort = 0.2
    obs, *_ = env.step(agent.act(obs))
    assert obs[where] == np.float32(0.2)
    obs, _ = env.reset()
    assert obs[where] == np.float32(0.2)
    assert env.unwrapped.comfort == pytest.approx(0.2)
    with pytest.raises(ConfigError, match=r"comfort = 1\.5: must be from 0 to 1"):
        agent.comfort = 1.5
    plain = ambulo.load(saved(PLAIN, tmp_path / "plain.zip"), Agent)
    assert plain.comfort is None
    with pytest.raises(ConfigError, match="there is no dial"):
        plain.comfort = 0.5
