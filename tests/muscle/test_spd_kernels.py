"""The packed solution of stable PD against the plain elimination of a dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.envs.characters.registry import load_character
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.spd_kernels import packed_width, solve_packed, spd_tables

Load = Callable[[str], mujoco.MjModel]


def ancestors(model: mujoco.MjModel) -> list[list[int]]:
    tables = spd_tables(model, joint_coupling(model))
    edges = pairwise(tables.start.tolist())
    return [tables.ancestors[first:end].tolist() for first, end in edges]


def test_ancestors_of_a_tree_are_the_columns_of_its_mass_matrix() -> None:
    model = load_character("human23").model
    start, count = model.M_rowadr, model.M_rownnz
    rows = [
        model.M_colind[start[i] : start[i] + count[i] - 1].tolist()
        for i in range(model.nv)
    ]
    assert ancestors(model) == rows


def test_the_first_ancestors_are_those_of_the_ancestor_also_with_ties(
    leg: mujoco.MjModel, packaged: Load
) -> None:
    for model in (leg, packaged("myolegs")):
        found = ancestors(model)
        for own in found:
            for k, ancestor in enumerate(own):
                assert found[ancestor] == own[:k]


@pytest.mark.parametrize(("count", "width"), [(0, 8), (7, 8), (8, 16), (21, 24)])
def test_rows_hold_the_ancestors_and_the_diagonal(count: int, width: int) -> None:
    assert packed_width(count) == width


def eliminated(matrix: Floats, x: Floats, parents: list[list[int]]) -> Floats:
    """matrix^-1 x by L^T D L, one operation after the other."""
    for k in range(len(x) - 1, -1, -1):
        for i in parents[k]:
            ratio = matrix[k, i] / matrix[k, k]
            for j in parents[k][: parents[k].index(i) + 1]:
                matrix[i, j] -= ratio * matrix[k, j]
        for i in parents[k]:
            matrix[k, i] /= matrix[k, k]
            x[i] -= matrix[k, i] * x[k]
    for k in range(len(x)):
        x[k] /= matrix[k, k]
        for i in parents[k]:
            x[k] -= matrix[k, i] * x[i]
    return x


@pytest.mark.parametrize("name", ["human23", "myolegs"])
def test_packed_rows_are_solved_with_the_bits_of_the_plain_elimination(
    name: str, packaged: Load
) -> None:
    model = load_character(name).model if name == "human23" else packaged(name)
    parents, tables = ancestors(model), spd_tables(model, joint_coupling(model))
    size, width = len(parents), packed_width(max(len(own) for own in parents))
    rng = np.random.default_rng(1)
    for _ in range(5):
        packed = rng.normal(size=(size, width))  # what lies behind diagonals is noise
        dense = np.zeros((size, size))
        for k, own in enumerate(parents):
            packed[k, len(own)] += 50.0
            dense[k, [*own, k]] = packed[k, : len(own) + 1]
        x = rng.normal(size=size)
        whole = np.tril(dense) + np.tril(dense, -1).T
        expected = np.linalg.solve(whole, x)
        plain = eliminated(dense, x.copy(), parents)
        assert solve_packed(packed, x, tables.start, tables.ancestors, np.empty(width))
        np.testing.assert_array_equal(x, plain)
        np.testing.assert_allclose(x, expected, rtol=1e-9)


def test_a_matrix_that_is_not_positive_is_not_solved() -> None:
    start, none = np.array([0, 0]), np.zeros(0, np.int64)
    for pivot, fine in ((1.0, True), (0.0, False), (-1.0, False), (np.nan, False)):
        packed, scratch = np.full((1, 8), pivot), np.empty(8)
        assert solve_packed(packed, np.ones(1), start, none, scratch) == fine
