"""Train a network from headset, controllers and further trackers to a whole body."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ambulo.train.trackers.command import COMMAND


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    return COMMAND.main(argv)


if __name__ == "__main__":
    sys.exit(main())
