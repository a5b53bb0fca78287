"""Values that make no sense are refused in one line where they come in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.actions.action import Timing, acting
from ambulo.ik.actions.body import Crouch
from ambulo.ik.actions.gaze import LookAt
from ambulo.ik.actions.standing import standing_pose
from ambulo.ik.layers.layer import LayerKind, PoseLayer
from ambulo.ik.layers.stack import LayerStack
from ambulo.ik.pool.jobs import job_row
from ambulo.ik.pool.workers import NeuralIKPool
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

RIG = load_rig()
STANDING = standing_pose(RIG)
NAN: Any = float("nan")


def layer(**values: Any) -> PoseLayer:
    """A layer of IK that asks for nothing."""
    return PoseLayer("hand", LayerKind.IK, lambda tick: None, **values)


def stack() -> LayerStack:
    """A stack over a standing character."""
    return LayerStack(RIG, lambda tick: STANDING)


def job(**values: Any) -> Targets:
    """The targets of a job."""
    data = {"effector_positions": {"Head": (0.0, 0.0, 1.5)}} | values
    return job_row(RIG, data, 0)[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layer(fade_in=NAN), "times must be at least 0"),
        (lambda: layer(duration=NAN), "times must be at least 0"),
        (lambda: layer(mask=[1.0] * len(RIG)), "mask: expected an array"),
        (lambda: stack().add(layer(), NAN), "layer hand: time must be finite"),
        (lambda: stack().set_base(lambda tick: STANDING, NAN), "0 s or more, got nan"),
        (lambda: Timing(begin=NAN), "begin must be finite"),
        (lambda: LookAt(RIG, (NAN, 0.0, 1.0)), "LookAt: point must be finite"),
        (lambda: LookAt(RIG, (1.0, 0.0, 1.0), limit=NAN), "LookAt: limit"),
        (lambda: Crouch(RIG, NAN), "Crouch: depth and back must be finite"),
        (
            lambda: NeuralIKSolver(RIG).solve({"Head": (0.0, 0.0, 1.5)}),  # type: ignore[arg-type]
            "expected Targets, got dict",
        ),
        (lambda: NeuralIKPool(workers=1.5), "whole numbers"),  # type: ignore[arg-type]
        (lambda: NeuralIKPool(deadline=NAN), "deadline must be above 0 s"),
        (lambda: job(effector_positions=[1.0]), "must map names of effectors"),
        (lambda: job(effector_positions={"Head": "up"}), "expected 3 finite numbers"),
        (lambda: job(ground_height="low"), "ground_height: expected a finite number"),
        (lambda: job(ground_height=10**400), "ground_height: expected a finite number"),
        (lambda: job(effector_positions=[]), "must map names of effectors"),
        (lambda: job(motion_phase=NAN), "motion_phase: expected a finite number"),
    ],
)
def test_one_line_names_the_thing_and_the_rule(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(IKError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_deep_crouch_stops_where_the_legs_are_folded() -> None:
    stood = STANDING.root[0, 2]
    for depth in (0.3, 5.0):
        lowered = stack()
        act = Crouch(RIG, depth, timing=Timing(rise=0.1))
        lowered.add(PoseLayer("c", LayerKind.IK, acting([act]), fade_in=0.0), 0.0)
        for i in range(30):
            frame = lowered.tick(i / 60.0)
        assert frame.solution is not None
        assert frame.solution.reached[0, [2, 3, 5]].all()  # feet and hips
        height = frame.pose.root[0, 2]
        if depth < 1.0:
            assert height == pytest.approx(stood - depth, abs=1e-3)
        else:
            assert 0.25 < height < 0.6
    assert np.isfinite(frame.pose.rotations).all()
