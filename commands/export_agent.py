"""`ambulo export`: a trained agent for other programs, as ONNX, JSON or for Godot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ambulo.common.errors import Parser, front_door
from ambulo.common.files import check_parent
from ambulo.common.find_model import find_model
from ambulo.common.paths import resolve_path
from ambulo.configs.errors import ConfigError, nearest

SUFFIXES = {"onnx": ".onnx", "json": ".json", "godot": ".ambulo"}
"""How the file of each target ends."""


@front_door
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo export ...`; its exit code."""
    parser = Parser(
        prog="ambulo export",
        description="Write an agent so that other programs can run it.",
    )
    parser.add_argument(
        "model", metavar="MODEL",
        help="model file, run folder, or name of a shipped agent",
    )  # fmt: skip
    parser.add_argument(
        "--out", required=True, metavar="FILE",
        help="FILE.onnx, FILE.json (+ .bin), or FILE.ambulo for Godot",
    )  # fmt: skip
    parser.add_argument(
        "--target", metavar="NAME",
        help=f"one of {', '.join(SUFFIXES)}; default: what the end of FILE says",
    )  # fmt: skip
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")
    parser.add_argument(
        "--trust-pickle", action="store_true",
        help="run the pickled code of a Stable-Baselines3 zip; only for your own files",
    )  # fmt: skip
    args = parser.parse_args(argv)
    out = resolve_path(args.out)
    target = _target(args.target, args.out, out)
    check_parent(args.out)

    from ambulo.envs.vr.contract import WorldSpec
    from ambulo.policies.agents.navigation import load_agent
    from ambulo.policies.export.export import export_json, export_onnx
    from ambulo.policies.export.godot import export_godot

    agent = load_agent(find_model(args.model), trust_pickle=args.trust_pickle)
    files = [out]
    if target == "onnx":
        export_onnx(agent, out)
    elif target == "json":
        files.append(export_json(agent, out))
    else:
        export_godot(agent, out, asdict(WorldSpec.from_config(agent.config)))
    print(*files, sep="\n")
    return 0


def _target(name: str | None, text: str, out: Path) -> str:
    """The target that was named, or that the file's end tells; they must agree."""
    if name is not None and name not in SUFFIXES:
        raise ConfigError(f"--target: unknown {name!r}{nearest(name, SUFFIXES)}")
    for target, suffix in SUFFIXES.items():
        if out.suffix == suffix and name in (None, target):
            return target
    wanted = [name] if name is not None else list(SUFFIXES)
    *rest, last = (SUFFIXES[target] for target in wanted)
    ends = f"{', '.join(rest)} or {last}" if rest else last
    raise ConfigError(f"--out {text}: must end in {ends}")
