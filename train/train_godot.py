"""Train, resume and evaluate the agents of a Godot game."""

from __future__ import annotations

import sys

from ambulo.train.godot.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
