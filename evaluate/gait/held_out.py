"""The data of a gait network, split as in its training."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ambulo.configs.base import parse
from ambulo.configs.gait_net import GaitNetRunConfig
from ambulo.motion.gaits.gait_sets import GaitData, GaitSet, load_part, open_data
from ambulo.policies.kinds.gait_net import GaitNetMetadata


def data_of(metadata: GaitNetMetadata, places: Sequence[str]) -> GaitData:
    """Refined sequences, split as the network `metadata` was trained.

    A network that does not tell its training gets the default split.

    Raises:
        GaitDataError: No file, or other parameters than the network's.
    """
    logging.getLogger("ambulo.motion.gaits.shards").setLevel("ERROR")
    training = metadata.training.get("run", {})
    run = parse(GaitNetRunConfig, training, "training of the network")
    space = metadata.gait_space()
    return open_data(places, run.dataset, run.training.seed, space)


def held_out_gaits(data: GaitData, count: int) -> GaitSet:
    """Return at most `count` gaits of the test part, or of the validation part."""
    return load_part(data, "test" if data.count("test") else "validation", count)
