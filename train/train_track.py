"""Train, resume and evaluate one policy that tracks many clips."""

from __future__ import annotations

import sys

from ambulo.train.locomotion.track_command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
