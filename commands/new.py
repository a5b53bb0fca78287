"""The command `ambulo new`: a file to begin with, outside of this repository."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.files import refuse_existing, write_atomic
from ambulo.common.flag_types import OutPath, positional
from ambulo.common.paths import resolve_path, typed_command

_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{project}"
version = "0.1.0"
dependencies = ["ambulo"]

[project.entry-points."{group}"]
{name} = "{name}:TASK"

[tool.setuptools]
py-modules = ["{name}"]
"""


def _task_name(name: str) -> str:
    from ambulo.configs.task_registry import name_fault

    return name_fault(name)


@dataclass(frozen=True, kw_only=True)
class NewFlags(Flags):
    """Write a working task for simulated bodies, to be changed."""

    kind: Annotated[Literal["task"], positional("KIND")]
    """what to write"""
    name: Annotated[str, positional("NAME"), _task_name]
    """its name, such as walk_to_door"""
    out: Annotated[OutPath, Arg("DIR")] = "."
    """folder of the file"""
    package: bool = False
    """also write a pyproject.toml, with which pip installs the task"""


@command("ambulo new")
def main(flags: NewFlags) -> int:
    """Write the file of a new task."""
    from ambulo.configs.task_registry import GROUP

    folder = resolve_path(flags.out)
    contents = {f"{flags.name}.py": task_source(flags.name)}
    if flags.package:
        project = f"ambulo-{flags.name.replace('_', '-')}"
        contents["pyproject.toml"] = _PROJECT.format(
            project=project, group=GROUP, name=flags.name
        )
    files = {folder / file: text for file, text in contents.items()}
    refuse_existing(files, force=flags.force)
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_atomic(file, text)
    print(_next_steps(flags.name, folder, package=flags.package))
    return 0


def task_source(name: str) -> str:
    """Return the source of a working task `name`."""
    template = find_spec("ambulo.commands.template_task")
    assert template is not None
    assert template.origin is not None
    source = Path(template.origin).read_text("utf-8")
    words = name.title().replace("_", "")
    return source.replace("template_task", name).replace("TemplateTask", words)


def _next_steps(name: str, folder: Path, *, package: bool) -> str:
    """Return the commands that follow."""
    from ambulo.configs.tasks import environment_id

    file = folder / f"{name}.py"
    if package:
        begin, word = [f"pip install -e {folder}"], name
    else:
        begin, word = [], str(file)
    program = typed_command("ambulo")
    train = f"{program} train walk --task {word} --run-name {name}"
    variable = "" if package else f"AMBULO_TASKS={file} "
    return "\n".join(
        [f"wrote {file}", *begin, train, f"{variable}{program} eval runs/{name}",
         f"python: ambulo.make({environment_id(name).removeprefix('ambulo/')!r})"]
    )  # fmt: skip
