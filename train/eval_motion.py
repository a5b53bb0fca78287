"""Evaluate a motion network on clips: `eval_motion --model M --split_file S`.

The same as `ambulo eval M`, except that captured clips are required.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Arg, Flags, command
from ambulo.common.flag_types import Count
from ambulo.evaluate.command import evaluate_model
from ambulo.evaluate.command import main as evaluate

EPILOG = """\
examples:
  eval_motion --model runs/motion --use_test_set
  eval_motion --model M.zip --split_file S --use_test_set --num_frames 500
  eval_motion --model none --split_file S --data CLIPS     baselines only

All other flags are those of `ambulo eval`. Without --use_test_set the validation clips
are used. Baselines are fitted on the training clips of the split.
"""


@dataclass(frozen=True, kw_only=True)
class EvalMotionFlags(Flags):
    """Evaluate a motion network beside baselines on the same windows."""

    model: Annotated[str, Arg("MODEL")]
    """model file, run folder, name of a shipped model, or 'none'"""
    data: Annotated[
        tuple[str, ...], Arg("FOLDER", ("--data", "--bvh_dir"), repeated=True)
    ] = ()
    """where the clips are, if they have moved (repeatable)"""
    windows: Count | None = None
    """draw N windows (default: all)"""
    rest: tuple[str, ...] = ()
    """Flags of `ambulo eval`."""


@command("eval_motion", EPILOG)
def main(flags: EvalMotionFlags) -> int:
    """Evaluate a motion network."""
    others = [*flags.rest, *["--verbose"] * flags.verbose]
    if flags.windows is not None:
        others += ["--episodes", str(flags.windows)]
    for folder in flags.data:
        others += ["--data", folder]
    asked = evaluate.parse([flags.model, *others])
    return evaluate_model(asked, flags.command_line, only="motion_nn")


if __name__ == "__main__":
    sys.exit(main())
