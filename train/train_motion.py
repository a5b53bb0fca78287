"""Train a network that predicts how a body continues to move (MotionNN)."""

from __future__ import annotations

import sys

from ambulo.train.motion.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
