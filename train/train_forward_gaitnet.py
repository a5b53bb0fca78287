"""Train a network from gait and body parameters to motion (Forward GaitNet)."""

from __future__ import annotations

import sys

from ambulo.common.errors import front_door
from ambulo.train.gait.command import COMMAND

main = front_door(COMMAND)

if __name__ == "__main__":
    sys.exit(main())
