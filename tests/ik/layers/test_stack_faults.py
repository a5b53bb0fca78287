"""Faulty providers, solvers and arguments do not stop a layer stack."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pytest
from fixtures.layers import (
    DT,
    RIG,
    STANDING,
    over,
    reaching,
    still,
    turned_at,
)

from ambulo.configs.errors import IKError
from ambulo.ik.layers.layer import LayerKind, PoseLayer, Provider, Tick, TimedAnswer
from ambulo.ik.layers.stack import LayerStack
from ambulo.ik.pose import Pose, start_pose
from ambulo.ik.solver.masks import bones, branch, checked
from ambulo.ik.solver.refine import Solution
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets


@pytest.mark.parametrize(
    ("provide", "reason"),
    [
        (lambda tick: None, "no answer"),
        (lambda tick: 1 / 0, "ZeroDivisionError"),
        (lambda tick: Pose(STANDING.root * np.nan, STANDING.rotations), "not finite"),
        (lambda tick: Pose(STANDING.root, STANDING.rotations * 2.0), "unit length"),
        (
            lambda tick: TimedAnswer(turned_at("Head", 0.4), tick.time - 1.0),
            "stale: more than",
        ),
        (lambda tick: TimedAnswer(turned_at("Head", 0.4), np.nan), "stale: more than"),
        (lambda tick: start_pose(RIG, np.zeros((3, 2))), "3 characters"),
        (lambda tick: Targets.of({"Head": (0, 0, 1.6)}), "does not fit"),
    ],
)
def test_provider_that_fails_leaves_the_base_and_a_reason(
    provide: Provider, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Defect 7: None was a layer left out in silence."""
    stack = LayerStack(RIG, still(STANDING))
    handle = stack.add(PoseLayer("wave", LayerKind.OVERRIDE, provide, fade_in=0.0), 0.0)
    with caplog.at_level(logging.WARNING):
        for k in range(5):
            frame = stack.tick(k * DT)
    np.testing.assert_array_equal(frame.pose.rotations, STANDING.rotations)
    assert reason in frame.trace.of("wave").reason
    assert reason in handle.reason
    assert [reason in record.getMessage() for record in caplog.records] == [True]


def test_base_that_fails_shows_the_last_good_pose() -> None:
    def provide(tick: Tick) -> Pose | None:
        return turned_at("Head", 0.2) if tick.number < 3 else None

    stack = LayerStack(RIG, provide)
    good = [stack.tick(k * DT) for k in range(2)][-1]
    bad = stack.tick(2 * DT)
    np.testing.assert_array_equal(bad.pose.rotations, good.pose.rotations)
    assert bad.trace.of("base").reason == "no answer"


def test_solver_that_fails_leaves_the_pose_below() -> None:
    def broken(targets: Targets, base: Pose) -> object:
        raise RuntimeError("no worker")

    stack = LayerStack(RIG, still(STANDING), solve=broken)  # type: ignore[arg-type]
    stack.add(
        PoseLayer("reach", LayerKind.IK, reaching((0.1, 0.0, 0.1)), fade_in=0.0), 0.0
    )
    frame = stack.tick(0.0)
    np.testing.assert_array_equal(frame.pose.rotations, STANDING.rotations)
    assert "no worker" in frame.trace.of("reach").reason


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Pose(STANDING.root, STANDING.rotations * np.nan), "not finite"),
        (Pose(STANDING.root, STANDING.rotations[:, :5]), "poses of shape"),
    ],
)
def test_nonsense_of_a_solver_leaves_the_layers_below(wrong: Pose, reason: str) -> None:
    """Not the base alone: the wave below the reach is still seen."""

    def nonsense(targets: Targets, base: Pose) -> Solution:
        return dataclasses.replace(NeuralIKSolver(RIG).solve(targets, base), pose=wrong)

    stack = LayerStack(RIG, still(STANDING), solve=nonsense)
    wave = turned_at("Head", 0.2)
    stack.add(PoseLayer("wave", LayerKind.OVERRIDE, still(wave), fade_in=0.0), 0.0)
    stack.add(
        PoseLayer("reach", LayerKind.IK, reaching((0.1, 0.0, 0.1)), fade_in=0.0), 0.0
    )
    frame = stack.tick(0.0)
    np.testing.assert_allclose(frame.pose.rotations, wave.rotations, atol=1e-12)
    assert reason in frame.trace.of("reach").reason
    assert frame.solution is None


def test_time_that_stands_still_is_refused() -> None:
    stack = LayerStack(RIG, still(STANDING))
    stack.tick(1.0)
    with pytest.raises(IKError, match="time must grow"):
        stack.tick(1.0)
    with pytest.raises(IKError, match="time must be finite"):
        stack.tick(np.nan)


def test_masks_are_checked() -> None:
    with pytest.raises(IKError, match="0 to 1"):
        bones(RIG, {"Head": 1.5})
    with pytest.raises(IKError, match="shape"):
        checked(RIG, np.ones(4))
    with pytest.raises(IKError, match="0 to 1"):
        over("x", STANDING, mask=np.full(len(RIG), 2.0))
    mask = branch(RIG, "Spine", ramp=2)
    assert mask[RIG.skeleton.index("Spine")] == 0.5
    assert mask[RIG.skeleton.index("Head")] == 1.0
    assert mask[RIG.skeleton.index("LeftFoot")] == 0.0


def test_two_layers_of_one_name_are_refused() -> None:
    stack = LayerStack(RIG, still(STANDING))
    stack.add(over("wave", STANDING), 0.0)
    with pytest.raises(IKError, match="already"):
        stack.add(over("wave", STANDING), 0.0)
