"""`ambulo export`: a trained agent for other programs, as ONNX or JSON."""

from __future__ import annotations

from collections.abc import Sequence

from ambulo.configs.errors import ConfigError
from ambulo.train.errors import Parser, front_door
from ambulo.train.files import check_parent
from ambulo.train.find_model import find_model
from ambulo.train.paths import resolve_path


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
        "--out", required=True, metavar="FILE", help="FILE.onnx, or FILE.json (+ .bin)"
    )
    parser.add_argument("--verbose", action="store_true", help="tracebacks of errors")
    parser.add_argument(
        "--trust-pickle", action="store_true",
        help="run the pickled code of a Stable-Baselines3 zip; only for your own files",
    )  # fmt: skip
    args = parser.parse_args(argv)
    out = resolve_path(args.out)
    if out.suffix not in (".onnx", ".json"):
        raise ConfigError(f"--out {args.out}: must end in .onnx or .json")
    check_parent(args.out)

    from ambulo.policies.agent import load_agent
    from ambulo.policies.export import export_json, export_onnx

    agent = load_agent(find_model(args.model), trust_pickle=args.trust_pickle)
    if out.suffix == ".onnx":
        export_onnx(agent, out)
        print(out)
    else:
        print(out, export_json(agent, out), sep="\n")
    return 0
