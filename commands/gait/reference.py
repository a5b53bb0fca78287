"""`ambulo gait reference`: generated gaits that simulated bodies follow."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ambulo.commands.gait.networks import (
    add_model_flag,
    add_parameter_flags,
    open_network,
    parameters_of,
)
from ambulo.common.files import check_parent
from ambulo.common.gl import import_mujoco
from ambulo.common.paths import resolve_path
from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError
from ambulo.configs.gait import GaitSpace
from ambulo.configs.healthy_gait import HEALTHY
from ambulo.motion.gaits.skeleton import leg_length

if TYPE_CHECKING:
    from ambulo.policies.agents.gait_network import GaitNetwork

CYCLES = 6
"""Of each generated motion; the middle ones are used."""


def add_parser(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `reference` to the actions of `ambulo gait`."""
    parser = actions.add_parser(
        "reference",
        help="make generated gaits a reference for simulated bodies",
        description="Make a generated gait a reference for ambulo/Imitate-v0, or several "
        "of ascending speed the motion prior of ambulo/Locomote-v0: physical cycles with "
        "their torques and balance controllers.",
        epilog="examples:\n"
        "  ambulo gait reference --stride 1.1 --out walk.npz\n"
        "  train_locomotion --preset imitate_walk --reference walk.npz\n"
        "  ambulo gait reference --speeds 0.8 1.0 1.2 1.4 1.6 --out walks.npz\n"
        "  train_locomotion --preset locomote --reference walks.npz",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_parameter_flags(parser)
    parser.add_argument(
        "--speeds", type=float, nargs="+", metavar="M/S",
        help="a gait for each of these; stride and cadence share the speed",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="the .npz to write"
    )
    parser.add_argument(
        "--control-rate", type=int, default=30, metavar="HZ",
        help="actions per second that the balance controllers are for (default: 30)",
    )  # fmt: skip
    parser.add_argument(
        "--substeps", type=int, default=5, metavar="N",
        help="physics steps per action (default: 5)",
    )  # fmt: skip
    add_model_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Make the reference; 0."""
    check_parent(args.out)
    path = resolve_path(args.out)
    if path.suffix != ".npz":
        raise ConfigError(f"--out {args.out}: a prepared reference is a .npz")
    if args.speeds and (args.stride is not None or args.cadence is not None):
        raise ConfigError("--speeds chooses stride and cadence; give either")
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    network = open_network(args)
    values = parameters_of(args, network)
    chosen = [values]
    if args.speeds:
        if "stride" in network.held or "cadence" in network.held:
            raise ConfigError(
                "--speeds: this network has learnt one stride and cadence"
            )
        chosen = [at_speed(network.space, values, speed) for speed in args.speeds]
    import_mujoco()
    _write(path, args, network, chosen)
    return 0


def at_speed(space: GaitSpace, values: Floats, speed: float) -> Floats:
    """`values` (P,) with the stride and cadence of a speed, [m/s], as people share it.

    Both grow with the square root of the speed (D. Grieve and R. Gear, Ergonomics 9(5),
    1966); where one is at the end of its range, the other takes the rest.

    Raises:
        ConfigError: A speed that no stride and cadence in range make.
    """
    legs = leg_length(space, values)
    own = float(HEALTHY.stride_of(1.0, legs) * HEALTHY.rate_of(1.0, legs))
    ratio = speed / own
    stride, cadence = (space.index(name) for name in ("stride", "cadence"))
    low, high = space.low, space.high
    found = values.copy()
    found[stride] = np.clip(np.sqrt(max(ratio, 0.0)), low[stride], high[stride])
    found[cadence] = np.clip(ratio / found[stride], low[cadence], high[cadence])
    found[stride] = np.clip(ratio / found[cadence], low[stride], high[stride])
    if abs(found[stride] * found[cadence] - ratio) > 1e-6:
        slow, fast = (
            own * low[stride] * low[cadence],
            own * high[stride] * high[cadence],
        )
        raise ConfigError(
            f"--speeds {speed:g}: this network's gaits go at {slow:.2f} to {fast:.2f} m/s"
        )
    return found


def _write(
    path: Path, args: argparse.Namespace, network: GaitNetwork, chosen: list[Floats]
) -> None:
    from ambulo.configs.locomotion import LocomotionEnvironmentConfig
    from ambulo.envs.reference.configured import body_of
    from ambulo.envs.reference.reference import generated_reference, save_reference

    config = LocomotionEnvironmentConfig().replace(
        control_rate=args.control_rate,
        substeps=args.substeps,
        task="locomote" if len(chosen) > 1 else "imitate",
    )
    motions = []
    for values in chosen:
        stride, cadence = (
            values[network.space.index(name)] for name in ("stride", "cadence")
        )
        motion = network.to_motion(values, CYCLES)
        name = f"generated gait (stride {stride:.2f}, cadence {cadence:.2f})"
        motions.append(motion.replace(name=name))
    reference = generated_reference(
        motions,
        body_of(config),
        frames=len(motions[0]) // CYCLES,
        name=motions[0].name if len(motions) == 1 else "generated gaits",
        joints=config.joints,
        control_dt=config.control_dt,
    )
    save_reference(path, reference)
    for gait in reference.gaits:
        report = gait.report
        print(
            f"{report['speed']:.2f} m/s: standing soles slide at {report['slip']:.2f} m/s, "
            f"residual root force {report['residual_force'] / report['weight']:.1%} of weight"
        )
    print(f"written: {path}")
