"""`ambulo gait compose`: a gait policy and its corrections as one model file."""

from __future__ import annotations

import argparse
from pathlib import Path

from ambulo.common.files import check_parent
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compose` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "compose",
        help="join a gait policy and its corrections in one model file",
        description="Join a gait policy and the corrections that were trained above it "
        "in a cascade, which acts as one policy.",
        epilog="examples:\n"
        "  train_locomotion --preset gait_muscle --run-name healthy\n"
        "  train_locomotion --preset gait_impaired --set gait.base=runs/healthy "
        "--run-name weak\n"
        "  ambulo gait compose runs/healthy runs/weak --out walks.zip\n"
        "  ambulo eval walks.zip",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "base",
        metavar="BASE",
        help="the policy below, or a cascade; found as a model is",
    )
    parser.add_argument(
        "corrections", metavar="CORRECTION", nargs="+",
        help="policies trained with gait.base, each above all that come before it",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the .zip to write"
    )


def run(args: argparse.Namespace) -> int:
    """Write the cascade; 0."""
    check_parent(args.out)
    path = resolve_path(args.out)
    if path.suffix != ".zip":
        raise ConfigError(f"--out {args.out}: a model file is a .zip")
    import_mujoco()
    from ambulo.evaluate.locomotion.cascades import composed
    from ambulo.policies.agents.cascade import save_cascade

    whole, models = composed(args.base, args.corrections)
    save_cascade(path, whole, models)
    names = ", ".join(node.name for node in whole.nodes)
    print(f"{path}: {names}, {Path(path).stat().st_size / 1e6:.1f} MB")
    return 0
