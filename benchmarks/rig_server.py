"""The live rig server: what it learns, what a frame costs, and what it survives.

Learning: walks are streamed once, frame by frame, as a game engine would send them; every
frame is predicted before it is learned from. Then other walks of the same person are
answered without learning. Beside it: the anatomy alone (bone lengths, mean pose and hinges
of the same stream, chains closed on the targets, no network).

Styles (`--parts styles --manifest FILE.csv`): gaits of a manifest of clips that are no plain
walk, 60 s of one person's kind of gait, then another recording of it.

Speed: eight clients at 120 Hz, each with its own model, on one core. `speed` measures it in
CPU time (frames arrive when the work's CPU time has reached their moment), so that
other jobs of the machine do not count; `speed_udp` in real time over sockets, with a server
process on core 0. Load: what a small client at 120 Hz gets beside 300 valid sources, large
rigs, free runs and clients that begin again. Faults: the same server under fuzzed datagrams,
loss, reordering, kill -9 and a full disk.

    python benchmarks/rig_server.py --data DIR --json docs/results/rig_server.json
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the server's command does

from _harness import Options, machine, write
from _rig_faults import faults
from _rig_learning import free_runs, learning
from _rig_load import load, load_udp
from _rig_speed import speed, speed_udp
from _rig_styles import styles


def main(argv: Sequence[str] | None = None) -> int:
    """Run the chosen parts; their numbers as text, and as JSON if asked."""
    parser = Options(__doc__, parts="learning,free,speed,faults", seconds=1.0)
    parser.add_mocap()
    parser.add_argument("--parts", default="learning,free,speed,speed_udp,faults")
    parser.add_argument("--seconds", type=float, default=30.0, help="of the speed part")
    parser.add_argument("--manifest", type=Path, help="of the clips of part styles")
    parser.add_argument("--only", default="", help="loads with this in their name")
    args = parser.read(argv)
    parts = {
        "learning": learning,
        "free": free_runs,
        "styles": styles,
        "speed": speed,
        "speed_udp": speed_udp,
        "faults": faults,
        "load": load,
        "load_udp": load_udp,
    }
    found: dict[str, Any] = {"machine": machine()}
    for name in args.parts.split(","):
        found[name] = parts[name](args)
    old = json.loads(args.json.read_text()) if args.json and args.json.is_file() else {}
    write(old, args, **found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
