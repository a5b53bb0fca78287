"""Make configs/gaits/healthy_walk.json: `python tools/make_healthy_walk.py 02_01.amc`."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from ambulo.envs.characters.character import human23
from ambulo.envs.reference.cycles.captured import captured_cycle
from ambulo.motion.gaits.cycle import Cycle
from ambulo.motion.gaits.healthy_walk import walk_data
from ambulo.motion.gaits.soles import flat_soles, grounded, no_slip
from ambulo.motion.rotations import quat_normalize

SOURCE = (
    "CMU motion capture, clip 02_01 (mocap.cs.cmu.edu), retargeted to human23; its best cycle, "
    "averaged with its mirror image, on the ground; made by tools/make_healthy_walk.py"
)
TARGET = Path(__file__).parent.parent / "configs" / "gaits" / "healthy_walk.json"


def main(clip: str, out: str | Path = TARGET) -> None:
    """Write `out` from a captured walk."""
    body = human23()
    raw = captured_cycle(clip, body.skeleton).cycle
    cycle, _ = flat_soles(symmetric(raw), body.soles)
    cycle, _ = no_slip(cycle, body.soles)
    text = walk_data(grounded(cycle, body.soles), SOURCE)
    Path(out).write_text(text, encoding="utf-8")


def symmetric(cycle: Cycle) -> Cycle:
    """The mean of a human23 cycle and its mirror image half a cycle later."""
    names = cycle.skeleton.joints
    swap = {"L": "R", "R": "L"}
    other = [
        names.index(twin) if (twin := n[:-1] + swap.get(n[-1], "")) in names else i
        for i, n in enumerate(names)
    ]
    half = len(cycle) // 2
    root = cycle.root_positions - cycle.progress
    root = root - [0.0, root[:, 1].mean(), 0.0]
    there = np.roll(root, half, axis=0) * [1.0, -1.0, 1.0]
    # Mirrored at y = 0, a rotation keeps its w and y.
    mirror = np.array([1.0, -1.0, 1.0, -1.0])
    turned = np.roll(cycle.rotations, half, axis=0)[:, other] * mirror
    sign = np.sign((turned * cycle.rotations).sum(axis=-1, keepdims=True))
    turned = cycle.rotations + np.where(sign < 0, -1.0, 1.0) * turned
    return replace(
        cycle,
        root_positions=0.5 * (root + there) + cycle.progress,
        rotations=quat_normalize(turned),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
