"""Train a network that predicts how a body continues to move (MotionNN)."""

from __future__ import annotations

import sys

from ambulo.common.errors import front_door
from ambulo.train.motion.command import COMMAND

main = front_door(COMMAND)

if __name__ == "__main__":
    sys.exit(main())
