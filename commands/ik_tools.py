"""`ambulo ik`: training data of inverse kinematics."""

from __future__ import annotations

from ambulo.commands.ik import extract, sequences
from ambulo.common.actions import ActionCommand

main = ActionCommand(
    "ambulo ik",
    "Prepare neural inverse kinematics.",
    {"extract": extract, "sequences": sequences},
    "`ambulo train ik` trains on what `ambulo ik extract` writes, `ambulo train trackers` "
    "on what `ambulo ik sequences` writes.",
)
