"""Make configs/gaits/healthy_walk.json: `python tools/make_healthy_walk.py 02_01.amc`."""

import sys
from pathlib import Path

from ambulo.envs.characters.character import human23
from ambulo.envs.characters.myo_pose import symmetric
from ambulo.envs.reference.prepare import raw_cycle
from ambulo.motion.formats.files import read_motion
from ambulo.motion.gaits.healthy_walk import walk_data
from ambulo.motion.gaits.soles import flat_soles, grounded, no_slip
from ambulo.motion.retargeting.retarget import retarget

SOURCE = (
    "CMU motion capture, clip 02_01 (mocap.cs.cmu.edu), retargeted to human23; its best cycle, "
    "averaged with its mirror image, on the ground; made by tools/make_healthy_walk.py"
)
TARGET = Path(__file__).parent.parent / "configs" / "gaits" / "healthy_walk.json"


def main(clip: str, out: str | Path = TARGET) -> None:
    """Write `out` from a captured walk."""
    body = human23()
    raw = raw_cycle(retarget(read_motion(clip), body.skeleton).motion)
    cycle, _ = flat_soles(symmetric(raw), body.soles)
    cycle, _ = no_slip(cycle, body.soles)
    text = walk_data(grounded(cycle, body.soles), SOURCE)
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
