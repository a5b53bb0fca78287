"""Train a network from targets of effectors to full-body poses (neural IK)."""

from __future__ import annotations

import sys

from ambulo.train.ik.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
