"""`ambulo gait`: data, use and inverse of gait networks."""

from __future__ import annotations

from ambulo.commands.gait import (
    compose,
    estimate,
    extract_cycles,
    generate,
    reference,
    report,
    train_estimator,
)
from ambulo.common.actions import ActionCommand

main = ActionCommand(
    "ambulo gait",
    "Walks from gait parameters, and gait parameters from walks.",
    {
        "generate": generate,
        "reference": reference,
        "estimate": estimate,
        "report": report,
        "extract-cycles": extract_cycles,
        "train-estimator": train_estimator,
        "compose": compose,
    },
    "`ambulo train gait` trains the network that these use.",
)
