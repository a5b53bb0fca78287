"""The people of training, validation and test of body trackers; no person is in two."""

from __future__ import annotations

import numpy as np

from ambulo.configs.body_tracker import TrackerDataConfig
from ambulo.configs.errors import IKError
from ambulo.ik.data.sequences import SequenceData

MIN_PEOPLE = 3
"""Fewer people cannot be parted into training, validation and test."""


def split_people(
    data: SequenceData, config: TrackerDataConfig
) -> dict[str, tuple[str, ...]]:
    """People of `train`, `validation` and `test`, sorted.

    Raises:
        IKError: A chosen person is not in the data or in two parts, or there are too few.
    """
    people = data.subjects
    chosen = {"test": config.test_subjects, "validation": config.validation_subjects}
    for name, subjects in chosen.items():
        unknown = sorted(set(subjects) - set(people))
        if unknown:
            raise IKError(f"{name} subjects: no sequences of {unknown[0]!r}")
    twice = sorted(set(config.test_subjects) & set(config.validation_subjects))
    if twice:
        raise IKError(f"subject {twice[0]!r} cannot be validation and test")
    if len(people) < MIN_PEOPLE:
        raise IKError(f"{len(people)} people: give at least {MIN_PEOPLE}")
    rng = np.random.default_rng(config.seed)
    taken = {*config.test_subjects, *config.validation_subjects}
    rest = [
        str(name) for name in rng.permutation([p for p in people if p not in taken])
    ]
    ratios = {"test": config.test_ratio, "validation": config.validation_ratio}
    parts: dict[str, tuple[str, ...]] = {}
    for name, subjects in chosen.items():
        count = 0 if subjects else max(round(ratios[name] * len(people)), 1)
        drawn, rest = rest[:count], rest[count:]
        parts[name] = tuple(sorted((*subjects, *drawn)))
    if config.people:
        rest = rest[: config.people]
    if not rest:
        raise IKError("no people are left for training")
    return {"train": tuple(sorted(rest)), **parts}
