import mujoco
import numpy as np

from ambulo.viz.viewer.model_geoms import LEFT, RIGHT, ModelGeoms
from ambulo.viz.viewer.snapshot import Instances

XML = """
<mujoco>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <geom type="box" size="1 2 3" pos="5 0 0" rgba="1 0 0 1"/>
    <body name="shank_l" pos="0 0 1">
      <freejoint/>
      <geom type="capsule" size="0.1 0.4" pos="0 0 0.5"/>
    </body>
    <body name="hand_r" pos="0 1 0">
      <freejoint/>
      <geom type="sphere" size="0.2"/>
      <geom type="sphere" size="0.3" group="4"/>
    </body>
  </worldbody>
</mujoco>
"""


def parts_of(geoms: ModelGeoms, model: mujoco.MjModel) -> dict[str, Instances]:
    data = mujoco.MjData(model)
    half = np.sqrt(0.5)
    data.qpos[3:7] = [half, half, 0.0, 0.0]  # the shank lies along -Y
    mujoco.mj_kinematics(model, data)
    xpos = np.tile(data.xpos, (geoms.copies, 1, 1))
    xquat = np.tile(data.xquat, (geoms.copies, 1, 1))
    found = geoms.parts(xpos, xquat)
    assert found.keys() == geoms.layers().keys()
    return {name: p for name, p in found.items() if isinstance(p, Instances)}


def test_geoms_of_all_shapes_where_their_bodies_are() -> None:
    model = mujoco.MjModel.from_xml_string(XML)
    parts = parts_of(ModelGeoms(model), model)
    # Neither the plane nor the geom of a hidden group.
    assert {name: len(p.positions) for name, p in parts.items()} == {
        "body/boxes": 1, "body/cylinders": 1, "body/spheres": 3,
    }  # fmt: skip
    np.testing.assert_allclose(parts["body/boxes"].positions, [[5.0, 0.0, 0.0]])
    np.testing.assert_allclose(parts["body/boxes"].scales, [[1.0, 2.0, 3.0]])
    ends = parts["body/spheres"].positions[:2]
    wanted = [[0.0, -0.9, 1.0], [0.0, -0.1, 1.0]]
    np.testing.assert_allclose(ends, wanted, atol=1e-9)
    colours = parts["body/spheres"].colours.tolist()
    assert colours == [list(LEFT), list(LEFT), list(RIGHT)]


def test_copies_and_the_body_of_an_instance() -> None:
    model = mujoco.MjModel.from_xml_string(XML)
    geoms = ModelGeoms(model, 3)
    parts = parts_of(geoms, model)
    assert len(parts["body/spheres"].positions) == 9
    assert geoms.body_of("body/spheres", 5) == (1, 2)
    assert geoms.body_of("body/cylinders", 2) == (2, 1)


def test_only_what_is_fixed_or_only_what_moves() -> None:
    model = mujoco.MjModel.from_xml_string(XML)
    fixed = parts_of(ModelGeoms(model, drawn="world", by_side=False), model)
    assert list(fixed) == ["body/boxes"]
    assert fixed["body/boxes"].steady
    assert fixed["body/boxes"].colours.tolist() == [[255, 0, 0]]
    assert "body/boxes" not in ModelGeoms(model, drawn="bodies").layers()
