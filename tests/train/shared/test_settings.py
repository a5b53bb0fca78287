"""Settings by flags, and what a resumed run may change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ambulo.common.setting_flags import SettingFlags, with_overrides
from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.presets import LOCOMOTION_PRESETS, PresetFolder, preset_folders
from ambulo.configs.vr import NavigationConfig
from ambulo.train.shared.resume import check_resumable
from ambulo.train.vr.command import COMMAND


def test_a_resumed_run_may_look_for_its_engines_elsewhere() -> None:
    old = NavigationConfig()
    elsewhere = old.override("environment", godot_url="http://other:1")
    check_resumable(old, elsewhere, (), COMMAND.local_prefix)


def test_a_resumed_run_may_change_budgets_but_not_what_it_learns() -> None:
    old = NavigationConfig()
    check_resumable(
        old, old.override("training", total_timesteps=5, eval_freq=1), COMMAND.resumable
    )
    for group, changes in (
        ("ppo", {"gamma": 0.5}),
        ("training", {"seed": 5}),
        ("environment", {"num_environments": 3}),
    ):
        with pytest.raises(ConfigError, match="cannot change when a run is resumed"):
            check_resumable(old, old.override(group, **changes), COMMAND.resumable)


def test_one_setting_of_a_part_of_a_group_changes_alone() -> None:
    first = with_overrides(LocomotionConfig(), ["training.teacher.rounds=7"])
    both = with_overrides(first, ["training.teacher.samples=5000"])
    assert first.training.teacher is not None
    assert both.training.teacher is not None
    assert both.training.teacher.rounds == 7
    assert both.training.teacher == first.training.teacher.model_copy(
        update={"samples": 5000}
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "training.teacher.sampled=5",
            "'training.teacher.sampled' .*'training.teacher.samples'",
        ),
        ("teacher.samples=5", "'teacher.samples' is not a dotted key"),
        ("environment.task.x=1", "'environment.task.x' is not a dotted key"),
        ("training.nothing.x=1", "unknown key 'training.nothing'"),
        ("task=1", "'task' is not a dotted key"),
        ("environment=1", r"name one of environment\.\*"),
        ("gait.vary=[a,", r"gait\.vary: \[a, is not JSON; lists are written A,B"),
        ("gait.parameters={a:1}", r"is not JSON; .* groups '\{\"KEY\": VALUE\}'"),
    ],
)
def test_other_keys_are_refused_by_name(change: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_overrides(LocomotionConfig(), [change])


@pytest.mark.parametrize("text", ["a,b", "a, b", "[a,b]", "[ a , b ]", '["a", "b"]'])
def test_a_list_of_texts_is_written_with_and_without_brackets(text: str) -> None:
    changed = with_overrides(LocomotionConfig(), [f"gait.vary={text}"])
    assert changed.gait.vary == ("a", "b")


def _from_file(folder: Path, name: str | None, data: Any) -> LocomotionConfig:
    """Return the settings of `--preset` and `--config`."""
    file = folder / "mine.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    flags = SettingFlags(preset=name, config=str(file))
    return flags.base_of(LOCOMOTION_PRESETS)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("walk_commands_quick", "speed", [0.6, 1.6]),
        ("walk_commands_quick", "turn", [-30.0, 30.0]),
        ("track", "action_scale", 0.25),
        ("track", "feed_forward", True),
        ("track", "start_on_feet", False),
        ("get_up", "joints", ["Femur?", "Tibia?", "Talus?", "Spine", "Torso"]),
        ("muscle_walk", "substeps", 5),
    ],
)
def test_a_value_that_is_a_default_is_set_too(
    name: str, key: str, value: Any, tmp_path: Path
) -> None:
    text = f"environment.{key}={json.dumps(value)}"
    changed = with_overrides(LOCOMOTION_PRESETS.load(name), [text])
    got = json.loads(changed.to_json())["environment"]
    assert got[key] == value
    before = json.loads(LOCOMOTION_PRESETS.load(name).to_json())["environment"]
    assert before[key] != value
    assert {**got, key: before[key]} == before
    assert _from_file(tmp_path, name, {"environment": {key: value}}) == changed
    # Files that a run leaves hold every value, and mean the same.
    assert parse(LocomotionConfig, json.loads(changed.to_json()), "file") == changed
    assert changed.override("ppo", gamma=0.5).environment == changed.environment


@pytest.mark.parametrize("task", ["track", "get_up"])
def test_a_balance_controller_is_refused_where_there_is_none(task: str) -> None:
    with pytest.raises(ConfigError, match=f"task = {task} has no balance controller"):
        with_overrides(LOCOMOTION_PRESETS.load(task), ["environment.balance_law=true"])


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("locomote", "track", "action_scale, balance_law, feed_forward, joints, start_on_feet"),
        ("walk_commands", "locomote", "speed, turn"),
    ],
)  # fmt: skip
def test_a_file_with_all_settings_names_those_of_another_task(
    old: str, new: str, names: str, tmp_path: Path
) -> None:
    complete = json.loads(LocomotionConfig(environment={"task": old}).to_json())
    config = _from_file(tmp_path, None, complete)
    with pytest.raises(ConfigError, match=rf"task = {new}: {names}; remove these"):
        with_overrides(config, [f"environment.task={new}"])
    for name in names.split(", "):
        del complete["environment"][name]
    moved = _from_file(tmp_path, None, complete).override("environment", task=new)
    assert moved == LocomotionConfig(environment={"task": new})


def test_defaults_follow_the_task_until_they_are_set() -> None:
    walk = LocomotionConfig().override("environment", task="walk_commands")
    assert walk.environment.speed == (-0.2, 1.6)
    back = walk.override("environment", task="locomote")
    assert (
        back.environment
        == LocomotionConfig(environment={"task": "locomote"}).environment
    )


@pytest.mark.parametrize(
    ("name", "data", "overrides"),
    [
        ("muscle_walk", {"environment": {"resolver": "nn"}}, ["environment.resolver=nn"]),
        ("track", {"training": {"teacher": {"rounds": 2}}}, ["training.teacher.rounds=2"]),
        ("track", {"training": {"teacher": {"rounds": 2}}}, ['training.teacher={"rounds": 2}']),
        ("track", {"training": {"teacher": None}}, ["training.teacher=null"]),
        ("stand", {"training": {"teacher": {}}}, ["training.teacher={}"]),
        (None, {"ppo": {"gamma": 0.5}}, ["ppo.gamma=0.5"]),
    ],
)  # fmt: skip
def test_a_settings_file_changes_what_set_changes(
    name: str | None, data: Any, overrides: list[str], tmp_path: Path
) -> None:
    base = LOCOMOTION_PRESETS.load(name) if name else LocomotionConfig()
    config = _from_file(tmp_path, name, data)
    assert config == with_overrides(base, overrides)
    assert config != base


def test_a_value_with_keys_is_replaced_as_a_whole() -> None:
    first = with_overrides(LocomotionConfig(), ["gait.parameters.stride=1.1"])
    both = with_overrides(first, ["gait.parameters.cadence=0.9"])
    assert both.gait.parameters == {"stride": 1.1, "cadence": 0.9}
    other = both.merge({"gait": {"parameters": {"stride": 1.0}}}, "file")
    assert other.gait.parameters == {"stride": 1.0}


def test_other_settings_of_a_group_stay_as_the_preset_has_them(tmp_path: Path) -> None:
    teacher = LOCOMOTION_PRESETS.load("track").training.teacher
    config = _from_file(tmp_path, "track", {"training": {"teacher": {"rounds": 2}}})
    assert teacher is not None
    assert config.training.teacher == teacher.replace(rounds=2)


@pytest.mark.parametrize("data", [[1], 3, {"ppo": 3}, {"ppo": {"gama": 1}}])
def test_a_wrong_settings_file_is_named(data: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"mine\.json: .*(top level|ppo)"):
        _from_file(tmp_path, "track", data)


@pytest.mark.parametrize("folder", preset_folders().values(), ids=preset_folders())
def test_what_was_set_is_all_that_is_needed(folder: PresetFolder[Any]) -> None:
    for name in folder:
        config = folder.load(name)
        assert parse(folder.config, config.explicit_settings(), name) == config
