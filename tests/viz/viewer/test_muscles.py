import mujoco
import numpy as np

from ambulo.viz.viewer.muscles import LAYER, Muscles, activation_colours
from ambulo.viz.viewer.snapshot import Lines

XML = """
<mujoco>
  <worldbody>
    <site name="a" pos="0 0 1"/>
    <body pos="0 0 0.5">
      <joint type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.05"/>
      <site name="b" pos="0 0 0"/>
    </body>
  </worldbody>
  <tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
  <actuator>
    <muscle name="m" tendon="t" lengthrange="0.1 1"/>
    <motor name="no muscle" tendon="t"/>
  </actuator>
</mujoco>
"""


def test_lines_follow_the_tendon_in_the_colour_of_the_activation() -> None:
    model = mujoco.MjModel.from_xml_string(XML)
    muscles = Muscles.of(model, 1)
    assert muscles is not None
    data = mujoco.MjData(model)
    data.act[0] = 1.0
    mujoco.mj_forward(model, data)
    part = muscles.parts([muscles.read(data, np.array([2.0, 0.0, 0.0]))])[LAYER]
    assert isinstance(part, Lines)
    assert muscles.layers().keys() == {LAYER}
    np.testing.assert_allclose(part.points[0], [[2.0, 0.0, 1.0], [2.0, 0.0, 0.5]])
    # Lines that are left over have no length.
    np.testing.assert_allclose(part.points[1:, 0], part.points[1:, 1])
    assert part.colours[0].tolist() == activation_colours(np.ones(1))[0].tolist()


def test_a_model_without_muscles() -> None:
    plain = mujoco.MjModel.from_xml_string("<mujoco/>")
    assert Muscles.of(plain, 1) is None


def test_colours_grow_redder_with_activation() -> None:
    colours = activation_colours(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).astype(int)
    assert (np.diff(colours[:, 0]) >= 0).all()
    assert colours[0].tolist() == colours[1].tolist()
    assert colours[3].tolist() == colours[4].tolist()
    assert colours[2, 0] > colours[1, 0]
