"""Train, resume and evaluate a policy that moves a simulated body."""

from __future__ import annotations

import sys

from ambulo.train.locomotion.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
