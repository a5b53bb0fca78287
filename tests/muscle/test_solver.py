"""The exact activations: by hand, against SciPy, and from warm starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MuscleError
from ambulo.configs.muscle import ActivationCost
from ambulo.muscle.solver import descend, solve


def case(
    seed: int, rows: int, muscles: int, batch: int = 1, noise: float = 0.0
) -> tuple[Floats, Floats]:
    """Sparse arms (B, rows, muscles) with both signs, and torques mostly in reach."""
    rng = np.random.default_rng(seed)
    active = rng.normal(0.0, 30.0, (batch, rows, muscles))
    active *= rng.random(active.shape) < 0.4
    effort = rng.random((batch, muscles)) ** 3
    wanted = np.einsum("bim,bm->bi", active, effort)
    return active, wanted + noise * rng.normal(size=wanted.shape)


def objective(
    active: Floats, wanted: Floats, activation: Floats, effort: float
) -> Floats:
    """What `solve` minimises with weights 1, (B,), [N^2 m^2]."""
    error = np.einsum("bim,bm->bi", active, activation) - wanted
    return (error**2).sum(axis=1) + effort * (activation**2).sum(axis=1)


def scipy_optimum(active: Floats, wanted: Floats, effort: float) -> Floats:
    """The optimum for one torque, (m,)."""
    muscles = active.shape[1]
    left = np.vstack([active, np.sqrt(effort) * np.eye(muscles)])
    right = np.concatenate([wanted, np.zeros(muscles)])
    return lsq_linear(left, right, (0.0, 1.0), method="bvls", tol=1e-14).x


@given(
    st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 15),
    st.sampled_from([0.01, 1.0, 17.5]), st.sampled_from([0.0, 100.0]),
)  # fmt: skip
def test_equals_scipy(
    seed: int, rows: int, muscles: int, effort: float, noise: float
) -> None:
    active, wanted = case(seed, rows, muscles, noise=noise)
    found = solve(active, wanted, ActivationCost(effort=effort))
    assert found.converged[0]
    expected = scipy_optimum(active[0], wanted[0], effort)
    best = objective(active, wanted, expected[None], effort)[0]
    mine = objective(active, wanted, found.activation, effort)[0]
    assert mine <= best + 1e-8 * (1.0 + best)
    np.testing.assert_allclose(found.activation[0], expected, atol=1e-5)
    made = active[0] @ found.activation[0]
    np.testing.assert_allclose(found.residual[0], made - wanted[0], atol=1e-8)


def test_optimum_satisfies_its_conditions_for_many_muscles() -> None:
    """Slope zero inside, not negative at rest, not positive at full activation."""
    active, wanted = case(1, 14, 80, batch=20, noise=20.0)
    effort = 17.5
    found = solve(active, wanted, ActivationCost(effort=effort))
    slope = np.einsum("bim,bi->bm", active, found.residual) + effort * found.activation
    a = found.activation
    assert found.converged.all()
    assert np.abs(slope[(a > 1e-9) & (a < 1.0 - 1e-9)]).max() < 1e-5
    assert slope[a <= 1e-9].min() > -1e-5
    assert (slope[a >= 1.0 - 1e-9] < 1e-5).all()


def test_warm_start_changes_nothing_but_time() -> None:
    active, wanted = case(2, 14, 80, batch=5)
    cold = solve(active, wanted)
    elsewhere = solve(active, 1.3 * wanted, start=cold.dual)
    again = solve(active, wanted, start=elsewhere.dual)
    np.testing.assert_allclose(again.activation, cold.activation, atol=1e-9)
    few = ActivationCost(iterations=1)
    assert solve(active, wanted, few, start=cold.dual).converged.all()


@pytest.mark.integration
def test_descent_comes_to_the_same_place() -> None:
    active, wanted = case(3, 4, 12, batch=4)
    exact = solve(active, wanted)
    effort = ActivationCost().effort
    best = objective(active, wanted, exact.activation, effort)
    few = objective(active, wanted, descend(active, wanted, sweeps=3), effort)
    slow = descend(active, wanted, sweeps=5000)
    assert (few >= best).all()
    np.testing.assert_allclose(slow, exact.activation, atol=1e-6)
    near = descend(active, wanted, start=exact.activation, sweeps=1)
    np.testing.assert_allclose(near, exact.activation, atol=1e-9)


def test_bad_rows_stay_alone() -> None:
    active, wanted = case(4, 3, 6, batch=3)
    good = solve(active, wanted)
    active[1, 0, 0] = np.nan
    found = solve(active, wanted)
    assert found.converged.tolist() == [True, False, True]
    assert (found.activation[1] == 0.0).all()
    np.testing.assert_array_equal(found.activation[[0, 2]], good.activation[[0, 2]])


def test_bad_input_is_named() -> None:
    active, wanted = case(5, 3, 6)
    with pytest.raises(MuscleError, match=r"expected shape \(1, 3\), got \(1, 2\)"):
        solve(active, wanted[:, :2])
