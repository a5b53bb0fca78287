"""Tests of `ambulo.configs.task_registry`, and of tasks in configurations."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.own_tasks import PACKAGE

from ambulo.common.paths import typed_command
from ambulo.configs.base import Config, parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.task_registry import (
    find_task,
    register_file,
    register_task,
    task_names,
)
from ambulo.configs.tasks import TASKS, TRAITS, TaskSpec, TaskTraits

Install = Callable[[bool], None]


def hop(**own: object) -> LocomotionConfig:
    """Settings of the task `hop`."""
    return parse(LocomotionConfig, {"environment": {"task": "hop"}, "own": own}, "test")


def test_traits_are_those_of_tasks_that_there_are() -> None:
    assert {key.partition("/")[0] for key in TRAITS} == set(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_of_the_suite_is_found(task: str) -> None:
    spec = find_task(task)
    assert spec.package is None
    assert LocomotionConfig().override("environment", task=task).own == Config()


def test_a_file_is_a_task_with_settings_of_its_own(hop_file: Path) -> None:
    assert register_file(hop_file) == "hop"
    assert "hop" in task_names()
    config = hop(height=0.7)
    env = config.environment
    assert (env.task_package, env.action_scale, env.max_episode_steps) == (
        "hop.py",
        0.5,
        40,
    )
    assert config.own.model_dump() == {"height": 0.7, "names": (), "hop": 1.0}
    assert parse(LocomotionConfig, json.loads(config.to_json()), "again") == config
    assert pickle.loads(pickle.dumps(config)) == config
    other = config.override("own", hop=0.0)
    assert other.own.model_dump() == {"height": 0.7, "names": (), "hop": 0.0}
    assert config.replace(own={}).override("environment", task="stand").own == Config()


@pytest.mark.parametrize(
    ("own", "error"),
    [
        ({"height": 3}, "test: own.height = 3: must be less than or equal to 2"),
        (
            {"heihgt": 1},
            r"test: unknown key 'own.heihgt' \(did you mean 'own.height'\?\)",
        ),
        (3, "test: own"),
    ],
)
def test_bounds_of_own_settings_hold(hop_file: Path, own: object, error: str) -> None:
    register_file(hop_file)
    data = {"environment": {"task": "hop"}, "own": own}
    with pytest.raises(ConfigError, match=error):
        parse(LocomotionConfig, data, "test")


@pytest.mark.integration
def test_child_processes_know_the_task_of_a_file(hop_file: Path) -> None:
    register_file(hop_file)
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).own.height)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(hop(height=0.25)), capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [b"0.25"]


def test_printed_commands_name_the_file(hop_file: Path) -> None:
    assert not typed_command("ambulo").startswith("AMBULO_TASKS")
    register_file(hop_file)
    assert typed_command("ambulo").startswith(f"AMBULO_TASKS={hop_file} ")


def test_a_package_is_a_task_until_it_is_removed(install: Install) -> None:
    install(True)
    assert find_task("hop").package == PACKAGE
    text = hop(height=0.7).to_json()
    install(False)
    with pytest.raises(ConfigError) as error:
        parse(LocomotionConfig, json.loads(text), "model")
    assert str(error.value) == (
        'model: environment.task = "hop": it is of the package hop-tasks, which is not '
        "installed: pip install it"
    )


def test_settings_of_a_file_say_how_to_name_it(
    hop_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_file(hop_file)
    text = hop().to_json()
    monkeypatch.setenv("AMBULO_TASKS", "")
    with pytest.raises(
        ConfigError, match=r"in a file hop\.py: set AMBULO_TASKS to its"
    ):
        parse(LocomotionConfig, json.loads(text), "model")


def test_a_task_from_elsewhere_is_a_warning(
    install: Install, hop_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that became a package is the same task; another of its name is not."""
    register_file(hop_file)
    text = hop(height=0.7).to_json()
    os.environ["AMBULO_TASKS"] = ""
    install(True)
    assert parse(LocomotionConfig, json.loads(text), "file") == hop(height=0.7)
    assert caplog.messages == ["task hop was of hop.py, and is of hop-tasks here"]


def test_settings_never_name_code(hop_file: Path) -> None:
    """A path or module in a data file is a name that no task has."""
    for name in (str(hop_file), "hop:TASK", "hop"):
        with pytest.raises(ConfigError, match="unknown task"):
            LocomotionConfig().override("environment", task=name)
    assert "hop" not in sys.modules


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x = ", r"^hop\.py cannot be imported: SyntaxError: "),
        (
            "import no_such_module",
            r"^hop\.py cannot be imported: ModuleNotFoundError: ",
        ),
        ("TASK = 3", r"^hop\.py: expected TASK = TaskSpec\(\.\.\.\), found int$"),
        ("", r"^hop\.py: expected TASK = TaskSpec\(\.\.\.\), found nothing$"),
    ],
)
def test_code_that_cannot_be_used_is_one_line(
    hop_file: Path, text: str, error: str
) -> None:
    hop_file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=error) as raised:
        register_file(hop_file)
    assert "\n" not in str(raised.value)


def test_names_of_the_suite_are_taken(hop_file: Path) -> None:
    for name in ("stand", "Hop", "1st", "get__up"):
        other = hop_file.with_name(f"{name}.py")
        other.write_text(hop_file.read_text("utf-8"), encoding="utf-8")
        with pytest.raises(ConfigError, match="name"):
            register_file(other)
    with pytest.raises(ConfigError, match="no such file"):
        register_file(hop_file.with_name("hup.py"))


@pytest.mark.parametrize(
    ("traits", "settings", "error"),
    [
        ({"action_scle": 1.0}, Config, "no setting 'action_scle'"),
        ({"action_scale": -1.0}, Config, "action_scale = -1.0: must be greater than 0"),
        ({"task": "stand"}, Config, "no setting 'task'"),
        ({}, type("Speed", (Config,), {"__annotations__": {"speed": float}, "speed": 1.0}),
         "own.speed: a setting of the suite has this name"),
        ({}, dict, "settings: expected a subclass of Config"),
    ],
)  # fmt: skip
def test_wrong_defaults_and_settings_are_refused(
    fresh: None, traits: dict[str, object], settings: type[Config], error: str
) -> None:
    spec = TaskSpec(object, TaskTraits(defaults=traits), {}, settings)

    def used() -> None:
        register_task("hop", spec)
        hop()

    with pytest.raises(ConfigError, match=error):
        used()
