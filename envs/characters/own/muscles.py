"""Muscles of a user's body: read from its model, written to its XML, chosen or left out.

A muscle is an actuator of MuJoCo's kind `muscle` on a spatial tendon over sites and wrapping
spheres and cylinders. In a prepared body's XML, muscles stand beside one motor for each joint
axis; a body is driven either by all motors, or by its muscles and the motors of the joints that
no muscle turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats

MUSCLE_SITE, WRAP = "muscle:", "wrap:"
"""Beginnings of the names of sites and wrapping shapes of muscles."""
_SITE = int(mujoco.mjtWrap.mjWRAP_SITE)
_PULLEY = int(mujoco.mjtWrap.mjWRAP_PULLEY)
_SHAPES = (int(mujoco.mjtWrap.mjWRAP_SPHERE), int(mujoco.mjtWrap.mjWRAP_CYLINDER))
MOMENT = 1e-5
"""Smallest moment arm with which a muscle turns a joint, [m]."""


@dataclass(frozen=True)
class PathPoint:
    """A point on a muscle's path."""

    kind: int
    """`mjtWrap`: a site, sphere, cylinder or pulley."""
    item: int
    """Index of the site or shape in the model."""
    number: float
    """Side site of a shape, -1 without one; divisor of a pulley."""


@dataclass(frozen=True)
class Muscle:
    """A muscle of a model."""

    actuator: int
    """Index of its actuator."""
    path: tuple[PathPoint, ...]
    """What its tendon runs over."""

    @property
    def sites(self) -> set[int]:
        """Sites of its path, side sites among them."""
        sides = {int(p.number) for p in self.path if p.kind in _SHAPES}
        return {p.item for p in self.path if p.kind == _SITE} | sides - {-1}

    @property
    def shapes(self) -> set[int]:
        """Shapes around which it wraps."""
        return {p.item for p in self.path if p.kind in _SHAPES}


def muscles_of(model: mujoco.MjModel) -> tuple[list[Muscle], list[str]]:
    """Return the muscles of a model, and the names of those that pull no spatial tendon."""
    found, others = [], []
    for u in range(model.nu):
        if int(model.actuator_gaintype[u]) != int(mujoco.mjtGain.mjGAIN_MUSCLE):
            continue
        path = _path(model, int(model.actuator_trnid[u, 0]))
        tendon = int(model.actuator_trntype[u]) == int(mujoco.mjtTrn.mjTRN_TENDON)
        if tendon and path:
            found.append(Muscle(u, path))
        else:
            others.append(model.actuator(u).name)
    return found, others


def _path(model: mujoco.MjModel, tendon: int) -> tuple[PathPoint, ...]:
    """The path of a tendon; () if it is a sum of joint angles."""
    if not 0 <= tendon < model.ntendon:
        return ()
    first = int(model.tendon_adr[tendon])
    points = tuple(
        PathPoint(
            int(model.wrap_type[w]), int(model.wrap_objid[w]), float(model.wrap_prm[w])
        )
        for w in range(first, first + int(model.tendon_num[tendon]))
    )
    known = {_SITE, _PULLEY, *_SHAPES}
    return points if all(point.kind in known for point in points) else ()


def write_muscles(
    root: Element, model: mujoco.MjModel, muscles: Sequence[Muscle]
) -> None:
    """Add tendons and muscles to the sections of a body's XML, whose sites are there."""
    if not muscles:
        return
    tendons = SubElement(root, "tendon")
    section = root.find("actuator")
    if section is None:
        section = SubElement(root, "actuator")
    used = {str(row.get("name")) for row in section}
    for muscle in muscles:
        u = muscle.actuator
        name = model.actuator(u).name or f"muscle{u}"
        while name in used:  # motors have the names of joints
            name = f"{name}_muscle"
        used.add(name)
        cord = SubElement(tendons, "spatial", _cord(model, u), name=name)
        for point in muscle.path:
            if point.kind == _SITE:
                SubElement(cord, "site", site=f"{MUSCLE_SITE}{point.item}")
            elif point.kind == _PULLEY:
                SubElement(cord, "pulley", divisor=_text([point.number]))
            else:
                row = {"geom": f"{WRAP}{point.item}"}
                if point.number >= 0:
                    row["sidesite"] = f"{MUSCLE_SITE}{int(point.number)}"
                SubElement(cord, "geom", row)
        SubElement(
            section, "general", name=name, tendon=name,
            dyntype="muscle", gaintype="muscle", biastype="muscle",
            ctrllimited="true", ctrlrange="0 1",
            dynprm=_text(model.actuator_dynprm[u, :3]),
            gainprm=_text(_with_force(model, u, model.actuator_gainprm[u, :9])),
            biasprm=_text(_with_force(model, u, model.actuator_biasprm[u, :9])),
            lengthrange=_text(model.actuator_lengthrange[u]),
            gear=_text(model.actuator_gear[u, :1]),
            forcelimited=str(bool(model.actuator_forcelimited[u])).lower(),
            forcerange=_text(model.actuator_forcerange[u]),
        )  # fmt: skip


def _cord(model: mujoco.MjModel, actuator: int) -> dict[str, str]:
    """Spring, damping and limits of a muscle's tendon."""
    t = int(model.actuator_trnid[actuator, 0])
    row = {
        "stiffness": _text(model.tendon_stiffness[t : t + 1]),
        "damping": _text(model.tendon_damping[t : t + 1]),
        "frictionloss": _text(model.tendon_frictionloss[t : t + 1]),
        "springlength": _text(model.tendon_lengthspring[t]),
    }
    if model.tendon_limited[t]:
        row |= {"limited": "true", "range": _text(model.tendon_range[t])}
    return row


def _with_force(model: mujoco.MjModel, actuator: int, numbers: Floats) -> Floats:
    """Parameters with the peak force that MuJoCo derives from the scale, where it does."""
    numbers = numbers.copy()
    if numbers[2] < 0.0:
        numbers[2] = numbers[3] / max(float(model.actuator_acc0[actuator]), 1e-15)
    return numbers


def with_motors(xml: str) -> str:
    """Return a prepared body's XML without its muscles."""
    root = ElementTree.fromstring(xml)
    section = root.find("actuator")
    for tendons in root.findall("tendon"):
        root.remove(tendons)
    for row in [] if section is None else section.findall("general"):
        section.remove(row)  # type: ignore[union-attr]
    return ElementTree.tostring(root, encoding="unicode")


def with_muscles(xml: str, standing: Floats) -> str:
    """Return a prepared body's XML without the motors of joints that muscles turn.

    Args:
        xml: The XML, with motors and muscles.
        standing: Positions (nq,) in which moment arms are measured.
    """
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.qpos[:] = standing
    mujoco.mj_forward(model, data)
    moments = np.zeros((model.nu, model.nv))
    mujoco.mju_sparse2dense(
        moments, data.actuator_moment, data.moment_rownnz, data.moment_rowadr,
        data.moment_colind,
    )  # fmt: skip
    pulled = model.actuator_gaintype == int(mujoco.mjtGain.mjGAIN_MUSCLE)
    turned = np.flatnonzero((np.abs(moments[pulled]) > MOMENT).any(axis=0))
    joints = {model.joint(int(model.dof_jntid[dof])).name for dof in turned}
    root = ElementTree.fromstring(xml)
    section = root.find("actuator")
    for row in [] if section is None else section.findall("motor"):
        if row.get("joint") in joints:
            section.remove(row)  # type: ignore[union-attr]
    return ElementTree.tostring(root, encoding="unicode")


def _text(values: Floats | list[float]) -> str:
    return " ".join(f"{float(value):.12g}" for value in values)
