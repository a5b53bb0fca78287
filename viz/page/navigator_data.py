"""What the page of the navigator holds: the policy's file and levels with start and goal."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from ambulo.common.find_model import find_model
from ambulo.envs.vr.contract import WorldSpec
from ambulo.policies.agents.navigation import load_agent
from ambulo.policies.export.godot import export_godot

HANDMADE = "ambulo.envs.vr.handmade"
FIRST = "library"
"""The level that the page begins with."""


def navigator_data(model: str) -> dict[str, bytes]:
    """Return the policy `model` as for Godot, and the levels drawn by hand."""
    agent = load_agent(find_model(model))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "navigator.ambulo"
        export_godot(agent, file, asdict(WorldSpec.from_config(agent.config)))
        policy = file.read_bytes()
    levels = sorted(page_levels(), key=lambda row: row["level"]["name"] != FIRST)
    return {"navigator.policy": policy, "navigator.levels": json.dumps(levels).encode()}


def page_levels() -> list[dict[str, Any]]:
    """Return flat levels as JSON data, each with its start (x, y, yaw) and goal (x, y)."""
    rows = []
    for entry in sorted(files(HANDMADE).iterdir(), key=lambda entry: entry.name):
        if not entry.name.endswith(".json"):
            continue
        level = json.loads(entry.read_text(encoding="utf-8"))
        start, goal = level["start"], level["goal"]
        pose = [*start["position"][:2], start.get("yaw", 0.0)]
        rows.append({"level": level, "start": pose, "goal": goal[:2]})
    return rows
