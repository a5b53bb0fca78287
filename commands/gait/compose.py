"""`ambulo gait compose`: a gait policy and its corrections as one model file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ambulo.common.command_line import Flags, command
from ambulo.common.flag_types import OutFile, ending, positional
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path


@dataclass(frozen=True, kw_only=True)
class ComposeFlags(Flags):
    """Join a gait policy and corrections in a cascade, which acts as one policy.

    The corrections were trained above the policy.
    """

    base: Annotated[str, positional("BASE")]
    """the policy below, or a cascade; found as a model is"""
    corrections: Annotated[tuple[str, ...], positional("CORRECTION")]
    """policies trained with gait.base, each above all that come before it"""
    out: Annotated[OutFile, ending(".zip")]
    """the .zip to write"""


@command(
    "ambulo gait compose",
    """\
examples:
  train_locomotion --preset gait_muscle --run-name healthy
  train_locomotion --preset gait_impaired --set gait.base=runs/healthy --run-name weak
  ambulo gait compose runs/healthy runs/weak --out walks.zip
  ambulo eval walks.zip
""",
)
def main(flags: ComposeFlags) -> int:
    """Write the cascade."""
    import_mujoco()
    from ambulo.evaluate.locomotion.cascades import composed
    from ambulo.policies.agents.cascade import save_cascade

    path = resolve_path(flags.out)
    whole, models = composed(flags.base, flags.corrections)
    save_cascade(path, whole, models)
    names = ", ".join(node.name for node in whole.nodes)
    print(f"{path}: {names}, {path.stat().st_size / 1e6:.1f} MB")
    return 0
