"""How well balance controllers hold random bodies and gaits, with nothing learned.

python benchmarks/gait_law.py --bodies 40 --json docs/results/gait_law.json
"""

from __future__ import annotations

import json

import numpy as np
from _harness import Options, write

from ambulo.configs.gait import gait_space
from ambulo.configs.locomotion import LocomotionEnvironmentConfig
from ambulo.configs.presets.locomotion import preset
from ambulo.envs.characters.gait_body import gait_body
from ambulo.envs.reference.balance import BalanceController, balance_controller
from ambulo.envs.reference.clips.survival import Disturbance, survival
from ambulo.envs.reference.gait_reference import gait_reference, healthy_gait
from ambulo.envs.reference.reference import load_reference, matching_dofs


def main() -> None:
    """Measure."""
    parser = Options(__doc__, bodies=2, seconds=2.0)
    parser.add_argument("--bodies", type=int, default=40, help="parameter vectors")
    parser.add_argument("--players", type=int, default=2, help="walks of each")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--push", type=float, default=0.0, help="impulse, [N s]")
    parser.add_argument("--reference", help="a prepared healthy gait")
    parser.add_argument(
        "--own", action="store_true", help="also the healthy body's law"
    )
    args = parser.read()
    env = preset("gait").environment
    healthy = load_reference(args.reference) if args.reference else healthy_gait(env)
    assert healthy.controller is not None
    controllers = {"common": healthy.controller}
    space = gait_space("human23")
    if args.own:
        controllers["healthy"] = _own(env)
    rows: dict[str, list[float]] = {name: [] for name in controllers}
    for values in space.sample(np.random.default_rng(args.seed), args.bodies):
        body = gait_body(space, values)
        body.model.opt.timestep = env.control_dt / env.substeps
        table = gait_reference(space, values, body, healthy).table
        for name, controller in controllers.items():
            share = survival(
                body, table, controller, Disturbance("push", impulse=args.push),
                control_dt=env.control_dt, bodies=args.players, seconds=args.seconds,
            )  # fmt: skip
            rows[name].append(share)
    found = {
        name: {
            "bodies": args.bodies,
            "players": args.players,
            "seconds": args.seconds,
            "push": args.push,
            "survival_rate": float(np.mean(each)),
        }
        for name, each in rows.items()
    }
    print(json.dumps(found, indent=1))
    write(found, args)


def _own(env: LocomotionEnvironmentConfig) -> BalanceController:
    """The controller of the healthy body and gait alone."""
    space = gait_space("human23")
    body = gait_body(space, space.default)
    body.model.opt.timestep = env.control_dt / env.substeps
    plain = healthy_gait(env.replace(balance_law=False))
    dofs = matching_dofs(body, env.joints)
    return balance_controller(body, plain.table, dofs, control_dt=env.control_dt)


if __name__ == "__main__":
    main()
