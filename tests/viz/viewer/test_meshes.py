import math

import mujoco
import numpy as np
import pytest

from ambulo.viz.viewer.meshes import Mesh, box, cylinder, height_field, joined, sphere


def volume(mesh: Mesh) -> float:
    """Signed volume by the divergence theorem: positive where faces look outwards."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]].astype(np.float64) for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize(
    ("mesh", "wanted"),
    [(sphere(), 4.0 * math.pi / 3.0), (cylinder(), 2.0 * math.pi), (box(), 8.0)],
)
def test_unit_meshes_are_closed_and_look_outwards(mesh: Mesh, wanted: float) -> None:
    assert volume(mesh) == pytest.approx(wanted, rel=0.06)
    assert np.abs(mesh.vertices).max() == pytest.approx(1.0)


def test_joined_meshes_keep_their_own_corners() -> None:
    both = joined([box(), sphere()])
    assert volume(both) == pytest.approx(volume(box()) + volume(sphere()))
    assert both.faces.max() == len(both.vertices) - 1


def test_height_field_has_the_heights_of_the_model() -> None:
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><hfield name="h" nrow="2" ncol="3" size="2 1 0.5 0.1"
        elevation="0 0 0  0 1 0"/></asset>
        <worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""
    )
    mesh = height_field(model, 0)
    top = mesh.vertices[np.argmax(mesh.vertices[:, 2])]
    np.testing.assert_allclose(
        top, [0.0, -1.0, 0.5]
    )  # the file's last row is the nearest
    assert len(mesh.faces) == 4
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    above, down = np.array([0.0, -0.999, 2.0]), np.array([0.0, 0.0, -1.0])
    hit = np.zeros(1, np.int32)
    far = mujoco.mj_ray(model, data, above, down, None, 1, -1, hit)
    assert 2.0 - far == pytest.approx(0.5, abs=0.01)
