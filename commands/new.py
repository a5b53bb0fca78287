"""The command `ambulo new`: a file to begin with, outside of this repository."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ambulo.common.errors import Parser, front_door
from ambulo.common.files import write_atomic
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.configs.task_registry import GROUP, name_fault
from ambulo.configs.tasks import environment_id

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


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo new task NAME`; its exit code."""
    args = _parser().parse_args(argv)
    fault = name_fault(args.name)
    if fault:
        raise ConfigError(f"task {args.name!r}: {fault}")
    folder = resolve_path(args.out)
    contents = {f"{args.name}.py": task_source(args.name)}
    if args.package:
        project = f"ambulo-{args.name.replace('_', '-')}"
        contents["pyproject.toml"] = _PROJECT.format(
            project=project, group=GROUP, name=args.name
        )
    files = {folder / file: text for file, text in contents.items()}
    for file in files:
        if file.exists():
            raise ConfigError(f"{file}: there is such a file already")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        write_atomic(file, text)
    print(_next_steps(args.name, folder, package=args.package))
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
    file = folder / f"{name}.py"
    if package:
        begin, word = [f"pip install -e {folder}"], name
    else:
        begin, word = [], str(file)
    train = f"ambulo train walk --task {word} --run-name {name}"
    variable = "" if package else f"AMBULO_TASKS={file} "
    return "\n".join(
        [f"wrote {file}", *begin, train, f"{variable}ambulo eval runs/{name}",
         f"python: ambulo.make({environment_id(name).removeprefix('ambulo/')!r})"]
    )  # fmt: skip


def _parser() -> Parser:
    """Return the parser of `ambulo new`."""
    parser = Parser(
        prog="ambulo new",
        description="Write a working task for simulated bodies, to be changed.",
    )
    parser.add_argument("kind", choices=["task"], help="what to write")
    parser.add_argument("name", metavar="NAME", help="its name, such as walk_to_door")
    parser.add_argument(
        "--out", metavar="DIR", default=".", help="folder of the file (default: here)"
    )
    parser.add_argument(
        "--package", action="store_true",
        help="also write a pyproject.toml, with which pip installs the task",
    )  # fmt: skip
    return parser
