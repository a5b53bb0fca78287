"""The body's skin: a closed surface that joints move."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ambulo.configs.gait import gait_space
from ambulo.motion.gaits.skeleton import gait_skeleton
from ambulo.motion.skeletons import load_skeleton
from ambulo.motion.skinning.shape import (
    COLOURS,
    HAIR,
    SHOES,
    body_shape,
    surface_distance,
)
from ambulo.motion.skinning.skin import Skin, body_skin

CELL = 0.03


@pytest.fixture(scope="module")
def skin() -> Skin:
    return body_skin(load_skeleton("human23"), CELL)


def test_the_surface_is_closed_and_faces_outwards(skin: Skin) -> None:
    edges = np.concatenate(
        [skin.triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))]
    )
    forth = Counter(map(tuple, edges.tolist()))
    back = Counter((b, a) for a, b in edges.tolist())
    assert forth == back  # each edge is passed as often one way as the other
    corners = skin.vertices[skin.triangles]
    volume = np.einsum(
        "fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])
    )
    assert 0.05 < volume.sum() / 6.0 < 0.08  # m^3; a body of 75 kg has 0.075
    np.testing.assert_allclose(np.linalg.norm(skin.normals, axis=1), 1.0, atol=1e-6)


def test_it_has_the_measures_of_the_body(skin: Skin) -> None:
    low, high = skin.vertices.min(axis=0), skin.vertices.max(axis=0)
    assert low[2] > -0.003
    assert high[2] == pytest.approx(1.75, abs=0.02)
    assert high[1] - low[1] == pytest.approx(1.85, abs=0.05)
    shape = body_shape(load_skeleton("human23"))
    assert np.abs(surface_distance(shape, skin.vertices)).max() < 0.006
    small = gait_skeleton(
        gait_space("human23"), gait_space("human23").vector(**{"global": 0.85})
    )
    assert body_shape(small).radii[0, 0] == pytest.approx(
        0.85 * shape.radii[0, 0], rel=1e-6
    )


def test_weights_belong_to_near_joints(skin: Skin) -> None:
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1.0, atol=1e-12)
    assert (skin.weights >= 0.0).all()
    skeleton = load_skeleton("human23")
    right_foot = skin.joints == skeleton.index("TalusR")
    left = skin.vertices[:, 1] > 0.03
    assert (skin.weights[left] * right_foot[left]).sum() < 1e-9
    hand = skin.vertices[:, 1] > 0.8
    main = skin.joints[hand, 0]
    assert (main == skeleton.index("HandL")).all()


def test_colours_are_in_their_places(skin: Skin) -> None:
    assert skin.colours.max() < len(COLOURS)
    assert skin.vertices[skin.colours == SHOES, 2].max() < 0.15
    assert skin.vertices[skin.colours == HAIR, 2].min() > 1.5
