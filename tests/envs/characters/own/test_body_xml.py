"""A body that is hung up and framed anew moves as the model that it was made of."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import ConfigError
from ambulo.envs.characters.own.body_xml import body_xml, joint_names
from ambulo.envs.characters.own.links import LinkTree, links_of, rooted, turned
from ambulo.envs.characters.own.links import with_plain_axes as plain
from ambulo.motion.rotations import (
    quat_conjugate,
    quat_from_matrix,
    quat_multiply,
    quat_to_matrix,
)

EPS = 1e-6


def random_body(
    rng: np.random.Generator, joints: str, muscles: int = 0
) -> mujoco.MjModel:
    """A free tree; a letter of `joints` for each body: 1 to 3 hinges, (b)all, (w)elded.

    Muscles run over sites of random bodies and around a sphere.
    """
    root = Element("mujoco")
    SubElement(root, "compiler", angle="radian")
    SubElement(root, "option", gravity="0.3 -0.2 -9")
    world = SubElement(root, "worldbody")
    bodies: list[Element] = []

    def text(size: int, scale: float = 0.2) -> str:
        return " ".join(f"{x:.9g}" for x in scale * rng.normal(size=size))

    for i, kind in enumerate("f" + joints):
        above = world if i == 0 else bodies[rng.integers(len(bodies))]
        body = SubElement(above, "body", name=f"b{i}", pos=text(3), quat=text(4))
        if kind == "f":
            SubElement(body, "freejoint")
        elif kind == "b":
            SubElement(
                body,
                "joint",
                name=f"j{i}",
                type="ball",
                pos=text(3, 0.1),
                damping="0.2",
            )
        elif kind != "w":
            for k in range(int(kind)):
                SubElement(
                    body, "joint", name=f"j{i}{k}", axis=text(3), pos=text(3, 0.1),
                    damping="0.3", armature="0.02", stiffness="1", springref="0.2",
                    ref=f"{0.3 * rng.normal():.9g}", range="-1 2", limited="true",
                )  # fmt: skip
        size = 0.05 + 0.1 * rng.random(3)
        SubElement(
            body, "geom", type="box", size=" ".join(map(str, size)), pos=text(3, 0.1),
            quat=text(4), density="800", contype="0", conaffinity="0",
        )  # fmt: skip
        bodies.append(body)
    tendons, actuators = SubElement(root, "tendon"), SubElement(root, "actuator")
    for m in range(muscles):
        cord = SubElement(
            tendons, "spatial", name=f"m{m}", stiffness="40", springlength="0.1 0.3",
            damping="3",
        )  # fmt: skip
        for k, b in enumerate(rng.permutation(len(bodies))[:3]):
            SubElement(bodies[b], "site", name=f"s{m}{k}", pos=text(3))
            if k == 1:
                row = {"name": f"w{m}", "size": "0.02", "pos": text(3, 0.05)}
                SubElement(
                    bodies[b], "geom", row, mass="0", contype="0", conaffinity="0"
                )
                SubElement(cord, "geom", geom=f"w{m}", sidesite=f"s{m}{k}")
            else:
                SubElement(cord, "site", site=f"s{m}{k}")
        SubElement(
            actuators, "muscle", name=f"m{m}", tendon=f"m{m}", lengthrange="0.05 0.9",
            force=str(300 if m % 2 else -1), ctrllimited="true", ctrlrange="0 1",
        )  # fmt: skip
    return mujoco.MjModel.from_xml_string(tostring(root, encoding="unicode"))


class Twin:
    """A model, its links hung on another root in other axes, and the model made of these."""

    def __init__(self, model: mujoco.MjModel, rng: np.random.Generator) -> None:
        """Hang it on a random link, in random axes."""
        self.model = model
        tree = links_of(model, 1)
        self.turn = quat_to_matrix(_unit(rng))
        self.origin = rng.normal(size=3)
        self.root = int(rng.integers(len(tree.links)))
        self.reversed = self._path(tree)
        tree = rooted(turned(tree, self.turn, self.origin), self.root)
        self.tree = plain(tree)
        self.names = joint_names(self.tree)
        self.new = mujoco.MjModel.from_xml_string(body_xml(self.tree, "twin"))
        self.new.opt.gravity[:] = self.turn @ model.opt.gravity
        self.new.opt.integrator = model.opt.integrator

    def _path(self, tree: LinkTree) -> set[int]:
        """Joints on the way from the old root to the new one."""
        joints, link = set(), self.root
        while tree.links[link].parent >= 0:
            joints |= {joint.source for joint in tree.links[link].joints}
            link = tree.links[link].parent
        return joints

    def positions(self, qpos: np.ndarray) -> np.ndarray:
        """The same pose of the new model."""
        data, rest = mujoco.MjData(self.model), mujoco.MjData(self.model)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(self.model, data)
        mujoco.mj_kinematics(self.model, rest)
        out = self.new.qpos0.copy()
        body = self.tree.links[0].bodies[0]
        moved = data.xmat[body].reshape(3, 3) @ rest.xmat[body].reshape(3, 3).T
        # The new root's origin is where `origin` is on the body.
        place = data.xpos[body] + moved @ (self.origin - rest.xpos[body])
        out[:3] = self.turn @ (place - self.origin)
        out[3:7] = quat_from_matrix(self.turn @ moved @ self.turn.T)
        for link, own in zip(self.tree.links[1:], self.names[1:], strict=True):
            for joint, name in zip(link.joints, own, strict=True):
                at = int(self.model.jnt_qposadr[joint.source])
                to = int(self.new.joint(name).qposadr[0])
                if joint.axis is not None:
                    out[to] = joint.sign * (qpos[at] - self.model.qpos0[at])
                    continue
                frame = self.turn @ rest.xmat[
                    self.model.jnt_bodyid[joint.source]
                ].reshape(3, 3)
                axes = quat_from_matrix(frame)
                quat = qpos[at : at + 4]
                if joint.source in self.reversed:
                    quat = quat_conjugate(quat)
                out[to : to + 4] = quat_multiply(
                    axes, quat_multiply(quat, quat_conjugate(axes))
                )
        return out

    def velocities(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """The same velocities of the new model, by differences."""
        ends = []
        for step in (-EPS, EPS):
            moved = qpos.copy()
            mujoco.mj_integratePos(self.model, moved, qvel, step)
            ends.append(self.positions(moved))
        out = np.zeros(self.new.nv)
        mujoco.mj_differentiatePos(self.new, out, 2.0 * EPS, ends[0], ends[1])
        return out

    def state(self, rng: np.random.Generator) -> tuple[mujoco.MjData, mujoco.MjData]:
        """Both models in one random state, accelerations known."""
        data, other = mujoco.MjData(self.model), mujoco.MjData(self.new)
        mujoco.mj_integratePos(
            self.model, data.qpos, 0.4 * rng.normal(size=self.model.nv), 1.0
        )
        data.qvel[:] = rng.normal(size=self.model.nv)
        other.qpos[:] = self.positions(data.qpos)
        other.qvel[:] = self.velocities(data.qpos, data.qvel)
        for one, model in ((data, self.model), (other, self.new)):
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
            model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
            mujoco.mj_forward(model, one)
        return data, other


def _unit(rng: np.random.Generator) -> np.ndarray:
    quat = rng.normal(size=4)
    return quat / np.linalg.norm(quat)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("joints", ["1", "321", "b1w2b", "12w1b31w"])
def test_normalised_body_has_the_same_equations_of_motion(
    joints: str, seed: int
) -> None:
    rng = np.random.default_rng([seed, len(joints)])
    twin = Twin(random_body(rng, joints), rng)
    data, other = twin.state(rng)
    assert twin.new.body_mass.sum() == pytest.approx(
        twin.model.body_mass.sum(), rel=1e-6
    )
    com = twin.turn @ (data.subtree_com[0] - twin.origin)
    np.testing.assert_allclose(other.subtree_com[0], com, atol=1e-7)
    assert other.energy[1] == pytest.approx(data.energy[1], rel=1e-6)  # kinetic
    for link, own in zip(twin.tree.links[1:], twin.names[1:], strict=True):
        for joint, name in zip(link.joints, own, strict=True):
            if joint.axis is None:
                continue
            acceleration = data.qacc[twin.model.jnt_dofadr[joint.source]]
            found = other.qacc[twin.new.joint(name).dofadr[0]]
            scale = max(1.0, float(np.abs(data.qacc).max()))
            assert joint.sign * found == pytest.approx(acceleration, abs=2e-5 * scale)


@pytest.mark.parametrize("seed", range(4))
def test_muscles_keep_their_lengths_speeds_and_forces(seed: int) -> None:
    rng = np.random.default_rng(seed)
    twin = Twin(random_body(rng, "2b1w3", muscles=4), rng)
    data, other = twin.state(rng)
    data.act[:] = other.act[:] = rng.random(4)
    for one, model in ((data, twin.model), (other, twin.new)):
        mujoco.mj_forward(model, one)
    rows = [twin.new.actuator(f"m{m}").id for m in range(4)]
    slots = [twin.new.tendon(f"m{m}").id for m in range(4)]
    for name in ("tendon_stiffness", "tendon_damping", "tendon_lengthspring"):
        expected = getattr(twin.model, name)
        np.testing.assert_allclose(getattr(twin.new, name)[slots], expected)
    for name in ("actuator_length", "actuator_velocity", "actuator_force"):
        expected = getattr(data, name)
        found = getattr(other, name)[rows]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert (data.actuator_force < 0.0).any()


def test_normalised_body_falls_and_swings_as_the_model_does() -> None:
    rng = np.random.default_rng(5)
    twin = Twin(random_body(rng, "12b1"), rng)
    data, other = twin.state(rng)
    for model in (twin.model, twin.new):
        model.opt.timestep = 1e-4
    for _ in range(3000):
        mujoco.mj_step(twin.model, data)
        mujoco.mj_step(twin.new, other)
    expected = twin.positions(data.qpos)
    difference = np.zeros(twin.new.nv)
    mujoco.mj_differentiatePos(twin.new, difference, 1.0, expected, other.qpos)
    assert np.abs(difference).max() < 2e-3
    assert np.abs(other.qvel).max() > 0.5


def test_every_body_of_the_result_has_one_joint_of_its_name_at_its_origin() -> None:
    rng = np.random.default_rng(3)
    new = Twin(random_body(rng, "3b2w1"), rng).new
    for body in range(1, new.nbody):
        joint = int(new.body_jntadr[body])
        assert new.body_jntnum[body] == 1
        assert new.joint(joint).name == new.body(body).name
        assert not new.jnt_pos[joint].any()
        if new.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE:
            assert sorted(new.jnt_axis[joint]) == [0.0, 0.0, 1.0]


def test_limits_keep_their_size_and_count_from_rest() -> None:
    rng = np.random.default_rng(8)
    twin = Twin(random_body(rng, "1111"), rng)
    for link, own in zip(twin.tree.links[1:], twin.names[1:], strict=True):
        for joint, name in zip(link.joints, own, strict=True):
            rest = twin.model.qpos0[twin.model.jnt_qposadr[joint.source]]
            ends = joint.sign * (twin.model.jnt_range[joint.source] - rest)
            found = twin.new.jnt_range[twin.new.joint(name).id]
            np.testing.assert_allclose(found, sorted(ends), atol=1e-9)


def test_loop_and_second_root_are_refused() -> None:
    loop = """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/>
      <body name="b" pos="0 0 1"><joint name="j"/><geom size=".1"/></body>
      <body name="c" pos="0 1 1"><joint name="k"/><geom size=".1"/></body></body></worldbody>
      <equality><connect body1="b" body2="c" anchor="0 0 0"/></equality></mujoco>"""
    with pytest.raises(ConfigError, match="'b' and 'c' close a loop"):
        links_of(mujoco.MjModel.from_xml_string(loop), 1)
