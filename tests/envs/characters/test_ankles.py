"""How far from the ankles feet can press."""

from __future__ import annotations

import mujoco
import numpy as np
from fixtures.own_bodies import humanoid_xml

from ambulo.envs.characters.ankles import ankle_reach


def test_each_hinge_bounds_the_reach_about_its_own_axis() -> None:
    model = mujoco.MjModel.from_xml_string(humanoid_xml())
    half = 0.5 * model.body_mass.sum() * 9.81
    ankles = [[f"{side}_ankle_{axis}" for axis in "yx"] for side in ("left", "right")]
    torques = {"left_ankle_y": 20.0, "left_ankle_x": 10.0, "right_ankle_y": 40.0}
    reach = ankle_reach(model, ankles, torques)
    np.testing.assert_allclose(reach[0], [20.0 / half, 10.0 / half])
    np.testing.assert_allclose(reach[1, 0], 40.0 / half)
    assert reach[1, 1] > 1e3  # its own axis is as strong as need be
    assert np.isinf(ankle_reach(model, [[], []], torques)).all()
