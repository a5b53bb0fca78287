"""Small humanoids of our own as MJCF and URDF text."""

from __future__ import annotations

import re

import pytest


def humanoid_xml(*, axes: str = "z", feet: str = "box", gear: float = 300.0) -> str:
    """A humanoid whose root is the chest: hips of three hinges, box feet, motors.

    Args:
        axes: "z": Z up, facing +X; "y": Y up, facing +Z.
        feet: "box", "ball" (no ankles), or "none" (no feet).
        gear: Largest torque of the motors, [N m].
    """
    turn = "" if axes == "z" else ' quat="0.5 -0.5 -0.5 -0.5"'
    legs, arms, motors = "", "", ["waist_z", "waist_y"]
    for side, y in (("left", 0.1), ("right", -0.1)):
        foot = f"""<body name="{side}_foot" pos="0 0 -0.42">
            <joint name="{side}_ankle_y" axis="0 1 0" range="-50 50"/>
            <joint name="{side}_ankle_x" axis="1 0 0" range="-30 30"/>
            <geom type="box" size="0.12 0.045 0.02" pos="0.05 0 -0.06" mass="1"/></body>"""
        if feet == "ball":
            foot = f"""<body name="{side}_foot" pos="0 0 -0.42">
              <geom type="sphere" size="0.07" mass="1"/></body>"""
        if feet == "none":
            foot = ""
        motors += [f"{side}_{j}" for j in ("hip_x", "hip_z", "hip_y", "knee")]
        motors += [f"{side}_ankle_{j}" for j in "yx"] if feet == "box" else []
        motors += [f"{side}_{j}" for j in ("shoulder_x", "shoulder_y", "elbow")]
        legs += f"""<body name="{side}_thigh" pos="0 {y} -0.05">
          <joint name="{side}_hip_x" axis="1 0 0" range="-40 40"/>
          <joint name="{side}_hip_z" axis="0 0 1" range="-40 40"/>
          <joint name="{side}_hip_y" axis="0 -1 0" range="-30 110"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.06" mass="8"/>
          <body name="{side}_shin" pos="0 0 -0.42">
          <joint name="{side}_knee" axis="0 1 0" range="-2 150"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.38" size="0.045" mass="4"/>{foot}</body>
          </body>"""
        arms += f"""<body name="{side}_upper_arm" pos="0 {1.9 * y} 0.2">
          <joint name="{side}_shoulder_x" axis="1 0 0" range="-90 90"/>
          <joint name="{side}_shoulder_y" axis="0 1 0" range="-180 60"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.28" size="0.04" mass="2"/>
          <body name="{side}_forearm" pos="0 0 -0.3">
          <joint name="{side}_elbow" axis="0 -1 0" range="0 140"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.03" mass="1.2"/>
          <body name="{side}_hand" pos="0 0 -0.27">
          <geom type="sphere" size="0.04" mass="0.5"/></body></body></body>"""
    drives = "".join(
        f'<motor joint="{name}" gear="{gear}" ctrlrange="-1 1" ctrllimited="true"/>'
        for name in motors
    )
    return f"""<mujoco model="walker"><default><geom density="0"/></default>
      <worldbody><light pos="0 0 3"/><geom type="plane" size="9 9 1"/>
      <body name="chest" pos="0 0 1.35"{turn}><freejoint name="root"/>
      <geom type="capsule" fromto="0 -0.1 0.1 0 0.1 0.1" size="0.11" mass="15"/>
      <body name="head" pos="0 0 0.3"><geom type="sphere" size="0.1" pos="0 0 0.1" mass="5"/>
      </body>{arms}
      <body name="pelvis" pos="0 0 -0.35">
      <joint name="waist_z" axis="0 0 1" pos="0 0 0.15" range="-40 40"/>
      <joint name="waist_y" axis="0 1 0" pos="0 0 0.15" range="-60 30"/>
      <geom type="capsule" fromto="0 -0.07 0 0 0.07 0" size="0.1" mass="10"/>{legs}</body>
      </body></worldbody><actuator>{drives}</actuator></mujoco>"""


@pytest.fixture
def humanoid() -> str:
    """The humanoid as it is, MJCF."""
    return humanoid_xml()


def without(xml: str, pattern: str, replacement: str = "") -> str:
    """Text without what matches a pattern, which must be there."""
    changed, count = re.subn(pattern, replacement, xml, flags=re.DOTALL)
    assert count, pattern
    return changed
