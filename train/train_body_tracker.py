"""Train a network from headset, controllers and further trackers to a whole body."""

from __future__ import annotations

import sys

from ambulo.train.trackers.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
