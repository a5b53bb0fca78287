"""Networks whose answers are no numbers, and targets that weigh too much."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.errors import IKError
from ambulo.ik.rig import load_rig
from ambulo.ik.solver.network import IKNetwork, load_ik_network
from ambulo.ik.solver.solver import NeuralIKSolver
from ambulo.ik.solver.targets import Targets

RIG = load_rig()
PLACES = {"Head": (0.0, 0.0, 1.5), "LeftHand": (0.3, 0.2, 1.2)}


def test_an_answer_that_is_not_finite_is_an_error() -> None:
    good = load_ik_network("ik_net")
    huge = {name: array * np.float32(1e10) for name, array in good.tensors().items()}
    solver = NeuralIKSolver(RIG, IKNetwork(good.header, huge, rig=RIG))
    with pytest.raises(IKError, match="not finite: its weights are damaged"):
        solver.solve(Targets.of(positions=PLACES))


@pytest.mark.parametrize("weight", [1.01, 5.0, -0.1, np.nan])
def test_weights_are_from_0_to_1(weight: float) -> None:
    with pytest.raises(IKError, match="from 0 to 1"):
        Targets.of(positions=PLACES, weights={"Head": weight})
