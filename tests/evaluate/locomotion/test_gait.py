"""Gait cycles, published curves and scores, on numbers made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ambulo.evaluate.locomotion.gait_cycle import (
    JOINTS,
    PERCENT,
    Band,
    gait_norms,
    likeness,
    over_cycle,
    strides_of,
    symmetry_index,
)
from ambulo.evaluate.locomotion.gait_summary import gait_of
from ambulo.evaluate.locomotion.pushes import PushRecovery
from ambulo.evaluate.locomotion.recording import Recording, joined
from ambulo.evaluate.locomotion.scores import (
    TABLE,
    agent_metrics,
    breakdowns,
    details,
    score,
)
from ambulo.evaluate.shared.result import ModelEvaluation

DT = 0.1
UP, DOWN = 0.025, -0.015  # the contact height of 5 mm is half-way between


def walking(first: int, count: int = 41) -> np.ndarray[Any, Any]:
    """Heights of a foot that stands for 6 and swings for 4 samples, over and over."""
    return np.where((np.arange(count) - first) % 10 < 6, DOWN, UP)


def recording(**changes: Any) -> Recording:
    """Two bodies of two joints; the first walks for 4 s at 1.2 m/s, the second falls."""
    steps, bodies = 41, 2
    one = np.ones((steps, bodies))
    standing = np.ones((steps, bodies), np.bool_)
    standing[10:, 1] = False
    lowest = np.zeros((steps, bodies, 2), np.float32)
    lowest[:, :, 0] = walking(0)[:, None]
    lowest[:, :, 1] = walking(5)[:, None]
    force = np.zeros((steps, bodies, 2))
    force[lowest < 0.0] = 700.0
    made = Recording(
        dt=DT,
        weight=700.0,
        joints=("hip", "toe"),
        legs=(0,),
        standing=standing,
        played=standing | (np.arange(steps)[:, None] == 10),
        succeeded=np.zeros(bodies, np.bool_),
        fell=np.array([False, True]),
        fault=np.zeros(bodies, np.int64),
        reward=one.copy(),
        velocity=np.stack([1.2 * one, 0.0 * one], axis=-1),
        turn=0.0 * one,
        yaw=np.deg2rad(3.0) * one,
        wanted=np.stack([1.0 * one, 0.0 * one], axis=-1),
        moved=0.12 * one,
        power=420.0 * one,
        metabolic=420.0 * one,
        action=0.25 * one,
        joint_error=np.full((steps, bodies, 2), np.deg2rad(2.0), np.float32),
        place_error=np.full((steps, bodies, 2), 0.03, np.float32),
        root_error=0.05 * one,
        angles=np.full((steps, bodies, 2, 3), np.deg2rad(10.0), np.float32),
        lowest=lowest,
        slip=0.2 * one,
        slip_parts=np.full((steps, bodies), 4),
        torque_error=8.0 * one,
        torque_best=2.0 * one,
        torque=200.0 * one,
        torques=2,
        watched=np.arange(bodies),
        force=force,
        poses=np.zeros((steps, bodies, 7)),
    )
    return replace(made, **changes)


def plain(played: Recording) -> dict[str, Any]:
    """The scores of a recording as an evaluation writes them."""
    scores = {"policy": score(played)}
    return ModelEvaluation(
        "model", "locomotion", played.episodes, 0, "", "",
        {"policy": agent_metrics(scores["policy"], None)}, TABLE,
        breakdowns=breakdowns(scores, {}, {}), details=details(scores, {}),
    ).to_dict()  # fmt: skip


def test_strides_are_found_between_samples() -> None:
    strides = strides_of(walking(0), DT)
    # Up from 6 to 9, 16 to 19, ...: the ground is left and met half a sample before.
    np.testing.assert_allclose(strides.start, [0.95, 1.95, 2.95])
    np.testing.assert_allclose(strides.lift, [1.55, 2.55, 3.55])
    np.testing.assert_allclose(strides.duration, 1.0)
    np.testing.assert_allclose(strides.stance, 0.6)
    assert len(strides_of(walking(0), DT, after=1.0)) == 2


def test_a_short_lift_is_no_step() -> None:
    heights = np.full(41, DOWN)
    heights[10] = UP
    heights[20] = UP
    assert len(strides_of(heights, DT)) == 0
    assert len(strides_of(np.full(41, UP), DT)) == 0


def test_curves_run_from_strike_to_strike() -> None:
    strides = strides_of(walking(0), DT)
    curves = over_cycle(np.arange(41.0), DT, strides)
    assert curves.shape == (3, 101)
    np.testing.assert_allclose(curves[0], 9.5 + 0.1 * PERCENT)


def test_likeness_tells_offset_from_shape() -> None:
    band = Band(np.array([0.0, 100.0]), np.array([10.0, 10.0]), np.array([1.0, 1.0]))
    row = likeness(np.full(101, 13.0), band)
    assert (row.rms, row.offset, row.rms_shape) == (3.0, 3.0, 0.0)
    assert (row.inside, row.inside_shape, row.range) == (0.0, 1.0, 0.0)
    wave = 10.0 + 4.0 * np.sin(2.0 * np.pi * np.arange(101) / 101.0)
    row = likeness(wave, band)
    assert row.rms_shape == pytest.approx(4.0 / math.sqrt(2.0))
    assert 0.2 < row.inside < 0.5


def test_symmetry_index() -> None:
    assert symmetry_index(2.0, 2.0) == 1.0
    assert symmetry_index(1.1, 0.9) == pytest.approx(0.8)
    assert symmetry_index(3.0, 1.0) == 0.0
    assert symmetry_index(5.0, 1.0) == 0.0
    assert symmetry_index(0.0, 0.0) == 0.0


def test_norms_are_whole_and_plausible() -> None:
    norms = gait_norms()
    for joint in JOINTS:
        band = norms.angles[joint]
        assert band.percent[[0, -1]].tolist() == [0.0, 100.0]
        assert len(band.percent) == len(band.mean) == len(band.sd)
        assert (band.sd > 0.0).all()
        assert abs(band.mean[0] - band.mean[-1]) < 1.0  # a cycle closes
    knee = norms.angles["knee"]
    assert knee.percent[np.argmax(knee.mean)] == 72.0
    assert "Schwartz" in norms.angle_source
    assert "Perry" in norms.force_source
    assert len(norms.force) == len(norms.force_percent) == len(norms.force_names)


def test_scores_by_hand() -> None:
    s = {name: m.value for name, m in score(recording()).metrics.items()}
    assert (s["survival_rate"], s["falls"], s["faults"]) == (0.5, 1, 0)
    assert s["survival_s"] == pytest.approx((4.1 + 1.0) / 2)
    assert s["joint_error_deg"] == pytest.approx(2.0)
    assert s["joint_error_cm"] == pytest.approx(3.0)
    assert s["root_error_cm"] == pytest.approx(5.0)
    assert s["speed"] == pytest.approx(1.2)
    assert s["speed_error"] == pytest.approx(0.2)
    assert s["heading_error"] == pytest.approx(3.0)
    # 420 W for 0.1 s over 700 N and 0.12 m.
    assert s["cost_of_transport"] == pytest.approx(42.0 / 84.0)
    assert s["metabolic_cost_of_transport"] == pytest.approx(9.81 * 42.0 / 84.0)
    assert s["foot_skate"] == pytest.approx(0.05)
    assert s["torque_residual"] == pytest.approx(2.0)
    assert s["torque_residual_best"] == pytest.approx(1.0)
    assert s["torque_rms"] == pytest.approx(10.0)
    assert s["action_rms"] == pytest.approx(0.5)
    # 41 steps, and 10 with the one that ended the fall.
    assert s["return_mean"] == pytest.approx((41 + 11) / 2)


def test_what_is_after_a_fall_does_not_count() -> None:
    base, spoiled = recording(), recording()
    for name in ("velocity", "power", "moved", "torque", "torque_error", "joint_error"):
        getattr(spoiled, name)[12:, 1] = 1e6
    assert plain(spoiled) == plain(base)


def test_gait_by_hand() -> None:
    gait = gait_of(recording())
    assert gait is not None
    # Left strikes at 0.95, 1.95, 2.95 s, right at 0.45, ...: from 1 s on two and three.
    assert gait.strides == 4
    assert gait.stride_time == pytest.approx(1.0)
    assert gait.cadence == pytest.approx(120.0)
    assert gait.stride_length == pytest.approx(1.2)
    assert gait.stance_share == pytest.approx(0.6)
    assert gait.symmetry == pytest.approx(1.0)
    np.testing.assert_allclose(gait.curves["knee"], 10.0, rtol=1e-6)
    assert gait.force[30] == pytest.approx(1.0)
    assert gait.force[80] == pytest.approx(0.0)
    told = gait.to_dict()["force_against_norm"]
    assert set(told) == set(gait_norms().force_names)
    valley = told["mid-stance valley"]
    assert valley == {"percent": 31.0, "force": pytest.approx(1.0), "normal": 0.8}


def test_a_limp_is_seen() -> None:
    heights = np.where(
        (np.arange(41) - 5) % 10 < 4, DOWN, UP
    )  # right: 0.4 of the cycle
    limping = recording()
    limping.lowest[:, :, 1] = heights[:, None]
    gait = gait_of(limping)
    assert gait is not None
    stance = symmetry_index(0.6, 0.4)
    assert gait.symmetry == pytest.approx((stance + 1.0 + 1.0) / 3)


def test_no_steps_no_gait_and_json_without_nan() -> None:
    still = recording(lowest=np.zeros((41, 2, 2), np.float32))
    scores = score(still)
    assert scores.gait is None
    told = plain(still)
    json.dumps(told, allow_nan=False)
    assert told["agents"]["policy"]["symmetry"]["value"] is None
    toe = told["groups"]["joint"]["toe"]["policy"]
    assert toe["position"]["value"] == pytest.approx(3.0)


def test_fallen_at_once() -> None:
    first = np.arange(41)[:, None] == np.zeros(2)
    fallen = recording(standing=first & False, played=first, fell=np.ones(2, np.bool_))
    told = plain(fallen)["agents"]["policy"]
    assert told["survival_rate"]["value"] == 0.0
    assert told["speed"]["value"] is None
    assert told["return_mean"]["value"] == pytest.approx(1.0)


def test_recordings_are_joined_along_bodies() -> None:
    both = joined([recording(), recording()])
    assert both.episodes == 4
    assert both.fell.tolist() == [False, True, False, True]
    assert both.angles.shape == (41, 4, 2, 3)
    assert both.force.shape == (41, 4, 2)
    assert both.watched.tolist() == [0, 1, 2, 3]
    assert score(both).metrics["survival_rate"].value == 0.5


def test_forces_of_joined_recordings_are_those_of_their_bodies() -> None:
    """Two parts; of each, only the first body's forces were kept."""
    first, second = recording(), recording()
    first.standing[:], second.standing[:] = True, True
    second.lowest[:, 0] = np.roll(second.lowest[:, 0], 3, axis=0)
    second.force[:, 0] = np.roll(second.force[:, 0], 3, axis=0)
    parts = [
        replace(
            part,
            watched=np.array([0]),
            force=part.force[:, :1],
            poses=part.poses[:, :1],
        )
        for part in (first, second)
    ]
    gait = gait_of(joined(parts))
    assert gait is not None
    # All stand for the first 60 % with their weight on the foot, whenever they strike.
    np.testing.assert_allclose(gait.force[10:50], 1.0)
    np.testing.assert_allclose(gait.force[70:95], 0.0, atol=1e-9)


def recovery(*survival: float) -> PushRecovery:
    impulses = tuple(10.0 * k for k in range(len(survival)))
    return PushRecovery(impulses, survival, ((0.0, 1.0),) * len(survival), 20, 80.0)


def test_impulse_that_most_survive() -> None:
    assert recovery(1.0, 1.0, 0.8, 0.0).impulse_90 == pytest.approx(15.0)
    assert recovery(1.0, 0.95).impulse_90 == 10.0
    assert recovery(0.5, 1.0).impulse_90 == 0.0
    told = recovery(1.0, 0.9, 0.7).to_dict()
    assert told["impulse_90"] == pytest.approx(10.0)
    assert told["impulse_90_per_kg"] == pytest.approx(0.125)
