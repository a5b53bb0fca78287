"""Train, resume and evaluate a policy that moves a simulated body."""

from __future__ import annotations

import sys

from ambulo.common.errors import front_door
from ambulo.train.locomotion.command import COMMAND

main = front_door(COMMAND)

if __name__ == "__main__":
    sys.exit(main())
