"""`ambulo gait reference`: generated gaits that simulated bodies follow."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ambulo.commands.gait.flags import ReferenceFlags
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
"""Cycles of each generated motion; the middle ones are used."""


def reference(flags: ReferenceFlags) -> int:
    """Make the reference."""
    logging.basicConfig(level="WARNING", format="%(levelname)s: %(message)s")
    network = flags.network()
    chosen = [values := flags.parameters(network)]
    if flags.speeds:
        if "stride" in network.held or "cadence" in network.held:
            raise ConfigError(
                "--speeds: this network has learnt one stride and cadence"
            )
        chosen = [at_speed(network.space, values, speed) for speed in flags.speeds]
    import_mujoco()
    _write(resolve_path(flags.out), flags, network, chosen)
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
    result = values.copy()
    result[stride] = np.clip(np.sqrt(max(ratio, 0.0)), low[stride], high[stride])
    result[cadence] = np.clip(ratio / result[stride], low[cadence], high[cadence])
    result[stride] = np.clip(ratio / result[cadence], low[stride], high[stride])
    if abs(result[stride] * result[cadence] - ratio) > 1e-6:
        slow, fast = (
            own * low[stride] * low[cadence],
            own * high[stride] * high[cadence],
        )
        raise ConfigError(
            f"--speeds {speed:g}: this network's gaits go at {slow:.2f} to {fast:.2f} m/s"
        )
    return result


def _write(
    path: Path, flags: ReferenceFlags, network: GaitNetwork, chosen: list[Floats]
) -> None:
    from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
    from ambulo.envs.reference.configured import configured_character
    from ambulo.envs.reference.cycles.building import generated_reference
    from ambulo.envs.reference.reference import save_reference

    config = LocomotionEnvironmentConfig().replace(
        control_rate=flags.control_rate,
        substeps=flags.substeps,
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
        configured_character(config),
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
