"""Train a network from targets of effectors to full-body poses (neural IK)."""

from __future__ import annotations

import sys

from ambulo.common.errors import front_door
from ambulo.train.ik.command import COMMAND

main = front_door(COMMAND)

if __name__ == "__main__":
    sys.exit(main())
