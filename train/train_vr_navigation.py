"""Train, resume and evaluate a VR-navigation agent."""

from __future__ import annotations

import sys

from ambulo.train.vr.command import COMMAND

main = COMMAND.main

if __name__ == "__main__":
    sys.exit(main())
