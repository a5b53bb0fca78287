"""Flags become a configuration."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.presets import VR_PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.train.vr.command import COMMAND


def config_of(*arguments: str) -> NavigationConfig:
    return COMMAND.settings(COMMAND.parse(arguments))


def test_published_flags_are_known() -> None:
    args = COMMAND.parse(
        ["--config", "c.json", "--timesteps", "5", "--episodes", "3", "--verbose"]
    )
    assert (args.timesteps, args.episodes, args.verbose) == (5, 3, True)


def test_file_goes_over_preset_and_flags_over_both(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(
        json.dumps({"ppo": {"gamma": 0.5, "n_epochs": 3}}), encoding="utf-8"
    )
    config = config_of(
        "--preset", "quick_test", "--config", str(file), "--seed", "7",
        "--set", "ppo.n_epochs=2", "--num-envs", "4", "--world", "mujoco",
    )  # fmt: skip
    assert config.ppo.gamma == 0.5
    assert config.ppo.n_epochs == 2
    assert config.ppo.n_steps == VR_PRESETS.load("quick_test").ppo.n_steps
    assert config.training.seed == 7
    assert config.environment.num_environments == 4
    assert config.environment.world == "mujoco"


@pytest.mark.parametrize(
    ("text", "group", "key", "value"),
    [
        ("ppo.learning_rate=1e-4", "ppo", "learning_rate", 1e-4),
        ("observations.rays_see_edges=false", "observations", "rays_see_edges", False),
        ("training.device=cpu", "training", "device", "cpu"),
        ("ppo.target_kl=null", "ppo", "target_kl", None),
        ("network.net_arch=[64, 64]", "network", "net_arch", (64, 64)),
        ("network.net_arch=64,32", "network", "net_arch", (64, 32)),
        ("environment.levels=open,maze", "environment", "levels", ("open", "maze")),
        ("environment.levels=open", "environment", "levels", ("open",)),
    ],
)
def test_overrides_are_typed(text: str, group: str, key: str, value: object) -> None:
    assert getattr(getattr(config_of("--set", text), group), key) == value


def test_where_the_engines_are_is_told_by_flags() -> None:
    env = config_of(
        "--world", "godot", "--godot-url", "http://127.0.0.1:9000",
        "--godot-bin", "godot4", "--godot-engines", "2",
    ).environment  # fmt: skip
    assert (env.world, env.godot_engines) == ("godot", 2)
    assert (env.godot_url, env.godot_bin) == ("http://127.0.0.1:9000", "godot4")


def test_runs_are_named_after_preset_or_file() -> None:
    for flags, label in (
        (["--preset", "quick_test"], "quick_test"),
        (["--config", "a/mine.json"], "mine"),
        ([], "vr_navigation"),
    ):
        assert COMMAND.label(NavigationConfig(), COMMAND.parse(flags)) == label


@pytest.mark.parametrize(
    ("flags", "fraction"),
    [
        (["--level-file", "mine", "--init-from", "vr_navigation"], 0.5),
        (["--level-file", "mine", "--set", "training.init_from=vr_navigation"], 0.5),
        (["--level-file", "mine"], None),
        (["--init-from", "vr_navigation"], None),
        (
            [
                "--level-file", "mine", "--init-from", "vr_navigation",
                "--set", "environment.level_file_fraction=1",
            ],
            1.0,
        ),
    ],
)  # fmt: skip
def test_what_begins_with_a_model_goes_on_with_the_families(flags, fraction) -> None:
    args = COMMAND.parse(flags)
    config = COMMAND.prepare(COMMAND.settings(args), args, resumed=False)
    assert config.environment.level_file_fraction == fraction


def test_environments_must_fill_shared_levels() -> None:
    flags = ["--num-envs", "16", "--set", "environment.agents=3"]
    args = COMMAND.parse(flags)
    with pytest.raises(
        ConfigError, match=r"= 16 \(--num-envs\): must be a multiple of"
    ):
        COMMAND.prepare(COMMAND.settings(args), args, resumed=False)


def test_what_a_penalty_needs_is_refused_before_anything_is_built() -> None:
    args = COMMAND.parse(["--preset", "quick_test", "--set", "ppo.plan_coef=0.5"])
    with pytest.raises(ConfigError, match=r"plan_coef = 0.5 needs observations.memory"):
        COMMAND.prepare(COMMAND.settings(args), args, resumed=False)
