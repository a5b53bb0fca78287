"""The command `ambulo models`: what `ambulo.load` finds by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from ambulo.common.errors import Parser, cli_entry_point
from ambulo.policies.registry import ModelCard, pulled_cards, shipped_cards


@cli_entry_point
def main(argv: Sequence[str] | None = None) -> int:
    """Run `ambulo models`; its exit code."""
    parser = Parser(
        prog="ambulo models",
        description="List the shipped models and those of `ambulo pull`.",
    )
    parser.add_argument("--json", action="store_true", help="as JSON, with their files")
    args = parser.parse_args(argv)
    groups = {"shipped": shipped_cards(), "pulled": pulled_cards()}
    if args.json:
        rows = [
            asdict(card) | {"path": str(card.path), "from": group}
            for group, cards in groups.items()
            for card in cards.values()
        ]
        print(json.dumps(rows, indent=2))
        return 0
    for group, cards in groups.items():
        for card in cards.values():
            print(_row(card, group))
    return 0


def _row(card: ModelCard, group: str) -> str:
    """Return the line of one model."""
    mark = " (pulled)" if group == "pulled" else ""
    return f"{card.name:<22} {card.kind:<16} {card.headline}{mark}"
