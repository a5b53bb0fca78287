"""Exports of models for other programs, and of characters as MJCF."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ambulo.commands.export_agent import SUFFIXES, ExportFlags
from ambulo.common.files import check_parent, refuse_existing
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError
from ambulo.policies.export.written import Written
from ambulo.policies.files.raw_headers import SB3_ZIP
from ambulo.policies.registry import export_model, load_file, spec_of


def export(flags: ExportFlags) -> int:
    """Write a model, or a character."""
    return _export_character(flags) if flags.mjcf else _export_model(flags)


def _export_model(flags: ExportFlags) -> int:
    """Write a model, and say what the file leaves out."""
    out = resolve_path(flags.out)
    target = _target(flags.target, flags.out, out)
    check_parent(flags.out)
    file = find_model(flags.model)
    spec = spec_of(file)
    if target not in spec.targets:
        valid = ", ".join(f"{name} ({SUFFIXES[name]})" for name in spec.targets)
        can = f"can be exported as {valid} only" if valid else "cannot be exported"
        raise ConfigError(
            f"{flags.model}: not as {target}: models of the kind {spec.kind} {can}"
        )
    _check_body(flags.body, target, spec.kind)
    if flags.body is not None:
        refuse_existing([_body_file(out)], force=flags.force)
    trust = flags.trust_pickle and SB3_ZIP in spec.formats
    model = load_file(file, **({"trust_pickle": True} if trust else {}))
    settings = {}
    if (spec.kind, target) in _SETTINGS:
        settings = _SETTINGS[spec.kind, target](model)
    written = export_model(spec, target, model, out, **settings)
    print(*written.files, sep="\n")
    for line in written.left_out:
        print(f"not in the file: {line}", file=sys.stderr)
    if flags.body is not None:
        print(*_export_body(flags.body, out).files, sep="\n")
    return 0


def _check_body(name: str | None, target: str, kind: str) -> None:
    """Refuse a body that would not be exported, before anything is written."""
    if name is None:
        return
    if target != "godot" or kind != "vr_navigation":
        raise ConfigError("--body: goes with a navigation agent for Godot alone")
    result = spec_of(find_model(name)).kind
    if result != "gait_net":
        raise ConfigError(f"--body {name}: expected a gait network, got {result}")


def _export_body(name: str, agent: Path) -> Written:
    """Write the body of a gait network beside the agent."""
    file = find_model(name)
    return export_model(spec_of(file), "godot", load_file(file), _body_file(agent))


def _body_file(agent: Path) -> Path:
    """Return the file of the body that is written beside an agent."""
    return agent.with_name(f"{agent.stem}_body{agent.suffix}")


def _godot_settings(agent: Any) -> dict[str, Any]:
    """Return the world of a navigation agent, and its body's twin, for the Godot add-on."""
    from ambulo.configs.twin import find_twin
    from ambulo.envs.vr.contract import WorldSpec

    env = agent.config.environment
    twin = None if env.body == "capsule" else find_twin(env.twin or env.walker)
    return {"world": asdict(WorldSpec.from_config(agent.config)), "twin": twin}


_SETTINGS: Mapping[tuple[str, str], Callable[[Any], dict[str, Any]]] = {
    ("vr_navigation", "godot"): _godot_settings
}
"""Further arguments of the exporter, by kind of model and target."""


def _export_character(flags: ExportFlags) -> int:
    """Write a character as MJCF."""
    from ambulo.envs.characters.mjcf import export_mjcf

    for name in ("target", "body"):
        if getattr(flags, name) is not None:
            raise ConfigError(f"--{name}: does not go with --mjcf")
    if flags.out is not None and str(flags.out).endswith(".xml"):
        raise ConfigError(
            f"--out {flags.out}: --mjcf writes several files; name a new folder"
        )
    folder = resolve_path(flags.out)
    if not folder.is_dir():
        check_parent(flags.out)
    print(*export_mjcf(flags.model, folder), sep="\n")
    return 0


def _target(name: str | None, text: str, out: Path) -> str:
    """The target that was named, or that the file's end tells; they must agree."""
    for target, suffix in SUFFIXES.items():
        if out.suffix == suffix and name in (None, target):
            return target
    requested = [name] if name is not None else list(SUFFIXES)
    *rest, last = dict.fromkeys(SUFFIXES[target] for target in requested)
    ends = f"{', '.join(rest)} or {last}" if rest else last
    raise ConfigError(f"--out {text}: must end in {ends}")
