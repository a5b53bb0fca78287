"""Models for the tests: the packaged muscle models, and small ones of our own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from ambulo.configs.arrays import Floats
from ambulo.muscle.muscles import MuscleLayer
from ambulo.muscle.sampling import _closed, _drawn_pose

TIED_LEG = """
<mujoco>
  <option timestep="0.002" gravity="0 0 -9.81"/>
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom type="box" size=".1 .15 .25" mass="30" contype="0" conaffinity="0"/>
      <body name="thigh" pos="0 0 -.25">
        <joint name="hip" axis="0 1 0" damping="0.5"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05" mass="7"/>
        <body name="cap" pos=".05 0 -.38">
          <joint name="cap" type="slide" axis="1 0 0"/>
          <geom type="sphere" size=".02" mass=".2" contype="0" conaffinity="0"/>
        </body>
        <body name="shin" pos="0 0 -.4">
          <joint name="knee" axis="0 1 0" damping="0.5"/>
          <joint name="twist" axis="0 0 1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="3"/>
          <body name="foot" pos="0 0 -.4">
            <joint name="ankle" type="ball"/>
            <geom type="box" size=".1 .04 .02" pos=".06 0 0" mass="1"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint joint1="cap" joint2="twist" polycoef=".01 .2 .1 0 0"/>
    <joint joint1="twist" joint2="knee" polycoef="0 .3 -.2 .1 .05"/>
  </equality>
</mujoco>
"""
"""A free trunk with one leg; cap follows twist, twist follows knee; a ball ankle."""


@functools.cache
def _load(name: str) -> mujoco.MjModel:
    import myo_sim

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return myo_sim.load(name)[0]


@pytest.fixture
def packaged() -> Callable[[str], mujoco.MjModel]:
    """Loads a model of the myo-sim package once; never change it."""
    return _load


@pytest.fixture
def posed() -> Callable[[MuscleLayer, int], mujoco.MjData]:
    """Makes simulations in random poses, by a seed."""
    return _posed


@pytest.fixture
def moved() -> Callable[[mujoco.MjModel, int], tuple[Floats, Floats]]:
    """Makes random positions (nq,), unit quaternions, and velocities (nv,), by a seed."""
    return _moved


@pytest.fixture
def tied_leg() -> str:
    """MJCF of a free trunk with one leg; cap follows twist, twist follows knee."""
    return TIED_LEG


def _posed(layer: MuscleLayer, seed: int) -> mujoco.MjData:
    """A random pose with random velocities and activations, after `mj_forward`."""
    rng = np.random.default_rng(seed)
    model = layer.model
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = _closed(layer, *_drawn_pose(layer, rng))
    data.act[:] = rng.random(model.na)
    mujoco.mj_forward(model, data)
    return data


@pytest.fixture
def leg() -> mujoco.MjModel:
    """The tied leg, a new copy."""
    return mujoco.MjModel.from_xml_string(TIED_LEG)


def _moved(model: mujoco.MjModel, seed: int) -> tuple[Floats, Floats]:
    """Random positions (nq,), unit quaternions, and velocities (nv,)."""
    rng = np.random.default_rng(seed)
    qpos = np.array(model.qpos0)
    mujoco.mj_integratePos(model, qpos, rng.normal(0.0, 0.4, model.nv), 1.0)
    return qpos, rng.normal(0.0, 2.0, model.nv)
