"""`ambulo calibrate`: a navigation model learns to say when it is lost."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import ambulo.shipped
from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.policies.registry import spec_of

KIND = "vr_navigation"
"""Kind of the models that can be calibrated."""
EPISODES = 1500
"""Default of `--episodes`."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo calibrate ...`; its exit code."""
    parser = Parser(
        prog="ambulo calibrate",
        description="Give a navigation model a head that says how probable it is that the "
        "agent is lost: fitted to its own episodes on training levels, calibrated on "
        "validation levels. The policy stays as it is.",
    )
    parser.add_argument(
        "model", metavar="MODEL",
        help="model file, run folder, or name of a shipped model",
    )  # fmt: skip
    parser.add_argument(
        "--episodes", type=int, default=EPISODES, metavar="N",
        help=f"episodes on training levels (default: {EPISODES}); half as many follow on "
        "validation levels",
    )  # fmt: skip
    parser.add_argument(
        "--output", metavar="FILE",
        help="new model file (default: MODEL itself, unless it is a shipped one)",
    )  # fmt: skip
    parser.add_argument(
        "--level-set", metavar="NAMES",
        help="level families or sets with commas between, such as train,places (default: "
        "those of the model's training)",
    )  # fmt: skip
    parser.add_argument(
        "--level-file", metavar="PATH", help="level JSON file or folder of them instead"
    )
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")
    args = parser.parse_args(argv)
    file = find_model(args.model)
    out = _output(args, file)
    kind = spec_of(file).kind
    if kind != KIND:
        raise ConfigError(f"{args.model}: expected a model of navigation, got {kind}")
    _calibrate(args, file, out)
    return 0


def _output(args: Namespace, file: Path) -> Path:
    """Return the file to write, which is never a shipped one."""
    shipped = {path.resolve() for path in ambulo.shipped.shipped_models().values()}
    out = file if args.output is None else resolve_path(args.output)
    if out.resolve() in shipped:
        raise ConfigError(
            f"{out}: a shipped model is not changed; name a new file with --output"
        )
    if out.is_dir():
        raise ConfigError(f"--output {args.output}: is a folder, expected a file")
    check_parent(args.output)
    return out


def _calibrate(args: Namespace, file: Path, out: Path) -> None:
    """Play, fit, write the model and print what came out."""
    from ambulo.evaluate.vr.lost.calibration import CalibrationLevels, calibrated
    from ambulo.policies.agents.navigation import load_navigation
    from ambulo.policies.files.model_file import save_model

    levels = CalibrationLevels(args.level_set, args.level_file)
    model = calibrated(
        load_navigation(file), bars=_bar, episodes=args.episodes, levels=levels
    )
    save_model(out, model)
    header = model.metadata.lost
    assert header is not None
    factor, offset = header.calibration
    print(
        f"lost in {header.base_rate:.0%} of the decisions on validation levels; "
        f"Platt scaling: logit -> {factor:.2f} logit {offset:+.2f}"
    )
    print(out)


@contextmanager
def _bar(name: str, episodes: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of `episodes` on stderr."""
    with bars(18, unit="episodes") as progress:
        task = progress.add_task(name, total=episodes)
        yield lambda ended: progress.advance(task, ended)
