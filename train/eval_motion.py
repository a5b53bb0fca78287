"""Evaluate a motion network beside simple baselines: `eval_motion --model M --split_file S`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ambulo.common.console import bars
from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent, write_atomic, write_or_print
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, MotionError
from ambulo.evaluate.motion.evaluation import EvalData, Plan, evaluate
from ambulo.evaluate.motion.metrics import HORIZONS_MS
from ambulo.evaluate.motion.report import print_scores, report_data, report_json
from ambulo.evaluate.motion.windows import EvalClip
from ambulo.evaluate.output_folder import made_folder
from ambulo.motion.datasets.clips import Clip
from ambulo.motion.datasets.prepare import prepare_clips
from ambulo.motion.datasets.splits import SPLIT_FILE, Split, load_split
from ambulo.motion.human23 import N_POSITIONS

if TYPE_CHECKING:
    from ambulo.policies.networks.motion_nn import MotionNN

NONE = "none"
"""`--model` that stands for the baselines alone."""
HISTORY = 10
"""States that baselines are given when there is no model."""
FPS = 25.0
"""Frames a second when there is no model, [Hz]."""
FURTHEST_MS = 60_000
"""No horizon lies further, [ms]."""

EPILOG = f"""\
examples:
  eval_motion --model runs/motion --use_test_set
  eval_motion --model M.zip --split_file S --use_test_set --num_frames 500
  eval_motion --model none --split_file S --data CLIPS     baselines only

Without --use_test_set the validation clips are used. Baselines are fitted on the training
clips of the split. Default horizons: {", ".join(map(str, HORIZONS_MS))} ms.
"""


def make_parser() -> Parser:
    """The command line of `eval_motion`."""
    parser = Parser(
        prog="eval_motion",
        description="Evaluate a motion network beside baselines on the same windows.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--model", required=True, metavar="MODEL",
        help="model file, run folder, name of a shipped model, or 'none'",
    )  # fmt: skip
    add(
        "--split_file", "--split-file", metavar="FILE",
        help="split_info.json of the training (default: that of the model's run)",
    )  # fmt: skip
    add(
        "--data", "--bvh_dir", "--bvh-dir", action="append", default=[],
        metavar="FOLDER", help="where the clips are, if they have moved (repeatable)",
    )  # fmt: skip
    add(
        "--use_test_set", "--use-test-set", action="store_true",
        help="judge by the test clips (default: the validation clips)",
    )  # fmt: skip
    add(
        "--num_frames", "--num-frames", type=int, metavar="N",
        help="use the first N frames of each clip that is judged (default: all)",
    )  # fmt: skip
    add("--windows", type=int, metavar="N", help="draw N windows (default: all)")
    add(
        "--stride", type=int, default=5, metavar="N",
        help="frames between the starts of windows (default: 5)",
    )  # fmt: skip
    add(
        "--horizons", metavar="MS,...", default=",".join(map(str, HORIZONS_MS)),
        help="times at which errors are told, in ms",
    )  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help="of draws and intervals")
    add(
        "--json", nargs="?", const="-", metavar="FILE",
        help="scores as JSON, to FILE or to standard output",
    )  # fmt: skip
    add(
        "--output", metavar="FOLDER",
        help="folder of scores, pictures and film (default: evaluation/ in the run or "
        "here)",
    )  # fmt: skip
    add("--no-report", action="store_true", help="no pictures and no film")
    add("--no-video", action="store_true", help="no film")
    add("--device", default="cpu", metavar="NAME", help="torch device (default: cpu)")
    add("--verbose", action="store_true", help="show tracebacks")
    return parser


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    args = make_parser().parse_args(arguments)
    horizons = _checked(args)
    file = None if args.model == NONE else find_model(args.model)
    network = None if file is None else _network(file, args.device)
    plan = plan_of(network, horizons, args)
    split = _split(args, file)
    console = Console(stderr=args.json == "-")
    with _output(args, file) as folder:
        data = load_data(split, plan, args)
        found = evaluate(data, network, plan, args.device)
        print_scores(found, console)
        facts = {
            "command": shlex.join(["eval_motion", *arguments]),
            "model": NONE if file is None else str(file),
            "part": _part(args),
            "split_by": split.by,
            "fps": plan.fps,
            "history": plan.history,
            "num_frames": args.num_frames,
            "stride": args.stride,
            "seed": args.seed,
        }
        text = report_json(report_data(facts, found))
        write_or_print(args.json, text)
        if folder is not None:
            from ambulo.evaluate.motion.pictures import write_pictures

            write_atomic(folder / "scores.json", text)
            write_pictures(folder, found, console, video=not args.no_video)
            console.print(f"report: {folder}", soft_wrap=True, markup=False)
    return 0


def load_data(split: Split, plan: Plan, args: argparse.Namespace) -> EvalData:
    """Read, filter, resample and retarget all clips; `MotionError` if a part is empty."""
    part = _part(args)
    judged = split.part(part)
    for name, clips in ((part, judged), ("train", split.train)):
        if not clips:
            raise MotionError(f"the split has no {name} clips")
    arrays = [
        EvalClip(clip.name, clip.activity, clip.positions[: args.num_frames])
        for clip in _prepared(judged, plan.fps, f"{part} clips")
    ]
    train = list(_prepared(split.train, plan.fps, "training clips"))
    if part == "test" and split.validation:
        chosen = list(_prepared(split.validation, plan.fps, "validation clips"))
    else:
        # Strengths are never chosen on what is judged: hold out some training clips.
        chosen = train[::5]
        train = [clip for k, clip in enumerate(train) if k % 5] or chosen
    return EvalData(arrays, train, chosen)


def plan_of(
    network: MotionNN | None, horizons: tuple[int, ...], args: argparse.Namespace
) -> Plan:
    """What is predicted from what; refuses `--num_frames` that hold no window."""
    history = HISTORY if network is None else max(HISTORY, network.config.history)
    fps = FPS if network is None else network.config.fps
    plan = Plan(history, fps, horizons, args.stride, args.windows, args.seed)
    need = history + 1 + plan.steps
    if args.num_frames is not None and args.num_frames < need:
        raise ConfigError(
            f"--num_frames {args.num_frames}: a window has {need} frames, "
            f"{history + 1} known and {plan.steps} to predict"
        )
    return plan


def _network(file: Path, device: str) -> MotionNN:
    from ambulo.policies.agents.motion import load_motion_nn

    try:
        return load_motion_nn(file, device)
    except RuntimeError as error:  # torch's word for a device that is not there
        raise ConfigError(f"--device {device}: {error}") from None


def _split(args: argparse.Namespace, file: Path | None) -> Split:
    """The split, its clips found and unchanged."""
    if args.split_file is not None:
        path = resolve_path(args.split_file)
    else:
        folders = [] if file is None else [file.parent, file.parent.parent]
        found = [f / SPLIT_FILE for f in folders if (f / SPLIT_FILE).is_file()]
        if not found:
            raise ConfigError(f"no {SPLIT_FILE} beside the model: give --split_file")
        path = found[0]
    return load_split(path, [resolve_path(folder) for folder in args.data])


def _prepared(clips: Sequence[Clip], fps: float, label: str) -> Iterator[EvalClip]:
    """The poses of each clip, with a bar on a terminal."""
    with bars(18) as progress:
        task = progress.add_task(label, total=len(clips))
        for clip, states in prepare_clips(clips, fps):
            progress.advance(task)
            poses = states[:, :N_POSITIONS].astype("float64")
            yield EvalClip(clip.name, clip.activity, poses)


def _checked(args: argparse.Namespace) -> tuple[int, ...]:
    """The horizons, [ms]; every other flag is checked too."""
    for flag, value in (
        ("--num_frames", args.num_frames),
        ("--windows", args.windows),
        ("--stride", args.stride),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"{flag} {value}: must be at least 1")
    if args.seed < 0:
        raise ConfigError(f"--seed {args.seed}: must be >= 0")
    check_parent(args.json)
    return _horizons(args.horizons.split(","))


def _horizons(texts: Iterable[str]) -> tuple[int, ...]:
    found = set()
    for text in texts:
        if not text.strip().isdecimal() or not 1 <= int(text) <= FURTHEST_MS:
            raise ConfigError(
                f"--horizons: {text.strip()!r} is no time in ms from 1 to {FURTHEST_MS}"
            )
        found.add(int(text))
    return tuple(sorted(found))


def _part(args: argparse.Namespace) -> str:
    return "test" if args.use_test_set else "validation"


@contextmanager
def _output(args: argparse.Namespace, model: Path | None) -> Iterator[Path | None]:
    """The folder of the report; None where none is wanted."""
    if args.no_report:
        yield None
        return
    if args.output is not None:
        folder = resolve_path(args.output)
    else:
        run = model is not None and (model.parent.parent / SPLIT_FILE).is_file()
        base = model.parent.parent if run and model is not None else Path.cwd()
        folder = base / "evaluation"
    with made_folder(folder):
        yield folder


if __name__ == "__main__":
    sys.exit(main())
