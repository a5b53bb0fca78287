"""Chains of hinges: which turn a part, their angles, and motions of balls on bodies of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ambulo.configs.arrays import Floats
from ambulo.motion.euler import axis_quat
from ambulo.motion.kinematics import motion_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.retargeting.body import retarget_body
from ambulo.motion.retargeting.chains import chain_rotations
from ambulo.motion.retargeting.retarget import retarget
from ambulo.motion.roles import roles_of
from ambulo.motion.rotations import quat_angle, quat_multiply, quat_rotate
from ambulo.motion.skeleton import Skeleton
from ambulo.motion.skeletons import load_skeleton

Walk = Callable[..., Motion]
AXES = np.eye(3)


def hinged(order: str, gap: float = 0.0, twists: float = 0.0) -> Skeleton:
    """Return human23 with three hinges in the place of each ball but the root's.

    `order` are their axes from the trunk outwards, `gap` is their distance downwards, [m].
    The last hinge of thighs and upper arms lies `twists` of the way to the next joint.
    """
    human = load_skeleton("human23")
    names: list[str] = []
    parents: list[int] = []
    offsets: list[Floats] = []
    orders: list[str] = []
    limits: list[Floats] = []
    last: dict[int, int] = {-1: -1}
    left: dict[int, Floats] = {-1: np.zeros(3)}
    for joint, name in enumerate(human.joints):
        letters = human.orders[joint] if len(human.orders[joint]) == 1 else order
        start = human.offsets[joint] - left[human.parents[joint]]
        left[joint] = np.zeros(3)
        if joint == 0:
            letters = "R"
        elif twists and name.startswith("Arm"):
            letters = "XZY"  # the last along the arm
        own = human.limits[human.angle_slices[joint]]
        limits += list(own if len(own) == 1 else np.tile([-np.pi, np.pi], (3, 1)))
        below = [c for c in human.children(joint) if name[:-1] in ("Femur", "Arm")]
        for k, letter in enumerate(letters):
            names.append(name if len(letters) == 1 else f"{name}_{letter}")
            parents.append(last[human.parents[joint]] if k == 0 else len(names) - 2)
            step = start if k == 0 else np.array([0.0, 0.0, -gap])
            if k == 2 and below and twists:
                step = twists * human.offsets[below[0]]
            left[joint] = left[joint] + (step if k else 0.0)
            offsets.append(step)
            orders.append("ZXY" if joint == 0 else letter)
        last[joint] = len(names) - 1
    roles = {
        role: names.index(_first(human, j, names))
        for role, j in roles_of(human).items()
    }
    return Skeleton(
        f"hinged{order}", tuple(names), tuple(parents), np.array(offsets),
        orders=tuple(orders), roles=roles, limits=np.array(limits),
        tip_parents=tuple(last[j] for j in human.tip_parents),
        tips=human.tips - np.array([left[j] for j in human.tip_parents]),
    )  # fmt: skip


def _first(human: Skeleton, joint: int, names: list[str]) -> str:
    name = human.joints[joint]
    return next(n for n in names if n == name or n.startswith(f"{name}_"))


@pytest.mark.parametrize(
    ("order", "gap", "twists"),
    [("YXZ", 0.0, 0.0), ("XYZ", 0.02, 0.0), ("YXZ", 0.0, 0.6)],
)
def test_parts_of_hinges_turn_as_balls_do(
    walk_motion: Walk, order: str, gap: float, twists: float
) -> None:
    walk, body = walk_motion(60), retarget_body(hinged(order, gap, twists))
    result = retarget(walk, body.skeleton, refine=False)
    human = retarget_body(walk.skeleton)
    ours, theirs = (motion_kinematics(m)[1] for m in (result.motion, walk))
    loose = {"spine", "neck", "left_clavicle", "right_clavicle"}
    for role in set(body.parts) - loose:
        apart = quat_angle(ours[:, body.parts[role]], theirs[:, human.roles[role]])
        assert np.rad2deg(apart).max() < 0.5, role


def test_a_walk_on_hinges_is_near_its_source(walk_motion: Walk) -> None:
    result = retarget(walk_motion(60), hinged("YXZ", 0.02, 0.6))
    assert result.error.rotation_deg < 3.0
    assert result.error.direction_deg < 3.0


def test_a_hinge_belongs_to_the_nearer_joint_or_to_the_bone_it_twists() -> None:
    skeleton = hinged("YXZ", twists=0.9)
    chains = retarget_body(skeleton).chains

    def names(role: str) -> list[str]:
        return [skeleton.joints[joint] for joint in chains[role]]

    assert names("left_thigh") == ["FemurL_Y", "FemurL_X", "FemurL_Z"]
    assert names("right_foot") == ["TalusR_Y", "TalusR_X", "TalusR_Z"]
    assert "left_shin" not in chains
    assert names("chest") == ["Torso_Y", "Torso_X", "Torso_Z"]


def test_a_spine_of_one_hinge_is_part_of_the_chests_chain() -> None:
    full = hinged("YXZ")
    keep = [
        j for j, name in enumerate(full.joints) if name not in ("Spine_X", "Spine_Y")
    ]
    new = {old: i for i, old in enumerate(keep)}

    def above(joint: int) -> int:
        while joint >= 0 and joint not in new:
            joint = full.parents[joint]
        return new.get(joint, -1)

    offsets = full.offsets[keep].copy()
    offsets[new[full.index("Spine_Z")]] += full.offsets[full.index("Spine_Y")]
    roles = {r: above(j) for r, j in full.roles.items()} | {
        "spine": new[full.index("Spine_Z")]
    }
    one = Skeleton(
        "one", tuple(full.joints[j] for j in keep),
        tuple(above(full.parents[j]) for j in keep), offsets,
        orders=tuple(full.orders[j] for j in keep), roles=roles,
    )  # fmt: skip
    chain = [one.joints[j] for j in retarget_body(one).chains["chest"]]
    assert chain == ["Spine_Z", "Torso_Y", "Torso_X", "Torso_Z"]


def test_an_elbow_bent_at_rest_flexes_as_it_is_bent() -> None:
    human = load_skeleton("human23")
    elbow = human.index("ForeArmL")
    rest, limits = human.rest.copy(), human.limits.copy()
    rest[elbow] = axis_quat("Z", np.array(-1.5))
    limits[human.angle_slices[elbow]] = (-1.0, 2.0)  # straight is at 1.5
    bent = retarget_body(human.replace(rest=rest, limits=limits, roles=roles_of(human)))
    axis, plain = bent.hinge("left_forearm"), retarget_body(human).hinge("left_forearm")
    assert axis is not None
    assert plain is not None
    assert axis @ plain == pytest.approx(1.0)


def chain(limits: tuple[float, float], letters: str = "YXZ") -> tuple[Skeleton, Floats]:
    """Return a root with hinges in a row at one place, and their axes."""
    count = len(letters) + 1
    skeleton = Skeleton(
        "chain", tuple("abcde"[:count]), tuple(range(-1, count - 1)), np.zeros((count, 3)),
        orders=("ZXY", *letters), limits=np.array([(-3.1, 3.1)] * 3 + [limits] * (count - 1)),
    )  # fmt: skip
    return skeleton, np.array([np.zeros(3), *(AXES["XYZ".index(c)] for c in letters)])


angles = st.lists(st.floats(-1.2, 1.2), min_size=3, max_size=3)


@settings(max_examples=40, deadline=None)
@given(
    path=st.lists(angles, min_size=2, max_size=5), order=st.sampled_from(["YXZ", "ZYX"])
)
def test_reachable_orientations_are_reached(
    path: list[list[float]], order: str
) -> None:
    skeleton, axes = chain((-1.3, 1.3), order)
    steps = np.array(
        [np.linspace(a, b, 20) for a, b in zip([[0.0] * 3, *path], path, strict=False)]
    )
    want = np.concatenate(steps)
    goal = np.tile([1.0, 0.0, 0.0, 0.0], (len(want), 1))
    for k, letter in enumerate(order):
        goal = quat_multiply(goal, axis_quat(letter, want[:, k]))
    base = np.tile([1.0, 0.0, 0.0, 0.0], (len(want), 1))
    local = chain_rotations(skeleton, [1, 2, 3], axes, base, goal, 0.0 * goal[:, 1:])
    reached = quat_multiply(quat_multiply(local[:, 0], local[:, 1]), local[:, 2])
    assert np.rad2deg(quat_angle(reached, goal)).max() < 0.1


def test_out_of_reach_no_angles_within_limits_are_nearer() -> None:
    rng = np.random.default_rng(0)
    skeleton, axes = chain((-0.5, 0.5))
    goal = quat_multiply(axis_quat("X", np.array(0.9)), axis_quat("Z", np.array(0.8)))[
        None
    ]
    base = np.array([[1.0, 0.0, 0.0, 0.0]])
    local = chain_rotations(skeleton, [1, 2, 3], axes, base, goal, 0.0 * goal[:, 1:])[0]
    found = quat_angle(
        quat_multiply(quat_multiply(local[0], local[1]), local[2]), goal[0]
    )
    tried = rng.uniform(-0.5, 0.5, (4000, 3))
    tried[:2000] = np.clip(tried[:2000] * 3.0, -0.5, 0.5)  # many at their limits
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(tried), 1))
    for k, letter in enumerate("YXZ"):
        turn = quat_multiply(turn, axis_quat(letter, tried[:, k]))
    assert found <= quat_angle(turn, goal).min() + 1e-3
    assert quat_rotate(goal[0], AXES[2])[2] < 0.9  # it is out of reach indeed
