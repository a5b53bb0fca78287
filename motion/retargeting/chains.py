"""Chains of hinges that rotate one part of a body together: the angles that orient it.

A robot's hip is three hinges in a row. The role's joint is the last of them, and the chain is
solved for the part's orientation. Its angles are a least-squares solution within their limits,
started from the previous frame, so that they pass singular poses without a jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from ambulo.configs.arrays import Array, Floats
from ambulo.motion.kinematics import rest_kinematics
from ambulo.motion.quaternion_kernels import (
    about_axis,
    between,
    logarithm,
    multiply,
    multiply_inverse,
    rotate,
    unrotate,
)
from ambulo.motion.rotations import quat_rotate
from ambulo.motion.skeleton import Skeleton

ROUNDS = 60
"""Largest number of steps of a frame; from the previous frame, three to five suffice."""
NEUTRAL = 1e-4
"""Weight of squared angles, relative to the squared angular error: it resolves redundant hinges
in a row, and costs 0.01 degrees otherwise."""
MANY, SHARES = 4, (0.0, -0.8, 0.8)
"""Number of hinges from which a chain's first frame starts at 0 alone, and the start values of
shorter ones, as fractions of their limits."""
SOFT = 0.1
"""Weight of the error about a soft axis."""
LARGEST, ENOUGH = 0.5, 1e-9
"""Largest step of an angle, and the step after which a frame is done, [rad]."""
TWISTED, ALONG = ("thigh", "upper_arm"), 0.7
"""Bones whose twist a hinge contributes wherever it lies on them, and the smallest cosine of
its axis to the bone."""
SAME = 0.03
"""Distance, over the hips' height, within which hinges without a role below them count as at
one place."""
SHARED = {"spine": "chest", "neck": "head"}
"""Roles that have a chain of their own only with three hinges; otherwise they join the next."""


def hinge_axes(skeleton: Skeleton) -> Floats:
    """Axis of each hinge in its own frame; zeros for other joints. Shape (J, 3)."""
    axes = np.zeros((len(skeleton), 3))
    for joint, order in enumerate(skeleton.orders):
        if len(order) == 1:
            axes[joint] = quat_rotate(
                skeleton.axes[joint], np.eye(3)["XYZ".index(order)]
            )
    return axes


def hinge_chains(skeleton: Skeleton, roles: dict[str, int]) -> dict[str, list[int]]:
    """The hinges in a row that rotate the part of each role; roles with two or more of them.

    Balls rotate their part alone. Chains given by the skeleton are kept. A role owns the hinges
    that lead to its joint from another part, and those after it that are nearer to it than to
    the next role. A hinge that twists thigh or upper arm belongs to these.

    Args:
        skeleton: The skeleton.
        roles: Joint of each role.

    Returns:
        The joints of each chain, each the parent of the next.
    """
    places, turns = rest_kinematics(skeleton)
    axes = quat_rotate(turns, hinge_axes(skeleton))
    chains = {
        role: list(skeleton.chains[role]) for role in roles if role in skeleton.chains
    }
    held = {*roles.values(), *(j for chain in chains.values() for j in chain)}
    tree = _Tree(skeleton, dict(roles), places, axes, held)
    for role, joint in roles.items():
        if role in chains or len(skeleton.orders[joint]) != 1:
            continue
        own = [*_before(skeleton, joint, held), *tree.after(role)]
        if SHARED.get(role) in tree.roles and len(own) < 3:
            held.discard(joint)
            del tree.roles[role]
            continue
        chains[role] = own
        held.update(own)
    return {
        role: chain
        for role, chain in chains.items()
        if len(chain) > 1 and all(len(skeleton.orders[joint]) == 1 for joint in chain)
    }


def _before(skeleton: Skeleton, end: int, held: set[int]) -> list[int]:
    """The hinges in a row that lead to `end` from the nearest joint in `held`."""
    path: list[int] = []
    joint = end
    while joint > 0 and len(skeleton.orders[joint]) == 1:
        path.insert(0, joint)
        joint = skeleton.parents[joint]
        if joint in held:
            break
    return path


@dataclass(frozen=True, eq=False)
class _Tree:
    """A skeleton at rest; see `hinge_chains`."""

    skeleton: Skeleton
    roles: dict[str, int]
    places: Floats
    axes: Floats
    held: set[int]

    def after(self, role: str) -> list[int]:
        """The hinges in a row after a role's joint that belong to it."""
        chain: list[int] = []
        ends, joint = set(self.roles.values()), self.roles[role]
        while True:
            below = self.skeleton.children(joint)
            leads = [c for c in below if not ends.isdisjoint(self.skeleton.branch(c))]
            if len(leads or below) != 1:
                return chain
            joint = (leads or below)[0]
            if joint in self.held or len(self.skeleton.orders[joint]) != 1:
                return chain
            own = (
                self._belongs(role, joint) if leads else self._ends(role, joint, chain)
            )
            if not own:
                return chain
            chain.append(joint)

    def _ends(self, role: str, joint: int, chain: list[int]) -> bool:
        """Whether a hinge without a role below it belongs to a role's part.

        It does if it is at the same place, or all the part's tips lie beyond it (an ankle's
        second hinge, but no toes: the heel lies before them).
        """
        start = self.roles[role]
        away = float(np.linalg.norm(self.places[joint] - self.places[start]))
        tipped = set(self.skeleton.tip_parents)
        carries = not tipped.isdisjoint(self.skeleton.branch(joint))
        beyond = carries and tipped.isdisjoint([start, *chain])
        return beyond or away < SAME * float(self.places[self.roles["hips"], 2])

    def _belongs(self, role: str, joint: int) -> bool:
        """Whether a hinge belongs to a role's part, or to that of the next role."""
        start = self.places[self.roles[role]]
        away = float(np.linalg.norm(self.places[joint] - start))
        ends = set(self.roles.values())
        # Parents come before children: the first is the next.
        following = next(j for j in self.skeleton.branch(joint) if j in ends)
        bone = self.places[following] - start
        if role.endswith(TWISTED):
            along = abs(self.axes[joint] @ bone) > ALONG * np.linalg.norm(bone)
            if along:
                return True
        return away < float(np.linalg.norm(self.places[following] - self.places[joint]))


def chain_rotations(
    skeleton: Skeleton,
    chain: list[int],
    axes: Floats,
    base: Floats,
    goal: Floats,
    soft: Floats,
) -> Floats:
    """Local rotations (T, n, 4) of a chain of n hinges that bring its last nearest to `goal`.

    Args:
        skeleton: The skeleton, J joints.
        chain: The hinges, each the parent of the next.
        axes: Axis of each hinge in its own frame; zeros for others. Shape (J, 3).
        base: World orientations of the first one's parent. Shape (T, 4).
        goal: World orientations that the last should take. Shape (T, 4).
        soft: World axes about which errors have less weight; zeros for none. Shape (T, 3).
    """
    local = np.empty((len(goal), len(chain), 4))
    limits = np.array(
        [skeleton.limits[skeleton.angle_slices[joint]][0] for joint in chain]
    )
    _solve_chain(
        np.ascontiguousarray(skeleton.rest[chain]),
        np.ascontiguousarray(axes[chain]),
        limits,
        np.ascontiguousarray(base),
        np.ascontiguousarray(goal),
        np.ascontiguousarray(soft),
        local,
    )
    return local


@njit(cache=True)
def _solve_chain(
    rest: Array, axes: Array, limits: Array, base: Array, goal: Array, soft: Array,
    local: Array,
) -> None:  # fmt: skip
    """Fill `local` (T, n, 4) frame after frame; see `chain_rotations`."""
    count = len(rest)
    angles, best = np.zeros(count), np.zeros(count)
    least = np.inf
    # The first frame has no previous one: it starts from all corners of a short chain's range.
    starts = 3**count if count < MANY else 1
    for start in range(starts):
        rest_of = start
        for i in range(count):
            share = SHARES[rest_of % 3]
            rest_of //= 3
            zero = min(max(0.0, limits[i, 0]), limits[i, 1])
            end = limits[i, 1] if share > 0.0 else limits[i, 0]
            angles[i] = zero + abs(share) * (end - zero)
        missed = _solve(rest, axes, limits, base[0], goal[0], soft[0], angles)
        if missed < least:
            least = missed
            best[:] = angles
    for t in range(len(goal)):
        _solve(rest, axes, limits, base[t], goal[t], soft[t], best)
        for i in range(count):
            about_axis(axes[i], best[i], local[t, i])


@njit(cache=True)
def _solve(
    rest: Array, axes: Array, limits: Array, base: Array, goal: Array, soft: Array,
    angles: Array,
) -> float:  # fmt: skip
    """Improve `angles` (n,) of one frame, in place; their cost is returned."""
    count = len(rest)
    spins, miss = np.empty((count, 3)), np.empty(3)
    turned, held, own = np.empty(4), np.empty(4), np.empty(4)
    normal, step = np.empty((count, count)), np.empty(count)
    cost = 0.0
    for _ in range(ROUNDS):
        turned[:] = base
        for i in range(count):
            multiply(turned, rest[i], held)
            rotate(held, axes[i], spins[i])
            about_axis(axes[i], angles[i], own)
            multiply(held, own, turned)
        multiply_inverse(goal, turned, held)
        _missed(held, soft, miss)
        cost = NEUTRAL * _dot(angles, angles) + _dot(miss, miss)
        for i in range(count):
            along = (1.0 - SOFT) * _dot(spins[i], soft)
            for k in range(3):
                spins[i, k] -= along * soft[k]
        _normal(spins, miss, angles, limits, normal, step)
        eliminate(normal, step)
        largest = 0.0
        for i in range(count):
            largest = max(largest, abs(step[i]))
        share = min(1.0, LARGEST / max(largest, ENOUGH))
        for i in range(count):
            moved = angles[i] + share * step[i]
            angles[i] = min(max(moved, limits[i, 0]), limits[i, 1])
        if largest < ENOUGH:
            break
    return cost


@njit(cache=True)
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def _normal(
    spins: Array, miss: Array, angles: Array, limits: Array, normal: Array, right: Array
) -> None:
    """Fill the normal equations; an angle at its limit that would exceed it is fixed."""
    count = len(angles)
    for i in range(count):
        right[i] = _dot(spins[i], miss) - NEUTRAL * angles[i]
        low = angles[i] <= limits[i, 0] and right[i] < 0.0
        stays = low or (angles[i] >= limits[i, 1] and right[i] > 0.0)
        for j in range(count):
            normal[i, j] = 0.0 if stays else _dot(spins[i], spins[j])
        normal[i, i] = 1.0 if stays else normal[i, i] + NEUTRAL
        if stays:
            right[i] = 0.0


@njit(cache=True)
def eliminate(matrix: Array, x: Array) -> None:
    """Solve `matrix` x = x in place; pivots are positive (normal equations)."""
    count = len(x)
    for k in range(count):
        for i in range(k + 1, count):
            factor = matrix[i, k] / matrix[k, k]
            for j in range(k, count):
                matrix[i, j] -= factor * matrix[k, j]
            x[i] -= factor * x[k]
    for k in range(count - 1, -1, -1):
        for j in range(k + 1, count):
            x[k] -= matrix[k, j] * x[j]
        x[k] /= matrix[k, k]


@njit(cache=True)
def _missed(rest: Array, soft: Array, out: Array) -> None:
    """The remaining rotation `rest` (4,) as a vector (3,), with less weight about `soft` (3,).

    That component comes after the smallest rotation that aligns the axis.
    """
    if not soft.any():
        logarithm(rest, out)
        return
    axis, swing, twist, about = np.empty(3), np.empty(4), np.empty(4), np.empty(3)
    unrotate(rest, soft, axis)
    between(axis, soft, swing)
    multiply_inverse(rest, swing, twist)
    logarithm(swing, out)
    logarithm(twist, about)
    out += SOFT * about
