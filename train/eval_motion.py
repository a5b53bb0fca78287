"""Evaluate a motion network on clips: `eval_motion --model M --split_file S`.

The same as `ambulo eval M`, except that captured clips are required.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence

from ambulo.common.errors import Parser, front_door
from ambulo.configs.errors import ConfigError
from ambulo.evaluate.command import evaluate_model

EPILOG = """\
examples:
  eval_motion --model runs/motion --use_test_set
  eval_motion --model M.zip --split_file S --use_test_set --num_frames 500
  eval_motion --model none --split_file S --data CLIPS     baselines only

All other flags are those of `ambulo eval`. Without --use_test_set the validation clips
are used. Baselines are fitted on the training clips of the split.
"""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
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
        "--data", "--bvh_dir", "--bvh-dir", action="append", default=[],
        metavar="FOLDER", help="where the clips are, if they have moved (repeatable)",
    )  # fmt: skip
    add("--windows", type=int, metavar="N", help="draw N windows (default: all)")
    args, others = parser.parse_known_args(arguments)
    if args.windows is not None:
        if args.windows < 1:
            raise ConfigError(f"--windows {args.windows}: must be at least 1")
        others += ["--episodes", str(args.windows)]
    for folder in args.data:
        others += ["--data", folder]
    command = shlex.join(["eval_motion", *arguments])
    return evaluate_model([args.model, *others], command, only="motion_nn")


if __name__ == "__main__":
    sys.exit(main())
