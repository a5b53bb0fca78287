"""Train a network from torques to muscle activations (MuscleNN)."""

from __future__ import annotations

import sys

from ambulo.train.muscle.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
