"""Navigation agents for other programs, as the targets of `ambulo export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ambulo.configs.twin import TwinConfig
from ambulo.policies.agents.navigation import Agent
from ambulo.policies.export.export import export_json, export_onnx
from ambulo.policies.export.godot import export_godot
from ambulo.policies.export.written import Written


def write_onnx(agent: Agent, path: Path) -> Written:
    """Write an agent as ONNX; see `export_onnx`."""
    export_onnx(agent, path)
    return Written((path,))


def write_json(agent: Agent, path: Path) -> Written:
    """Write an agent as JSON and raw weights; see `export_json`."""
    return Written((path, export_json(agent, path)))


def write_godot(
    agent: Agent, path: Path, world: Mapping[str, float], twin: TwinConfig | None = None
) -> Written:
    """Write an agent for Godot; see `export_godot`."""
    export_godot(agent, path, world, twin)
    return Written((path,))
