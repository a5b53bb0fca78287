"""The split of poses by people, or by recordings where there are too few of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ambulo.configs.errors import IKError
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.data.pose_data import PoseData
from ambulo.motion.datasets.clips import Clip
from ambulo.motion.datasets.splits import PARTS, make_split


def parts_are_people(data: PoseData, config: IKRunConfig) -> bool:
    """Whether `split_poses` splits by people, not by recordings.

    It does, unless there are fewer people than parts and none was chosen.
    """
    wanted = config.dataset
    chosen = wanted.test_subjects or wanted.validation_subjects
    people = {record.subject for record in data.header.clips}
    return bool(chosen) or len(people) >= len(PARTS)


def split_poses(data: PoseData, config: IKRunConfig) -> dict[str, PoseData]:
    """The poses of each of `PARTS`; no person (or no recording) is in two of them.

    See `parts_are_people`.
    """
    clips = [
        Clip(Path(record.name), record.subject, record.name, record.activity)
        for record in data.header.clips
    ]
    wanted = config.dataset
    if not parts_are_people(data, config):
        if len(clips) < len(PARTS):
            raise IKError(
                f"{len(clips)} clips of {len({clip.subject for clip in clips})} people: "
                "give at least three people, or three clips"
            )
        split = make_split(
            [replace(clip, activity="any") for clip in clips], "activity",
            wanted.test_ratio, wanted.seed, validation_ratio=wanted.validation_ratio,
        )  # fmt: skip
        return {
            name: data.of_clips([clip.trial for clip in split.part(name)])
            for name in PARTS
        }
    chosen = set(wanted.validation_subjects)
    unknown = sorted(chosen - {clip.subject for clip in clips})
    if unknown:
        raise IKError(f"no subject {unknown[0]!r} to validate with")
    twice = sorted(chosen & set(wanted.test_subjects))
    if twice:
        raise IKError(f"subject {twice[0]!r} cannot be validation and test")
    split = make_split(
        [clip for clip in clips if clip.subject not in chosen], "subject",
        wanted.test_ratio, wanted.seed, wanted.test_subjects,
        validation_ratio=0.0 if chosen else wanted.validation_ratio,
    )  # fmt: skip
    parts = {name: [clip.trial for clip in split.part(name)] for name in PARTS}
    if chosen:
        parts["validation"] = [clip.trial for clip in clips if clip.subject in chosen]
    return {name: data.of_clips(trials) for name, trials in parts.items()}
