"""`ambulo ik`: training data of inverse kinematics."""

from __future__ import annotations

from ambulo.commands.ik import extract
from ambulo.common.actions import ActionCommand

main = ActionCommand(
    "ambulo ik",
    "Prepare neural inverse kinematics.",
    {"extract": extract},
    "`ambulo train ik` trains on what `ambulo ik extract` writes.",
)
