"""Commands that print what there is: models, presets, layout of observation and action."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ambulo.common.command_line import Flags, command
from ambulo.common.files import json_text, write_or_print
from ambulo.common.flag_types import JsonFile, positional
from ambulo.common.setting_flags import SettingFlags
from ambulo.configs.errors import ConfigError, nearest

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationConfig


@dataclass(frozen=True, kw_only=True)
class ModelsFlags(Flags):
    """List the shipped models and those of `ambulo pull`."""

    json: JsonFile | None = None
    """as JSON with their files, to FILE or to standard output"""


@command("ambulo models")
def models(flags: ModelsFlags) -> int:
    """Print what `ambulo.load` finds by name."""
    from ambulo.policies.registry import pulled_cards, shipped_cards

    groups = {"shipped": shipped_cards(), "pulled": pulled_cards()}
    rows = [(group, card) for group, cards in groups.items() for card in cards.values()]
    if flags.json is not None:
        data = [
            asdict(card) | {"path": str(card.path), "from": group}
            for group, card in rows
        ]
        write_or_print(flags.json, json_text(data, indent=2))
        return 0
    for group, card in rows:
        mark = " (pulled)" if group == "pulled" else ""
        print(f"{card.name:<22} {card.kind:<16} {card.headline}{mark}")
    return 0


@dataclass(frozen=True, kw_only=True)
class PresetsFlags(Flags):
    """List the presets, or print one as JSON."""

    name: Annotated[str | None, positional("name")] = None
    """preset to print in full, such as vr/quick_test"""


@command("ambulo presets")
def presets(flags: PresetsFlags) -> int:
    """Print a table of the presets, or one of them as JSON."""
    from ambulo.configs.presets import preset_folders

    folders = preset_folders()
    if flags.name is not None:
        kind, _, name = flags.name.rpartition("/")
        if kind and kind not in folders:
            raise ConfigError(f"unknown preset {flags.name!r}{nearest(kind, folders)}")
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


@dataclass(frozen=True, kw_only=True)
class SchemaFlags(SettingFlags):
    """Print the layout of observation and action as JSON."""


@command("ambulo schema")
def schema(flags: SchemaFlags) -> int:
    """Print what an agent sees and does, as JSON."""
    from ambulo.configs.presets import VR_PRESETS
    from ambulo.envs.vr.task.observation import observation_layout

    config = flags.config_of(VR_PRESETS)
    layout = observation_layout(config)
    data = {
        "observation": {"size": layout.size, "parts": layout.schema()},
        "action": action_schema(config),
    }
    print(json.dumps(data, indent=2))
    return 0


def action_schema(config: NavigationConfig) -> dict[str, Any]:
    """Return the meaning of the numbers of an action, for JSON."""
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
