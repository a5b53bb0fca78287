"""The published jobs: what they mean, what they answer, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from fixtures.ik_networks import RIG, published_header, published_tensors, random_poses

from ambulo.configs.errors import ModelFileError
from ambulo.ik.pool.jobs import job_row, run_job
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.pose import Pose
from ambulo.ik.rig import EFFECTORS, TARGETS
from ambulo.ik.solver.network import IKNetwork
from ambulo.ik.solver.published import Context, published_input
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_multiply,
    quat_rotate,
)

pytestmark = pytest.mark.integration


def job_of(pose: Pose) -> dict[str, object]:
    """The published input of a pose, from the joints' own places and turns."""
    targets = Targets.of_pose(RIG, pose)
    away = quat_multiply(targets.rotations[0], quat_conjugate(RIG.target_rest))
    return {
        "effector_positions": dict(
            zip(EFFECTORS, targets.positions[0, :5], strict=True)
        ),
        "effector_rotations": dict(
            zip(EFFECTORS, targets.rotations[0, :5], strict=True)
        ),
        "root_position": targets.positions[0, 5],
        "root_forward": quat_rotate(away[5], np.array([1.0, 0.0, 0.0])),
        "root_up": quat_rotate(away[5], np.array([0.0, 0.0, 1.0])),
        "ground_height": 0.0,
        "motion_phase": 0.25,
        "task_type": "reach",
    }


def test_published_job_means_the_pose_that_it_was_made_of() -> None:
    """Defect 1: hips axes of the wrong pose, rotations as zeros."""
    pose = random_poses(1, 4)
    given, wanted = job_row(RIG, job_of(pose), 0)[0], Targets.of_pose(RIG, pose)
    np.testing.assert_allclose(given.positions, wanted.positions, atol=1e-12)
    dots = np.abs(np.sum(given.rotations * wanted.rotations, axis=-1))
    np.testing.assert_allclose(dots, 1.0, atol=1e-12)
    np.testing.assert_array_equal(given.rotation_weights, 1.0)


def test_the_keys_of_the_reference_mean_the_same() -> None:
    data = job_of(random_poses(1, 4))
    places = data.pop("effector_positions")
    plain = data | {"effector_positions": places, "contact_left": 1, "contact_right": 0}
    rows = [places[name] for name in TARGETS[:5]]
    for given in (rows, np.array(rows), dict(places)):
        asked = data | {"effector_targets": given, "contact_flags": [True, False]}
        ours, context = job_row(RIG, plain, 0)
        theirs, same = job_row(RIG, asked, 0)
        np.testing.assert_array_equal(theirs.positions, ours.positions)
        np.testing.assert_array_equal(theirs.position_weights, ours.position_weights)
        np.testing.assert_array_equal(same, context)


def test_published_euler_angles_are_x_then_y_then_z() -> None:
    """(90, 0, 90) degrees: X up to Z's place first, so Y goes to Z, then X to Y."""
    data = {
        "effector_positions": {"Head": (0, 0, 1.6)},
        "effector_rotations": {"Head": (0.5 * np.pi, 0.0, 0.5 * np.pi)},
    }
    turn = job_row(RIG, data, 0)[0].rotations[0, TARGETS.index("Head")]
    np.testing.assert_allclose(
        quat_rotate(turn, np.array([0.0, 1.0, 0.0])), [0, 0, 1], atol=1e-12
    )
    np.testing.assert_allclose(
        quat_rotate(turn, np.array([1.0, 0.0, 0.0])), [0, 1, 0], atol=1e-12
    )


def test_published_jobs(pool: NeuralIKPool) -> None:
    weights = published_tensors(scale=0.1)
    answer = run_job(pool, "CACHE_NEURAL_IK", {"weights": weights})
    assert answer == {"success": True, "param_count": 120_645}
    pose = random_poses(1, 5)
    data = job_of(pose)
    one = run_job(pool, "NEURAL_IK_SOLVE", data)
    assert one["success"]
    assert one["bone_rotations"].shape == (23, 4)
    np.testing.assert_allclose(np.linalg.norm(one["bone_rotations"], axis=1), 1.0)
    assert one["axis_angles"].shape == (23, 3)
    targets = Targets.of_pose(RIG, pose)
    context = Context.level(targets, "reach", 0.25)
    given = published_input(RIG, targets, context)[0]
    raw = one["input_raw"].copy()
    raw[:30].reshape(5, 6)[:, 3:] /= np.pi
    raw[[36, 42]] /= 2.0
    np.testing.assert_allclose(raw, given, atol=1e-6)
    output = IKNetwork(published_header(), weights, rig=RIG).forward(given[None])
    assert one["output_range"] == pytest.approx((output.min(), output.max()))
    assert one["normalized_range"] == pytest.approx((given.min(), given.max()))
    np.testing.assert_allclose(one["effector_rel_pos"]["Head"], given[24:27], atol=1e-6)
    assert 0.0 < one["inference_us"] <= one["total_us"]
    # All characters of a frame in one job; partial targets do without that network.
    jobs = sum(stats.jobs for stats in pool.stats())
    hand = {"effector_positions": {"LeftHand": (0.3, 0.4, 1.2)}}
    many = run_job(pool, "NEURAL_IK_SOLVE", {"characters": [data, hand]})
    assert many["success"]
    assert sum(stats.jobs for stats in pool.stats()) == jobs + 1
    assert many["characters"][1]["reached"]["LeftHand"]
    assert "input_raw" not in many["characters"][1]


BAD_WEIGHTS = ([1, 2], {f"W{k}": [0.0] for k in range(8)}, dict.fromkeys("abc", "text"))
NO_PLACES: dict[str, object] = {"effector_positions": {}}
NO_TARGETS: dict[str, object] = {"effector_targets": {}}


@pytest.mark.parametrize(
    ("kind", "data", "rule"),
    [
        ("NEURAL_IK", {}, "did you mean"),
        ("CACHE_NEURAL_IK", {"weights": BAD_WEIGHTS[0]}, "must map"),
        ("CACHE_NEURAL_IK", {"weights": BAD_WEIGHTS[1]}, "W0"),
        ("CACHE_NEURAL_IK", {"weights": BAD_WEIGHTS[2]}, "CACHE_NEURAL_IK"),
        *(
            ("NEURAL_IK_SOLVE", data, rule)
            for data, rule in (
                ({"effector_position": {}}, "did you mean"),
                ({"effector_positions": {"Tail": (0, 0, 0)}}, "Tail"),
                ({"effector_positions": {"Head": (0, 0)}}, "3 finite"),
                ({"effector_targets": [[0, 0, 1]]}, "shape (5, 3)"),
                (NO_TARGETS | NO_PLACES, "give one"),
                (NO_TARGETS | {"contact_flags": [1]}, "contact_flags: expected 2"),
                (NO_TARGETS | {"contact_flags": [1, 0], "contact_left": 1}, "give one"),
                ({"characters": []}, "not empty"),
                ({"characters": [3]}, "NEURAL_IK_SOLVE"),
                (NO_PLACES | {"root_forward": (0, 0, 1)}, "parallel"),
            )
        ),
    ],
)
def test_published_jobs_answer_wrong_input(
    pool: NeuralIKPool, kind: str, data: dict[str, object], rule: str
) -> None:
    answer = run_job(pool, kind, data)
    assert answer["success"] is False
    assert rule in answer["error"]


def test_damaged_weights_are_refused_before_they_are_sent(pool: NeuralIKPool) -> None:
    weights = published_tensors(scale=0.1)
    weights["W1"] = weights["W1"] * np.float32(np.nan)
    with pytest.raises(ModelFileError, match="not finite"):
        pool.cache_tensors(published_header(), weights)
