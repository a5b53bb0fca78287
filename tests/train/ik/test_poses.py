"""Splits, masks and batches; the root frame is one and the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ambulo.configs.errors import IKError, MotionError
from ambulo.configs.neural_ik import IKRunConfig
from ambulo.ik.data.pose_data import PoseData, mirrored
from ambulo.ik.data.pose_splits import parts_are_people, split_poses
from ambulo.ik.pose import Pose, fk, turned
from ambulo.ik.rig import TARGETS, Rig
from ambulo.ik.solver.features import network_input, pose_from_frame, root_frame
from ambulo.ik.solver.published import published_input
from ambulo.ik.solver.targets import Targets
from ambulo.train.ik.kinematics import Kinematics, matrices_of_sixd
from ambulo.train.ik.poses import (
    PoseBatch,
    Poses,
    draw_masks,
)

Make = Callable[..., PoseData]


def test_no_person_is_in_two_parts(make: Make) -> None:
    data = make(people=8)
    parts = split_poses(data, IKRunConfig())
    people = [set(part.subjects.tolist()) for part in parts.values()]
    assert sum(map(len, people)) == len(set.union(*people)) == 8
    assert sum(map(len, parts.values())) == len(data)
    chosen = IKRunConfig.model_validate({"dataset": {"test_subjects": ["03"]}})
    assert set(split_poses(data, chosen)["test"].subjects.tolist()) == {"03"}
    unknown = IKRunConfig.model_validate({"dataset": {"test_subjects": ["99"]}})
    with pytest.raises(MotionError, match="no subject '99'"):
        split_poses(data, unknown)


def of_two_people(data: PoseData) -> PoseData:
    """`data` with the clips given to two people in turn."""
    clips = tuple(
        clip.model_copy(update={"subject": f"0{1 + row % 2}"})
        for row, clip in enumerate(data.header.clips)
    )
    return replace(data, header=data.header.model_copy(update={"clips": clips}))


def test_recordings_are_parted_where_there_are_two_people(make: Make) -> None:
    data, config = of_two_people(make(people=6)), IKRunConfig()
    assert not parts_are_people(data, config)
    names = [set(part.clip_names()) for part in split_poses(data, config).values()]
    assert all(names)
    assert sum(map(len, names)) == len(set.union(*names)) == 6
    assert parts_are_people(make(people=3), config)
    with pytest.raises(IKError, match="three people, or three clips"):
        split_poses(make(people=2), config)
    chosen = IKRunConfig.model_validate({"dataset": {"test_subjects": ["01"]}})
    with pytest.raises(MotionError, match="at least three people"):
        split_poses(data, chosen)


def test_people_of_the_validation_can_be_chosen(make: Make) -> None:
    data = make(people=6)

    def parted(**people: list[str]) -> dict[str, set[str]]:
        config = IKRunConfig.model_validate({"dataset": people})
        parts = split_poses(data, config)
        return {name: set(part.subjects.tolist()) for name, part in parts.items()}

    chosen = parted(test_subjects=["02"], validation_subjects=["04", "05"])
    assert chosen == {
        "train": {"01", "03", "06"}, "validation": {"04", "05"}, "test": {"02"},
    }  # fmt: skip
    with pytest.raises(IKError, match="no subject '77'"):
        parted(validation_subjects=["77"])
    with pytest.raises(IKError, match="'02' cannot be validation and test"):
        parted(test_subjects=["02"], validation_subjects=["02"])


def test_shares_of_masks() -> None:
    config = IKRunConfig.model_validate(
        {"masks": {"all": 1, "effectors": 1, "trackers": 2, "any": 0}}
    )
    moved, turned_ = draw_masks(np.random.default_rng(0), config, 4000)
    assert (moved == turned_).all()
    sets = {tuple(row) for row in moved.astype(int).tolist()}
    assert sets == {(1, 1, 1, 1, 1, 1), (1, 1, 1, 1, 1, 0), (1, 1, 0, 0, 1, 0)}
    trackers = (moved.sum(axis=1) == 3).mean()
    assert trackers == pytest.approx(0.5, abs=0.03)


def test_random_masks_have_something_and_soft_weights() -> None:
    config = IKRunConfig.model_validate(
        {"masks": {"all": 0, "effectors": 0, "trackers": 0, "any": 1, "soft": 0.5}}
    )
    moved, turned_ = draw_masks(np.random.default_rng(0), config, 2000)
    assert (moved > 0.0).any(axis=1).all()
    assert (turned_ <= moved).all()
    assert ((moved > 0.0) & (moved < 1.0)).any()
    assert len({tuple(row) for row in (moved > 0).tolist()}) > 40


def test_pairs_are_consecutive_and_see_the_same(make: Make, rig: Rig) -> None:
    config = IKRunConfig()
    poses = Poses(make(), rig, config, mirror=True)
    assert len(poses) == 2 * 360
    after = poses.successors
    assert (after[np.arange(59)] == np.arange(1, 60)).all()
    assert after[59] == -1  # the clip ends
    assert after[360] == 361  # the mirrored twin follows its own
    batch = poses.draw(np.random.default_rng(1), 64)
    weights = batch.position_weights[:, : 2 * batch.pairs]
    assert (weights[:, ::2] == weights[:, 1::2]).all()
    way = (
        batch.positions[..., 1 : 2 * batch.pairs : 2]
        - batch.positions[..., : 2 * batch.pairs : 2]
    )
    assert float(way.abs().max()) < 0.25  # a thirtieth of a second apart


@pytest.mark.parametrize("kind", ["own", "published"])
def test_training_and_run_time_see_one_frame(make: Make, rig: Rig, kind: str) -> None:
    config = IKRunConfig.model_validate({"network": {"kind": kind}})
    poses = Poses(make(), rig, config, mirror=False)
    rows = np.arange(0, 360, 40)
    pose = poses.pose(rows)
    ones = np.ones((len(rows), 6))
    trained = poses.batch(rows, pose, ones, ones).inputs.numpy()
    targets = Targets.of_pose(rig, pose)
    context = poses.context(rows)
    live = (
        network_input(rig, targets)
        if kind == "own"
        else published_input(rig, targets, context)
    )
    assert np.array_equal(trained, live)
    # The whole world moved and turned: nothing changes.
    turn = np.full(len(rows), 2.0)
    elsewhere = pose_from_frame(
        rig, pose, (np.tile([3.0, -1.0, 0.0], (len(rows), 1)), turn)
    )
    moved = Targets.of_pose(rig, elsewhere)
    again = (
        network_input(rig, moved)
        if kind == "own"
        else published_input(rig, moved, context)
    )
    assert np.abs(again - live).max() < 1e-6


def test_answers_lead_back_to_the_world(make: Make, rig: Rig) -> None:
    poses = Poses(make(), rig, IKRunConfig(), mirror=False)
    rows = np.arange(5)
    batch = poses.batch(rows, poses.pose(rows), np.ones((5, 6)), np.ones((5, 6)))
    frame = root_frame(rig, poses.targets(rows, TARGETS))
    local = poses.rotations[rows].copy()
    local[:, 0] = turned(rig, local[:, 0], -frame[1])
    own = Pose(batch.root.numpy().T.astype(np.float64), local)
    world = fk(rig, pose_from_frame(rig, own, frame))[0]
    assert np.abs(world - fk(rig, poses.pose(rows))[0]).max() < 1e-6


def test_mirrored_arms_change_sides(make: Make, rig: Rig) -> None:
    data = make(people=2)
    twin = mirrored(data, rig)
    left, right = rig.effectors[0], rig.effectors[1]
    here, there = fk(rig, data.pose)[0], fk(rig, twin.pose)[0]
    assert np.abs(here[:, left] * [1, -1, 1] - there[:, right]).max() < 1e-5
    assert (twin.contacts[:, 0] == data.contacts[:, 1]).all()


STILL = {"jitter": 0.0, "mix": 0.0, "blend": 0.0}


def drawn(data: PoseData, rig: Rig, dataset: dict[str, float], mask: str) -> PoseBatch:
    masks = dict.fromkeys(("all", "effectors", "trackers", "any"), 0) | {mask: 1}
    config = IKRunConfig.model_validate(
        {"dataset": dataset, "masks": masks, "training": {"pairs": 0.5}}
    )
    return Poses(data, rig, config, mirror=False).draw(np.random.default_rng(2), 64)


def test_only_limbs_with_targets_are_mixed(make: Make, rig: Rig) -> None:
    data = make()
    plain = drawn(data, rig, STILL, "trackers")
    mixed = drawn(data, rig, STILL | {"mix": 1.0}, "trackers")
    far = (plain.outputs - mixed.outputs)[:, 3:].reshape(64, len(rig), 6).abs().amax(-1)
    assert plain.pairs == 16
    assert float(far[:32].max()) == 0.0  # consecutive frames stay what they were
    hand, foot, spine = rig.effectors[0], rig.effectors[2], 1
    assert (far[32:, hand] > 1e-3).float().mean() > 0.9
    assert float(far[:, [foot, spine]].max()) == 0.0
    assert (plain.contacts == mixed.contacts).all()
    legs = drawn(data, rig, STILL | {"mix": 1.0}, "all")
    assert (
        float(legs.contacts[:, 32:].max()) == 0.0
    )  # whoever's legs: they do not stand


def test_poses_as_captured(make: Make, rig: Rig) -> None:
    config = IKRunConfig.model_validate({"dataset": {"mix": 1.0, "noise": 0.1}})
    poses = Poses(make(), rig, config, mirror=False)
    plain = poses.draw(np.random.default_rng(2), 64, varied=False)
    config = IKRunConfig.model_validate({"dataset": STILL})
    wanted = Poses(make(), rig, config, mirror=False).draw(np.random.default_rng(2), 64)
    assert (plain.inputs == wanted.inputs).all()
    assert (plain.outputs == wanted.outputs).all()


def test_jitter_stays_inside_the_limits(make: Make, rig: Rig) -> None:
    data = make()
    shaken = STILL | {"jitter": 1.0, "jitter_share": 1.0}
    batch = drawn(data, rig, shaken, "effectors")
    plain = drawn(data, rig, STILL, "effectors")
    assert float((batch.outputs - plain.outputs).abs().mean(1)[32:].min()) > 1e-3
    local = matrices_of_sixd(batch.outputs[:, 3:].T.reshape(len(rig), 6, 64))
    assert float(Kinematics(rig).violation(local)[:, 1:].max()) < 1e-2
    trackers = drawn(data, rig, shaken, "trackers")
    still = drawn(data, rig, STILL, "trackers")
    assert (
        trackers.outputs == still.outputs
    ).all()  # legs are not told: nothing changes


def test_blends_lie_between_two_poses(make: Make, rig: Rig) -> None:
    data = make()
    plain = drawn(data, rig, STILL, "all")
    blended = drawn(data, rig, STILL | {"blend": 1.0}, "all")
    far = (plain.outputs - blended.outputs).reshape(64, -1).abs()
    assert float(far[:32].max()) == 0.0  # consecutive frames stay what they were
    assert (far[32:, 9:].amax(1) > 1e-2).float().mean() > 0.9
    assert float(far[:, 3:9].max()) < 1e-6  # the hips keep their turn
    heights = data.root[:, 2]
    assert float(blended.root[2].min()) >= heights.min() - 1e-6
    assert float(blended.root[2].max()) <= heights.max() + 1e-6
    assert float(far[32:, 2].max()) > 1e-3
    assert float(blended.contacts[:, 32:].max()) == 0.0


def test_people_with_few_poses_count_more(make: Make, rig: Rig) -> None:
    data = make(people=2, frames=100)
    data = data[np.arange(len(data)) < 125]  # 100 and 25
    counts = {}
    for balance in (0.0, 0.5, 1.0):
        config = IKRunConfig.model_validate(
            {"dataset": STILL | {"balance": balance}, "loss": {"smoothness": 0}}
        )
        poses = Poses(data, rig, config, mirror=False)
        rows = poses.drawn(np.random.default_rng(0), 4000)
        counts[balance] = (rows >= 100).mean()
    assert counts[0.0] == pytest.approx(0.2, abs=0.02)
    assert counts[0.5] == pytest.approx(1.0 / 3.0, abs=0.02)
    assert counts[1.0] == pytest.approx(0.5, abs=0.02)
