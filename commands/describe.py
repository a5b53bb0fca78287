"""Commands that print what there is: presets, layout of observation and action."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ambulo.common.errors import Parser, front_door
from ambulo.common.setting_flags import with_overrides
from ambulo.configs.errors import ConfigError, nearest
from ambulo.configs.presets import preset_folders
from ambulo.configs.presets.vr import PRESETS
from ambulo.configs.vr import NavigationConfig
from ambulo.train.shared.settings import base_config


@front_door
def presets(argv: Sequence[str] | None = None) -> int:
    """`ambulo presets [NAME]`: a table of the presets, or one of them as JSON."""
    parser = Parser(
        prog="ambulo presets", description="List the presets, or print one as JSON."
    )
    parser.add_argument(
        "name", nargs="?", help="preset to print in full, such as vr/quick_test"
    )
    args = parser.parse_args(argv)
    folders = preset_folders()
    if args.name is not None:
        kind, _, name = args.name.rpartition("/")
        if kind and kind not in folders:
            raise ConfigError(f"unknown preset {args.name!r}{nearest(kind, folders)}")
        kinds = [kind] if kind else [k for k in ("vr", *folders) if name in folders[k]]
        if not kinds:
            known = {preset for folder in folders.values() for preset in folder}
            raise ConfigError(f"unknown preset {name!r}{nearest(name, known)}")
        print(folders[kinds[0]].load(name).to_json(), end="")
        return 0
    for kind, folder in folders.items():
        for name, meaning in folder.items():
            print(f"{f'{kind}/{name}':<34} {meaning}")
    return 0


@front_door
def schema(argv: Sequence[str] | None = None) -> int:
    """`ambulo schema`: what an agent sees and does, as JSON."""
    parser = Parser(
        prog="ambulo schema",
        description="Print the layout of observation and action as JSON.",
    )
    parser.add_argument("--preset", metavar="NAME", help="layout of this preset")
    parser.add_argument("--config", metavar="FILE", help="layout of these settings")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides",
        help="one setting, such as observations.memory=map (repeatable)",
    )  # fmt: skip
    args = parser.parse_args(argv)
    config = with_overrides(base_config(args, PRESETS), args.overrides)

    from ambulo.envs.vr.task.observation import observation_layout

    layout = observation_layout(config)
    data = {
        "observation": {"size": layout.size, "parts": layout.schema()},
        "action": action_schema(config),
    }
    print(json.dumps(data, indent=2))
    return 0


def action_schema(config: NavigationConfig) -> dict[str, Any]:
    """What the numbers of an action mean."""
    from ambulo.envs.vr.world.actions import DISCRETE_ACTIONS

    actions = config.actions
    if actions.mode == "discrete":
        return {
            "mode": "discrete",
            "size": len(DISCRETE_ACTIONS),
            "names": DISCRETE_ACTIONS,
            "move_distance_m": actions.move_distance,
            "turn_angle_deg": actions.turn_angle,
        }
    speed = f"full stick is {actions.max_movement_speed:g} m/s"
    turn = f"full stick is {actions.max_rotation_speed:g} deg/s"
    parts = [
        {"name": "strafe", "low": -1, "high": 1, "meaning": f"+ is right, {speed}"},
        {"name": "forward", "low": -1, "high": 1, "meaning": f"+ is ahead, {speed}"},
        {"name": "rotation", "low": -1, "high": 1, "meaning": f"+ is right, {turn}"},
    ]
    return {"mode": "continuous", "size": len(parts), "parts": parts}
