"""Checkpoints of a training with several workers.

The learner and the first worker's environments are saved as those of a run without
workers; the environments of the other workers lie beside them, as `worker.<rank>.<name>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ambulo.policies.files.model_file import TrainingState
from ambulo.train.shared.optimizer_state import group

LEARNER = ("optimizer.", "random.")
"""Beginnings of the names of arrays that belong to the learner."""
PROGRESS = ("learner", "episodes", "successes", "extra")
"""Names of values that belong to the learner."""


def fresh_seed(seed: int, rank: int, timesteps: int) -> int:
    """Return the seed of environments that begin after `timesteps` with worker `rank`.

    The first worker of a new training has the training's own seed, so that one worker does
    what a run without workers does.
    """
    if rank == 0 and timesteps == 0:
        return seed
    words = np.random.SeedSequence([seed, rank, timesteps]).generate_state(1)
    return int(words[0] >> 1)


def number_of_workers(state: TrainingState) -> int:
    """Return how many workers a checkpoint is of; 1 without any."""
    return 1 + len(state.values.get("workers", ()))


def join(learner: TrainingState, workers: Sequence[TrainingState]) -> TrainingState:
    """Return the state of a checkpoint.

    Args:
        learner: state of the learner's process, whose environments do not count.
        workers: states of the workers, in order of rank.
    """
    first = workers[0]
    arrays = {k: a for k, a in first.arrays.items() if not k.startswith(LEARNER)}
    arrays |= {k: a for k, a in learner.arrays.items() if k.startswith(LEARNER)}
    values = first.values | {name: learner.values[name] for name in PROGRESS}
    generators = {"players": first.values["random"]["players"]}
    values["random"] = learner.values["random"] | generators
    # What tasks keep for themselves, such as the number of new levels.
    values["extra"] = first.values["extra"] | learner.values["extra"]
    others = workers[1:]
    for rank, state in enumerate(others, start=1):
        own = {k: a for k, a in state.arrays.items() if not k.startswith(LEARNER)}
        arrays |= {f"worker.{rank}.{name}": array for name, array in own.items()}
    if others:
        values["workers"] = [state.values for state in others]
    return TrainingState(arrays, values)


def split(state: TrainingState) -> list[TrainingState]:
    """Return the states of the workers of a checkpoint, in order of rank.

    Each can be restored by `RLTask.restore`: it has the learner's part too.
    """
    shared = {k: a for k, a in state.arrays.items() if k.startswith(LEARNER)}
    own = {k: a for k, a in state.arrays.items() if not k.startswith("worker.")}
    values: dict[str, Any] = dict(state.values)
    found = [TrainingState(own, values)]
    for rank, theirs in enumerate(values.pop("workers", ()), start=1):
        arrays = shared | group(state.arrays, f"worker.{rank}")
        found.append(TrainingState(arrays, theirs))
    return found
