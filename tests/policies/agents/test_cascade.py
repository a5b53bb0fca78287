import json

import numpy as np
import pytest
from fixtures.model_files import members_of, write_zip

from ambulo.configs.errors import ModelFileError
from ambulo.configs.gait import GaitParameter, GaitSpace
from ambulo.motion.rotations import quat_from_rotvec, quat_multiply, quat_to_rotvec
from ambulo.policies.agents.cascade import (
    Cascade,
    CascadeNode,
    load_cascade,
    save_cascade,
)

SPACE = GaitSpace(
    "two",
    (
        GaitParameter("stride", 0.0, 2.0, 1.0, "gait"),
        GaitParameter("force", 0.0, 1.0, 1.0, "muscle_force"),
    ),
)
LOW, HIGH = np.array([0.0, 0.0]), np.array([2.0, 1.0])


class Constant:
    """Acts always the same, and keeps what it saw."""

    def __init__(self, *numbers):
        self.numbers = np.array(numbers, np.float32)

    def act(self, obs):
        self.seen = obs.copy()
        return np.tile(self.numbers, (len(obs), 1))


def states(values):
    """A joint state of one number: 100 N m for a full force."""
    return 100.0 * values[:, 1:]


def cascade(base, child, balls=()):
    return Cascade(
        SPACE,
        (
            CascadeNode("base", base, np.array([0.0, 1.0]), HIGH),
            CascadeNode("weak", child, LOW, HIGH, ("base",)),
        ),
        slice(3, 5),
        balls,
    )


def obs_of(*forces):
    seen = np.zeros((len(forces), 5), np.float32)
    seen[:, 3], seen[:, 4] = 0.5, forces
    return seen


def test_a_child_acts_only_where_its_joint_state_is_far_enough():
    base = Constant(0.1, 0.0, 0.0, 0.2)
    whole = cascade(base, Constant(0.5, 0.0, 0.0, 0.3, 0.0))
    # 0.008 * 100 * (1 - force) is 0.2 at a force of 0.75.
    acts = whole.act(obs_of(1.0, 0.8, 0.7, 0.0), states)
    np.testing.assert_allclose(acts[:, 0], [0.1, 0.1, 0.6, 0.6], atol=1e-6)
    np.testing.assert_allclose(acts[:, 3], [0.2, 0.2, 0.5, 0.5], atol=1e-6)


def test_its_last_action_moves_the_threshold():
    base, child = Constant(0.0, 0.0, 0.0, 0.0), Constant(0.5, 0.0, 0.0, 0.0, -1.0)
    # Now the threshold is 0.1, a force of 0.875.
    acts = cascade(base, child).act(obs_of(0.9, 0.85), states)
    np.testing.assert_allclose(acts[:, 0], [0.0, 0.5], atol=1e-6)


def test_each_node_sees_parameters_of_its_own_box():
    base, child = Constant(0.0, 0.0, 0.0, 0.0), Constant(0.0, 0.0, 0.0, 0.0, 0.0)
    cascade(base, child).act(obs_of(0.25), states)
    np.testing.assert_allclose(base.seen[0, 3:], [0.5, 1.0])
    np.testing.assert_allclose(child.seen[0, 3:], [0.5, 0.25])


def test_rotations_of_ball_joints_are_composed():
    base, child = Constant(0.8, 0.0, 0.0, 0.0), Constant(0.0, 0.9, 0.0, 0.0, 0.0)
    acts = cascade(base, child, balls=(0,)).act(obs_of(0.0), states)
    wanted = quat_to_rotvec(
        quat_multiply(
            quat_from_rotvec(np.array([0.2, 0.0, 0.0])),
            quat_from_rotvec(np.array([0.0, 0.225, 0.0])),
        )
    )
    np.testing.assert_allclose(0.25 * acts[0, :3], wanted, atol=1e-6)


def test_graphs_that_are_none_are_refused():
    agent = Constant(0.0)
    base = CascadeNode("base", agent, LOW, HIGH)
    with pytest.raises(ModelFileError, match="before its parent 'hip'"):
        Cascade(
            SPACE, (base, CascadeNode("x", agent, LOW, HIGH, ("hip",))), slice(0, 2)
        )
    with pytest.raises(ModelFileError, match="first node alone"):
        Cascade(SPACE, (base, CascadeNode("x", agent, LOW, HIGH)), slice(0, 2))
    with pytest.raises(ModelFileError, match="two nodes"):
        Cascade(SPACE, (base, base), slice(0, 2))
    with pytest.raises(ModelFileError, match="no nodes"):
        Cascade(SPACE, (), slice(0, 2))


def test_a_file_holds_graph_and_models(tmp_path):
    models = {"base": b"base", "weak": b"weak"}
    made = cascade(
        Constant(0.1, 0.0, 0.0, 0.0), Constant(0.5, 0.0, 0.0, 0.0, 0.0), (0,)
    )
    save_cascade(tmp_path / "whole.zip", made, models)
    agents = {
        b"base": Constant(0.1, 0.0, 0.0, 0.0),
        b"weak": Constant(0.5, 0.0, 0.0, 0.0, 0.0),
    }
    found = load_cascade(tmp_path / "whole.zip", agents.__getitem__)
    assert found.is_cascaded
    assert found.space == SPACE
    assert [node.parents for node in found.nodes] == [(), ("base",)]
    seen = obs_of(1.0, 0.2)
    np.testing.assert_array_equal(found.act(seen, states), made.act(seen, states))
    header = json.loads(members_of(tmp_path / "whole.zip")["cascade.json"])
    assert header["is_cascaded"] is True


def test_numbers_that_cannot_be_are_refused():
    node = CascadeNode("base", Constant(0.0), LOW, HIGH)
    with pytest.raises(ModelFileError, match="parameters are 2 numbers"):
        Cascade(SPACE, (node,), slice(0, 5))
    with pytest.raises(ModelFileError, match="action_scale must be above 0"):
        Cascade(SPACE, (node,), slice(0, 2), (), 0.0)
    turned = CascadeNode("base", Constant(0.0), HIGH, LOW)
    with pytest.raises(ModelFileError, match="ends before it begins"):
        Cascade(SPACE, (turned,), slice(0, 2))
    far = Cascade(SPACE, (node,), slice(3, 5), (999,))
    with pytest.raises(ModelFileError, match="beyond the actions"):
        far.act(obs_of(1.0), states)


def test_damaged_files_are_told(tmp_path):
    path = tmp_path / "x.zip"
    write_zip(path, {"cascade.json": b"{}"})
    with pytest.raises(ModelFileError, match="damaged"):
        load_cascade(path, bytes)
    write_zip(path, {"other": b"{}"})
    with pytest.raises(ModelFileError, match=r"no cascade\.json inside"):
        load_cascade(path, bytes)
