"""The shipped muscle network: found by name, and as good as its card says."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import MuscleError
from ambulo.muscle.muscle_nn import find_muscle_nn
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import feasible_targets, sample_muscles
from ambulo.muscle.solver import solve
from ambulo.shipped import shipped_models

Load = Callable[[str], mujoco.MjModel]


def test_a_wrong_name_says_what_there_is() -> None:
    assert "muscle_nn_myolegs" in shipped_models()
    with pytest.raises(MuscleError, match="did you mean 'muscle_nn_myolegs'"):
        find_muscle_nn("muscle_nn_myoleg")


@pytest.mark.parametrize("reach", [1.0, 0.4])
def test_residual_and_effort_on_poses_that_it_never_saw(
    packaged: Load, reach: float
) -> None:
    """With all of the muscles' activation, and with 40 % of it by the next refresh."""
    network = find_muscle_nn("muscle_nn_myolegs")
    layer = MuscleLayer(packaged("myolegs"))
    assert network.muscles == layer.table.names
    rng = np.random.default_rng(20_001)
    samples = sample_muscles(layer, 200, rng, pattern=network.pattern)
    active = reach * samples.active
    wanted = reach * feasible_targets(samples, rng)
    made = network.activations(active, wanted)
    best = solve(active, wanted)
    residual = np.einsum("bim,bm->bi", active, made) - wanted
    off = np.sqrt(np.square(residual - best.residual).mean())
    assert off < 0.02 * np.sqrt(np.square(wanted).mean())
    assert np.square(made).mean() < 1.4 * np.square(best.activation).mean()
