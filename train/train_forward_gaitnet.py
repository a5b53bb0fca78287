"""Train a network from gait and body parameters to motion (Forward GaitNet)."""

from __future__ import annotations

import sys

from ambulo.train.gait.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
