"""Roles by shape: written rigs with names given and hidden, and what is no humanoid."""

from __future__ import annotations

import time

import numpy as np
import pytest
from fixtures.people import AXES, PEOPLE, Person, dog, only_arm, only_legs, person
from scipy.spatial.transform import Rotation

from ambulo.configs.errors import SkeletonError
from ambulo.motion.roles.finder import RoleMap, find_roles
from ambulo.motion.roles.names import name_vote
from ambulo.motion.roles.tree import RoleTree

HIDDEN_MISSES = {"biped with a triangle": {"hips", "spine"}}
"""Roles that only names show."""
UNITS = (1.0, 100.0, 12.5)
RIGS = list(enumerate(PEOPLE))


def misses(rig: Person, found: RoleMap) -> set[str]:
    """Roles that another joint has; on the better side where the front is flagged."""
    maps = [found] if found.is_facing_sure else [found, found.swapped()]
    wrong = [
        {role for role, nodes in rig.truth.items() if one.joints.get(role) not in nodes}
        for one in maps
    ]
    return min(wrong, key=len)


def faces_wrong(rig: Person, found: RoleMap) -> bool:
    """Whether the front is wrong without a word."""
    sure = found.is_facing_sure and not found.refusal
    return bool(
        sure and found.forward is not None and found.forward @ rig.forward < 0.7
    )


def varied(rig: Person, rng: np.random.Generator, spread: float) -> Person:
    """The rig with other lengths, turn, unit and order."""
    flips = [0.0, 0.5 * np.pi]
    angles = [rng.uniform(0.0, 2.0 * np.pi), rng.choice(flips), -rng.choice(flips)]
    turn = Rotation.from_euler("zyx", angles).as_matrix()
    stretched = rig.stretched(rng, spread, 0.002)
    return stretched.turned(turn, 10.0 ** rng.uniform(-1.0, 2.0)).shuffled(rng)


@pytest.mark.parametrize(("number", "name"), RIGS, ids=list(PEOPLE))
def test_written_rigs_have_their_roles(number: int, name: str) -> None:
    rng = np.random.default_rng(number)
    rig = PEOPLE[name]().stretched(rng, 0.0, 0.002)
    rig = rig.turned(AXES[number % 3], UNITS[number % 3])
    named, hidden = find_roles(rig.tree()), find_roles(rig.tree(named=False))
    assert not named.refusal
    assert not hidden.refusal
    assert misses(rig, named) == set()
    assert misses(rig, hidden) <= HIDDEN_MISSES.get(name, set())
    assert named.is_facing_sure
    assert named.forward is not None
    assert named.forward @ rig.forward > 0.95
    assert named.up is not None
    assert named.up @ rig.up > 0.95
    assert not faces_wrong(rig, hidden)


@pytest.mark.parametrize(
    "name", ["mixamorig:LeftUpLeg", "thigh.L", "Bip01 L Thigh", "lfemur", "左足"]
)
def test_a_name_says_side_and_role(name: str) -> None:
    said = name_vote(name)
    assert (said.side, said.for_role("thigh")) == ("left", 1.0)


@pytest.mark.integration
@pytest.mark.parametrize(("named", "least"), [(True, 0.97), (False, 0.94)])
def test_other_lengths_turns_units_and_orders(named: bool, least: float) -> None:
    rng = np.random.default_rng(3)
    right = total = 0
    for name, make in PEOPLE.items():
        for spread in (0.1, 0.2):
            rig = varied(make(), rng, spread)
            found = find_roles(rig.tree(named))
            assert not faces_wrong(rig, found), (name, spread, found.notes)
            right += len(rig.truth) - len(misses(rig, found))
            total += len(rig.truth)
    assert right / total > least


def test_the_order_of_joints_changes_nothing() -> None:
    rig, rng = PEOPLE["unreal"](), np.random.default_rng(0)
    found = find_roles(rig.tree(named=False))
    mixed = rig.shuffled(rng)
    again = find_roles(mixed.tree(named=False))
    assert {r: mixed.names[j] for r, j in again.joints.items()} == {
        r: rig.names[j] for r, j in found.joints.items()
    }


def test_chains_hold_twist_bones_and_partners_their_counterparts() -> None:
    rig = PEOPLE["rigify"]()
    found = find_roles(rig.tree())
    names = [rig.names[j] for j in found.chains["left_thigh"]]
    assert names == ["DEF-thigh.L", "thigh_twist.L"]
    assert found.mirror is not None
    for role, joint in found.joints.items():
        other = found.swapped().joints[role]
        assert found.mirror[joint] == other
    used = [joint for chain in found.chains.values() for joint in chain]
    assert len(used) == len(set(used))


def test_names_against_the_shape_are_never_silent() -> None:
    rig = person()
    for node, name in enumerate(rig.names):
        swapped = name.replace("Left", "#").replace("Right", "Left")
        rig.names[node] = swapped.replace("#", "Right")
    found = find_roles(rig.tree())
    assert any(note.startswith("facing") for note in found.notes)


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (dog, "four legs"),
        (only_legs, "legs only"),
        (only_arm, "no mirrored pair of limbs"),
    ],
)
def test_what_is_no_humanoid_is_refused_with_what_it_is(
    make: type[Person], what: str, named: bool
) -> None:
    found = find_roles(make().tree(named))
    assert what in found.refusal
    if named is False and what != "four legs":
        assert not found.joints


def test_front_legs_of_a_dog_have_the_roles_of_arms() -> None:
    rig = dog().turned(AXES[1], 100.0)
    found = find_roles(rig.tree(named=False))
    names = {role: rig.names[joint] for role, joint in found.joints.items()}
    assert (names["hips"], names["chest"]) == ("hips", "chest")
    assert [rig.names[j] for j in found.chains["chest"]] == ["back", "chest"]
    for end, limbs in (
        ("hind", ("thigh", "shin", "foot")),
        ("fore", ("upper_arm", "forearm", "hand")),
    ):
        for side in ("left", "right"):
            numbers = [names[f"{side}_{limb}"].rpartition("_") for limb in limbs]
            assert {stem for stem, _, _ in numbers} == {f"{end}_{side[0].upper()}"}
            assert [number for _, _, number in numbers] == ["0", "2", "3"]
    assert found.up is not None
    assert found.up @ rig.up > 0.95


def test_arms_on_a_pillar_are_arms() -> None:
    rig = person(fingers=False, lacking=("toe", "foot", "shin", "thigh"))
    rig.lowered(80.0)
    assert "arms only" in find_roles(rig.tree()).refusal


@pytest.mark.parametrize(
    ("parents", "positions", "rule"),
    [
        ((1, 0), np.zeros((2, 3)), "loop"),
        ((-1, 2, 1), np.zeros((3, 3)), "loop"),
        ((-1, 7), np.zeros((2, 3)), "parent is no node"),
        ((-1,), np.full((1, 3), np.nan), "finite"),
        ((-1, 0), np.zeros((3, 3)), "expected 2 positions"),
        ((), np.zeros((0, 3)), "no joints"),
    ],
)
def test_trees_that_break_a_rule(
    parents: tuple[int, ...], positions: np.ndarray, rule: str
) -> None:
    with pytest.raises(SkeletonError, match=rule) as caught:
        RoleTree(parents, positions)
    assert "\n" not in str(caught.value)


def test_strange_trees_are_refused_quickly() -> None:
    rng = np.random.default_rng(0)
    count = 600
    for parents in (
        (-1,) * count,
        tuple(range(-1, count - 1)),
        (-1, *np.zeros(count - 1, dtype=int)),
        (-1, 0, 0, *range(1, count - 2)),  # two ropes
    ):
        begin = time.process_time()
        assert find_roles(RoleTree(parents, rng.normal(size=(count, 3)))).refusal
        assert time.process_time() - begin < 20.0
    assert find_roles(RoleTree((-1,), np.zeros((1, 3)))).refusal
    assert find_roles(RoleTree((-1, 0), np.zeros((2, 3)))).refusal
