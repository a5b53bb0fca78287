"""`ambulo gait compose`: a gait policy and its corrections as one model file."""

from __future__ import annotations

import argparse
from pathlib import Path

from ambulo.common.files import check_parent
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.configs.reading import read_regular
from ambulo.policies.files.archive import MAX_BYTES


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
    from ambulo.common.find_model import find_model
    from ambulo.evaluate.locomotion.cascades import (
        GaitPolicy,
        box_of,
        check_base,
        digest_of,
        joined,
        load_gait_policy,
        model_files,
    )
    from ambulo.policies.agents.cascade import Cascade, CascadeNode, save_cascade
    from ambulo.policies.agents.locomotion import load_locomotion_agent

    whole: GaitPolicy = load_gait_policy(args.base)
    models, digest = model_files(args.base), digest_of(args.base)
    for name in args.corrections:
        file = find_model(name)
        agent = load_locomotion_agent(file)
        if agent.config.gait.base is None:
            raise ConfigError(f"{file}: was not trained above a base (gait.base)")
        check_base(whole, agent.config, agent.layout, agent.metadata.actions)
        trained_above = agent.metadata.extra.get("base", digest)
        if trained_above != digest and len(args.corrections) == 1:
            raise ConfigError(
                f"{file}: was trained above another base than {args.base}"
            )
        label = f"correction_{len(models)}"
        whole = joined(whole, CascadeNode(label, agent, *box_of(agent)))
        models[label] = read_regular(file, MAX_BYTES)
    assert isinstance(whole, Cascade)
    save_cascade(path, whole, models)
    names = ", ".join(node.name for node in whole.nodes)
    print(f"{path}: {names}, {Path(path).stat().st_size / 1e6:.1f} MB")
    return 0
