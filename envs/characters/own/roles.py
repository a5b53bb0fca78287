"""Roles of a user's body: found by shape, or given; and its axes as ours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import ConfigError, nearest
from ambulo.envs.characters.own.links import LinkTree
from ambulo.envs.characters.own.settings import BodySettings
from ambulo.motion.roles.files import RolesFile
from ambulo.motion.roles.finder import FOUR_LEGS, RoleMap, find_roles, in_order
from ambulo.motion.roles.four_legs import LEVEL
from ambulo.motion.roles.sources import model_tree
from ambulo.motion.roles.tree import SIDES, RoleTree, branch

NEEDED = ("hips", "left_thigh", "right_thigh", "left_shin", "right_shin")
"""Roles without which a body is not prepared."""


@dataclass(frozen=True, eq=False)
class BodyRoles:
    """Bodies of a model by role."""

    top: int
    """The body that stands in the world."""
    bodies: dict[str, int]
    """The body of each role."""
    chains: dict[str, tuple[int, ...]]
    """The bodies that may carry the part of each role, its own among them."""
    is_given: bool
    """Whether roles and chains are those of a file."""
    places: dict[str, Floats]
    """Where each role's part begins, in our axes, [m]. Shape (3,)."""
    turn: Floats
    """Our axes as rows: X ahead, Y left, Z up. Shape (3, 3)."""
    origin: Floats
    """Middle of the hips in the model's axes, [m]. Shape (3,)."""
    confidence: float
    """How well shape and names fit a humanoid, 0 to 1; 1 where the roles are given."""
    notes: tuple[str, ...] = ()
    """Doubts, a line each."""
    four_legs: bool = False
    """Whether it stands on its hands too: arms are front legs."""

    @property
    def feet(self) -> tuple[str, ...]:
        """Roles that stand on the ground, without side."""
        return ("foot", "hand") if self.four_legs else ("foot",)

    def joints_of(
        self, tree: LinkTree, names: list[list[str]], tied: set[str]
    ) -> dict[str, str]:
        """Return the joint of each role that has one; parts that are welded have none.

        That of its body, else of the last body of its chain that has one. Joints of `tied`
        follow others and have no role.
        """
        joints = {"hips": names[0][0]}
        used = {0}
        for welded in (False, True):
            for role, body in self.bodies.items():
                if role in joints:
                    continue
                for one in (body, *reversed(self.chains[role])):
                    link = tree.of_body[one]
                    own = [name for name in names[link] if name not in tied]
                    moves = welded or tree.links[link].bodies[0] == one
                    if own and moves and link not in used:
                        joints[role] = own[-1]
                        used.add(link)
                        break
        return in_order(joints)

    def given_chains(
        self, tree: LinkTree, names: list[list[str]], tied: set[str]
    ) -> dict[str, list[str]]:
        """Return the joints of the chains that were given."""
        chains = {
            role: [
                name
                for link in dict.fromkeys(tree.of_body[body] for body in bodies)
                for name in names[link]
                if name not in tied
            ]
            for role, bodies in self.chains.items()
            if self.is_given and len(bodies) > 1
        }
        return {role: chain for role, chain in chains.items() if chain}


def body_roles(model: mujoco.MjModel, settings: BodySettings) -> BodyRoles:
    """Return the roles of a model's bodies.

    Raises:
        ConfigError: It is no humanoid, holds two, or the given roles do not fit.
    """
    tree = model_tree(model)
    if settings.roles is not None:
        found = _given_roles(model, tree, settings.roles)
        nodes = list(range(len(tree.parents)))
        top = tree.ancestors(found.joints["hips"])[-1]
    else:
        top, nodes, found = _found_roles(model, tree)
    bodies = {role: nodes[node] + 1 for role, node in found.joints.items()}
    for role in NEEDED:
        if role not in bodies:
            raise ConfigError(f"no joint is its {role}: give roles in NAME.roles.json")
    places = {role: tree.positions[body - 1] for role, body in bodies.items()}
    turn = _axes(found, places)
    origin = 0.5 * (places["left_thigh"] + places["right_thigh"])
    places = {role: turn @ (place - origin) for role, place in places.items()}
    return BodyRoles(
        top + 1,
        bodies,
        {
            role: tuple(nodes[n] + 1 for n in chain)
            for role, chain in found.chains.items()
        },
        settings.roles is not None,
        places,
        turn,
        origin,
        found.confidence,
        found.notes,
        found.refusal == FOUR_LEGS
        or (settings.roles is not None and _stands_on_hands(places)),
    )


def _found_roles(
    model: mujoco.MjModel, tree: RoleTree
) -> tuple[int, list[int], RoleMap]:
    """The one body that stands among the top bodies: its root, its nodes, and its roles."""
    roots = [node for node, parent in enumerate(tree.parents) if parent < 0]
    moving = [
        root
        for root in roots
        if any(int(model.body_jntnum[node + 1]) for node in tree.branches[root])
    ]
    if not moving:
        raise ConfigError("it has no joints")
    tries = []
    for root in moving:
        part, nodes = branch(tree, root)
        found = find_roles(part)
        # With names on it, a dog passes: shape alone must say that it is a humanoid.
        shape = found if found.refusal else find_roles(replace(part, names=()))
        tries.append((root, nodes, replace(found, refusal=shape.refusal)))
    good = [
        row
        for row in tries
        if not row[2].refusal or (row[2].refusal == FOUR_LEGS and row[2].joints)
    ]
    if len(good) > 1:
        names = " and ".join(repr(model.body(row[0] + 1).name) for row in good[:2])
        raise ConfigError(f"two bodies, {names}: a file holds one")
    if not good:
        row = max(tries, key=lambda one: len(one[1]))
        raise ConfigError(f"no humanoid: {row[2].refusal}")
    root, nodes, found = good[0]
    if len(roots) > 1:
        others = [model.body(r + 1).name for r in moving if r != root]
        if others:
            note = f"other bodies are left out: {', '.join(others[:3])}"
            found = replace(found, notes=(*found.notes, note))
    return root, nodes, found


def _given_roles(model: mujoco.MjModel, tree: RoleTree, given: RolesFile) -> RoleMap:
    """Roles by the names of bodies or joints."""
    index = {model.body(b).name: b - 1 for b in range(1, model.nbody)}
    for j in range(model.njnt):
        index.setdefault(model.joint(j).name, int(model.jnt_bodyid[j]) - 1)

    def node(name: str, role: str) -> int:
        if name not in index:
            raise ConfigError(
                f"roles: {role}: no joint or body {name!r}{nearest(name, index)}"
            )
        return index[name]

    joints = {role: node(name, role) for role, name in given.roles.items()}
    seen: dict[int, str] = {}
    for role, joint in joints.items():
        if joint in seen:
            raise ConfigError(f"roles: {seen[joint]} and {role} are one body")
        seen[joint] = role
    chains = {
        role: tuple(
            dict.fromkeys(node(name, role) for name in given.chains.get(role, ()))
        )
        or (joint,)
        for role, joint in joints.items()
    }
    if "hips" not in joints:
        raise ConfigError("roles: the hips are missing")
    up = None if given.up is None else np.array(given.up)
    forward = None if given.forward is None else np.array(given.forward)
    return RoleMap(
        in_order(joints), in_order(chains), up=up, forward=forward, is_facing_sure=True,
        confidence=1.0,
    )  # fmt: skip


def _stands_on_hands(places: dict[str, Floats]) -> bool:
    """Whether the ends of arms are as low as those of legs; `places` as in `BodyRoles`."""
    for leg, arm in (("foot", "hand"), ("shin", "forearm")):
        ends = [[f"{side}_{part}" for side in SIDES] for part in (leg, arm)]
        if all(role in places for pair in ends for role in pair):
            low, arms = (np.mean([places[role][2] for role in pair]) for pair in ends)
            return bool(low < 0.0 and abs(arms - low) <= LEVEL * abs(low))
    return False


def _axes(found: RoleMap, places: dict[str, Floats]) -> Floats:
    """X ahead, Y left and Z up as the rows of a rotation, (3, 3)."""
    up = np.array([0.0, 0.0, 1.0]) if found.up is None else found.up
    up = up / np.linalg.norm(up)
    left = places["left_thigh"] - places["right_thigh"]
    ahead = np.cross(left, up) if found.forward is None else found.forward
    ahead = ahead - (ahead @ up) * up
    length = float(np.linalg.norm(ahead))
    if length < 1e-6:
        raise ConfigError("its front is along its up: give forward in NAME.roles.json")
    ahead = ahead / length
    turn: Floats = np.stack([ahead, np.cross(up, ahead), up])
    return turn
