"""Roles by names and the tree alone, for skeletons whose rest pose has no shape.

Bones that all point along one axis, or offsets that are written as 0, show nothing.
"""

from __future__ import annotations

from ambulo.motion.roles.names import NameVote, votes_of
from ambulo.motion.roles.tree import ARM, LEG, SIDES, RoleTree


def roles_by_names(tree: RoleTree) -> dict[str, int]:
    """Return the joints whose names, and whose places in the tree, say their roles."""
    names = votes_of(tree)
    match: dict[str, int] = {}
    for side in SIDES:
        for limb in (LEG, ARM):
            row = _limb(tree, names, side, limb)
            if (
                "upper_arm" in row
                and names[row["upper_arm"]].key == "shoulder"
                and "forearm" not in row
            ):
                row.setdefault("clavicle", row.pop("upper_arm"))
            match.update({f"{side}_{role}": node for role, node in row.items()})
    return {**_trunk(tree, names, match), **match}


def total_vote(tree: RoleTree, joints: dict[str, int]) -> float:
    """Return how much names say for the roles of joints, in all."""
    names = votes_of(tree)
    total = 0.0
    for role, node in joints.items():
        side, _, limb = role.partition("_")
        if side not in SIDES:
            total += names[node].for_role(role) * (not names[node].side)
        elif names[node].side in ("", side):
            total += names[node].for_role(limb)
    return total


def _limb(
    tree: RoleTree, names: tuple[NameVote, ...], side: str, roles: tuple[str, ...]
) -> dict[str, int]:
    """The joints of one limb: the path down the tree whose names say most, roles in order."""
    best: dict[int, list[tuple[float, dict[str, int]]]] = {}
    top: tuple[float, dict[str, int]] = (0.0, {})
    blank: list[tuple[float, dict[str, int]]] = [(0.0, {})] * (len(roles) + 1)
    for node in tree.order:
        # rows[r]: the best of the path down to here that uses only the first r roles.
        rows = list(best.get(tree.parents[node], blank))
        if names[node].side == side and node not in tree.ends:
            above = list(rows)
            for count, role in enumerate(roles, start=1):
                vote = names[node].for_role(role)
                option = (
                    above[count - 1][0] + vote,
                    {**above[count - 1][1], role: node},
                )
                if vote and option[0] > rows[count][0]:
                    rows[count] = option
                rows[count] = max(rows[count], rows[count - 1], key=lambda row: row[0])
        best[node] = rows
        top = max(top, rows[-1], key=lambda row: row[0])
    return top[1]


def _trunk(
    tree: RoleTree, names: tuple[NameVote, ...], limbs: dict[str, int]
) -> dict[str, int]:
    """Hips, spine, chest, neck and head, by names and by where the limbs hang."""

    def named(role: str) -> int:
        votes = [one.for_role(role) * (not one.side) for one in names]
        best = max(range(len(votes)), key=lambda node: (votes[node], -node))
        return best if votes[best] else -1

    match: dict[str, int] = {}
    hips = named("hips")
    if hips < 0:
        hips = max(_meeting(tree, limbs, "thigh"), 0)
    match["hips"] = hips
    chest = _meeting(tree, limbs, "clavicle", "upper_arm")
    while chest >= 0 and names[chest].for_role("neck"):
        chest = tree.parents[chest]  # 3ds Max hangs the clavicles on the neck
    inside = chest >= 0 and hips in tree.ancestors(chest)
    between = tree.path(hips, chest)[1:] if inside else []
    if between:
        match["chest"] = chest
        if between[0] != chest:
            match["spine"] = between[0]
    head = named("head")
    if head < 0 and between:
        head = _top_of_spine(tree, names, chest)
    if head >= 0:
        match["head"] = head
        start = match.get("chest", hips)
        above = tree.path(start, head)[1:] if start in tree.ancestors(head) else []
        if len(above) > 1:
            match["neck"] = above[0]
    return match


def _meeting(tree: RoleTree, limbs: dict[str, int], *roles: str) -> int:
    """The nearest joint above both sides' first of the limbs `roles`, or -1."""
    for role in roles:
        if all(f"{side}_{role}" in limbs for side in SIDES):
            left = set(tree.ancestors(limbs[f"left_{role}"])[1:])
            above = tree.ancestors(limbs[f"right_{role}"])[1:]
            return next((node for node in above if node in left), -1)
    return -1


def _top_of_spine(tree: RoleTree, names: tuple[NameVote, ...], chest: int) -> int:
    """The last joint of a spine that goes on above the chest (Rigify's head), or -1."""
    top = chest
    while above := [
        child
        for child in tree.children[top]
        if not names[child].side and names[child].key.startswith("spine")
    ]:
        top = above[0]
    return -1 if top == chest else top
