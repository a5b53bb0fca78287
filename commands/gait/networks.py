"""Which gait network a command uses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ambulo.common.find_model import find_model
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import GaitParameterError
from ambulo.policies.agents.gait_network import GaitNetwork, load_gait_network

if TYPE_CHECKING:
    from ambulo.policies.networks.gait_net import GaitNet

DEFAULT_NETWORK = "gait_net"
"""The shipped network that is meant when nothing is said."""
DEFAULT_ESTIMATOR = "gait_estimator"
"""The shipped estimator of that network's parameters."""


def add_model_flag(parser: argparse.ArgumentParser, *, verbose: bool = True) -> None:
    """Add the flag `--model`, and `--verbose` unless the parser has it."""
    parser.add_argument(
        "--model", default=DEFAULT_NETWORK, metavar="MODEL",
        help="gait network: a file, a run folder or a shipped one (default: "
        f"{DEFAULT_NETWORK})",
    )  # fmt: skip
    if verbose:
        parser.add_argument("--verbose", action="store_true", help="show tracebacks")


def add_parameter_flags(parser: argparse.ArgumentParser) -> None:
    """Flags that choose gait parameters; see `parameters_of`."""
    parser.add_argument(
        "--stride",
        type=float,
        metavar="RATIO",
        help="stride length over the healthy one",
    )
    parser.add_argument(
        "--cadence", type=float, metavar="RATIO", help="cadence over the healthy one"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="named",
        help="any other parameter, such as femur_torsion_left=0.3 (repeatable); what is "
        "not said is healthy",
    )  # fmt: skip


def parameters_of(args: argparse.Namespace, network: GaitNetwork) -> Floats:
    """The vector (P,) that the flags choose.

    Raises:
        GaitParameterError: An unknown name, no number, or a value out of range.
    """
    named = {
        name: float(value)
        for name in ("stride", "cadence")
        if (value := getattr(args, name)) is not None
    }
    return network.vector(**named | assignments(args.named))


def assignments(texts: Sequence[str]) -> dict[str, float]:
    """`NAME=VALUE` texts as numbers by name."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise GaitParameterError(
                f"--set {text}: expected NAME=VALUE, VALUE a number"
            )
    return found


def open_network(args: argparse.Namespace) -> GaitNetwork:
    """The network of `--model`, for run time."""
    return load_gait_network(find_model(args.model))


def open_gait_net(args: argparse.Namespace) -> tuple[GaitNet, Path]:
    """The network of `--model` in torch, frozen, and its file."""
    from ambulo.policies.agents.gait_training import load_gait_net

    path = find_model(args.model)
    network, _ = load_gait_net(path)
    return network.requires_grad_(False).eval(), path
