"""Landmarks along mirrored limbs: hip, knee, ankle, toe; shoulder, elbow, wrist.

Every triple of nodes of a path is scored as the joints of a leg or an arm: by lengths,
directions, what follows, and names. Scores are logarithms of densities but for constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.motion.roles.names import NameVote
from ambulo.motion.roles.symmetry import LimbPair
from ambulo.motion.roles.tree import RoleTree, unit

NAME_WEIGHT = 2.5
"""Score of a whole vote of names, mean of both sides."""
CLUSTER, SMALL_CLUSTER = 0.045, 0.03
"""Hinges of one joint lie within these fractions of the limb's length (hip and shoulder; the
others)."""
MAX_PATH = 60
"""Most nodes on the path of a limb: longer ones are ropes."""
TOE_AHEAD = 0.085
"""Smallest horizontal distance of a toe from the ankle, over the leg's length."""
TOE_DROP, TOE_FAR = 0.015, 0.2
"""Smallest drop below the ankle, or distance from it, of a joint that is no hinge of it."""
NO_HAND, END_HAND = -2.5, 2.0
"""Score of an arm whose last joint is the elbow, and cost of a wrist that is no joint."""


@dataclass(frozen=True, eq=False)
class Limb:
    """Landmarks of a leg or an arm, as rows of its pair of paths."""

    pair: LimbPair
    score: float
    upper: int
    """Hip or shoulder."""
    lower: int
    """Knee or elbow."""
    end: int | None
    """Ankle or wrist."""
    beyond: int | None
    """Toe of a leg, clavicle of an arm."""
    length: float
    """From hip to ankle, or from shoulder to wrist."""

    def point(self, row: int | None) -> Floats:
        """Place of a landmark, mean of both sides. Shape (3,)."""
        return self.pair.points[-1 if row is None else row]

    def first_of_cluster(self, row: int) -> int:
        """The first of the hinges that make up the joint at `row`."""
        points, near = self.pair.points, SMALL_CLUSTER * self.length
        while row > 0 and np.linalg.norm(points[row - 1] - points[row]) < near:
            row -= 1
        return row


class LimbScores:
    """Scores of paths of a tree."""

    def __init__(self, tree: RoleTree, names: tuple[NameVote, ...]) -> None:
        self.tree, self.names = tree, names
        self._paths: dict[LimbPair, _Path] = {}
        self._legs: dict[tuple[LimbPair, bytes], Limb | None] = {}

    def leg(self, pair: LimbPair, down: Floats) -> Limb | None:
        """Return the best leg on a pair of paths, `down` (3,) being down."""
        key = pair, down.tobytes()
        if key not in self._legs:
            self._legs[key] = self._leg(pair, down)
        return self._legs[key]

    def _path(self, pair: LimbPair) -> _Path:
        if pair not in self._paths:
            self._paths[pair] = _Path(self, pair)
        return self._paths[pair]

    def _leg(self, pair: LimbPair, down: Floats) -> Limb | None:
        path = self._path(pair)
        if not 3 <= len(path.points) <= MAX_PATH:
            return None
        i, j, k = _triples(len(path.points))
        points, joint = path.points, path.joint
        thigh, shin = path.gap(i, j), path.gap(j, k)
        length = np.maximum(thigh + shin, 1e-9)
        last = len(points) - 1
        usable = joint[i] & joint[j] & (joint[k] | (k == last))
        usable &= np.minimum(thigh, shin) >= 0.25 * length
        if not usable.any():
            return None
        height = -points @ down
        rest = points[-1] - points[k]
        reach = np.linalg.norm(rest, axis=1)
        falls = np.maximum(0.0, unit(rest) @ down - 0.8)
        score = (
            -1.0 * ~joint[k]
            + bell(np.log(np.maximum(thigh, 1e-9) / np.maximum(shin, 1e-9)), 0.05, 0.25)
            + bell((height[k] - height.min()) / length, 0.08, 0.06)
            + bell(np.minimum(0.0, unit(points[k] - points[j]) @ down - 0.9), 0, 0.1)
            + bell(np.minimum(0.0, unit(points[k] - points[i]) @ down - 0.85), 0, 0.15)
            + bell(path.along[i] / length, 0.0, 0.12)
            + bell((path.along[k] - path.along[i] - length) / length, 0.0, 0.15)
            - 4.0 * np.maximum(0.0, 1.0 - pair.width[i] / (0.05 * length))
            + bell(np.maximum(0.0, reach / length - 0.45), 0.0, 0.1)
            - 5.0 * falls * (reach > 0.12 * length)
            + NAME_WEIGHT * (path.vote("thigh")[i] + path.vote("shin")[j])
            + NAME_WEIGHT * path.vote("foot")[k]
            - path.still[i] - path.still[j] - path.still[k]
        )  # fmt: skip
        best = int(np.where(usable, score, -np.inf).argmax())
        hip, knee, ankle = int(i[best]), int(j[best]), int(k[best])
        total = float(length[best])
        hip = path.last_of_cluster(hip, knee, CLUSTER * total, "thigh")
        knee = path.last_of_cluster(knee, ankle, SMALL_CLUSTER * total, "shin")
        ankle = path.last_of_cluster(ankle, last + 1, SMALL_CLUSTER * total, "foot")
        toe = self._toe(path, ankle, down, total)
        return Limb(pair, float(score[best]), hip, knee, ankle, toe, total)

    def arm(self, pair: LimbPair, leg: float, hips: float) -> Limb | None:
        """Return the best arm, for legs of length `leg` with hips `hips` from the plane."""
        path = self._path(pair)
        count = len(path.points)
        if not 2 <= count <= MAX_PATH:
            return None
        options = []
        if count > 2:
            options.append(self._arm_with_hand(path, leg))
        options.append(self._arm_without_hand(path, leg))
        i = np.concatenate([rows[0] for rows, _, _ in options])
        j = np.concatenate([rows[1] for rows, _, _ in options])
        k = np.concatenate([rows[2] for rows, _, _ in options])
        score = np.concatenate([score for _, score, _ in options])
        length = np.concatenate([length for _, _, length in options])
        upper = path.gap(i, j)
        clavicle = np.maximum.accumulate(np.r_[0.0, path.vote("clavicle")])[:-1]
        score = (
            score
            + bell(np.minimum(0.0, (pair.width[i] - hips) / leg), 0.0, 0.03)
            + bell(np.maximum(0.0, path.along[i]) / length, 0.12, 0.2)
            + bell((path.along[j] - path.along[i] - upper) / length, 0.0, 0.15)
            + NAME_WEIGHT * (path.vote("upper_arm")[i] + path.vote("forearm")[j] + clavicle[i])
            - path.still[i] - path.still[j]
        )  # fmt: skip
        score[~(path.joint[i] & path.bends[j])] = -np.inf
        best = int(score.argmax())
        if not np.isfinite(score[best]):
            return None
        total = float(length[best])
        end = None if k[best] == count else int(k[best])
        shoulder = path.last_of_cluster(
            int(i[best]), int(j[best]), CLUSTER * total, "upper_arm"
        )
        elbow = path.last_of_cluster(
            int(j[best]), int(k[best]), SMALL_CLUSTER * total, "forearm"
        )
        if end is not None:
            end = path.last_of_cluster(end, count, SMALL_CLUSTER * total, "hand")
        before = [
            row
            for row in range(shoulder)
            if path.gap(row, shoulder) > 0.12 * total and path.joint[row]
        ]
        vote = path.vote("clavicle")
        clav = max(before, key=lambda row: (vote[row], row), default=None)
        return Limb(pair, float(score[best]), shoulder, elbow, end, clav, total)

    def _arm_with_hand(
        self, path: _Path, leg: float
    ) -> tuple[tuple[Ints, Ints, Ints], Floats, Floats]:
        """Triples of joints, their scores and lengths of shoulder to wrist."""
        i, j, k = _triples(len(path.points))
        upper, fore = path.gap(i, j), path.gap(j, k)
        length = np.maximum(upper + fore, 1e-9)
        last = len(path.points) - 1
        score = (
            bell(np.log(np.maximum(upper, 1e-9) / np.maximum(fore, 1e-9)), 0.08, 0.22)
            + bell(np.log(length / leg), np.log(0.68), 0.2)
            + bell((path.along[-1] - path.along[k]) / length, 0.22, 0.2)
            + np.array([0.0, 0.0, 1.0, 2.0])[np.minimum(path.forks(0.02 * leg), 3)][k]
            - END_HAND * ~path.joint[k]
            + NAME_WEIGHT * path.vote("hand")[k]
            - path.still[k]
        )
        usable = (path.joint[k] | (k == last)) & (
            np.minimum(upper, fore) >= 0.2 * length
        )
        return (i, j, k), np.where(usable, score, -np.inf), length

    def _arm_without_hand(
        self, path: _Path, leg: float
    ) -> tuple[tuple[Ints, Ints, Ints], Floats, Floats]:
        """Pairs of joints whose second is the last, as for `_arm_with_hand`.

        Hinges after it that twist it belong to it.
        """
        last = len(path.points) - 1
        while last > 1 and path.twists[last]:
            last -= 1
        i = np.arange(last)
        j = np.full(last, last)
        length = 2.0 * path.gap(i, j)
        score = NO_HAND + bell(
            np.log(np.maximum(length, 1e-9) / leg), np.log(0.68), 0.2
        )
        score = np.where(length >= 0.2 * leg, score, -np.inf)
        return (i, j, j + 1), score, np.maximum(length, 1e-9)

    def _toe(self, path: _Path, ankle: int, down: Floats, length: float) -> int | None:
        """The first joint ahead of the ankle, or the one whose name says that it is the toe."""
        gaps = path.points - path.points[ankle]
        flat = np.linalg.norm(gaps - (gaps @ down)[:, None] * down, axis=1)
        vote = path.vote("toe")
        ahead = [
            row
            for row in range(ankle + 1, len(path.points))
            if path.joint[row]
            and flat[row] > TOE_AHEAD * length
            and (vote[row] or is_beyond_hinges(gaps[row], down, length))
        ]
        return max(ahead, key=lambda row: (vote[row], -row), default=None)


class _Path:
    """A pair of paths with what is known of its rows."""

    def __init__(self, scores: LimbScores, pair: LimbPair) -> None:
        tree = scores.tree
        self.tree, self.names, self.pair = tree, scores.names, pair
        self.points = pair.points
        self._votes: dict[str, Floats] = {}
        self.joint = np.array([node not in tree.ends for node in pair.sides[0]])
        self.twists = np.array([node in tree.twists for node in pair.sides[0]])
        self.bends = self.joint & ~self.twists
        self.still = np.array([float(node in tree.still) for node in pair.sides[0]])
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=1)
        self.along: Floats = np.r_[0.0, np.cumsum(steps)]

    def gap(self, first: Ints | int, second: Ints | int) -> Floats:
        """Distances between rows."""
        gap: Floats = np.linalg.norm(self.points[second] - self.points[first], axis=-1)
        return gap

    def vote(self, limb: str) -> Floats:
        """Mean vote of both sides' names for a role without side. Shape (n,)."""
        if limb not in self._votes:
            votes = [
                [self.names[node].for_role(limb) for node in side]
                for side in self.pair.sides
            ]
            self._votes[limb] = 0.5 * np.sum(votes, axis=0)
        return self._votes[limb]

    def forks(self, near: float) -> Ints:
        """How many branches leave what lies within `near` at or beyond each row. Shape (n,)."""
        nodes, count = self.pair.sides[0], len(self.points)
        step = np.r_[np.linalg.norm(np.diff(self.points, axis=0), axis=1), np.inf]
        own = np.array([len(self.tree.children[node]) for node in nodes]) - (
            step < near
        )
        close = np.linalg.norm(self.points[:, None] - self.points, axis=-1) < near
        forks: Ints = (np.triu(close) * own).sum(axis=1).reshape(count)
        return forks

    def last_of_cluster(self, row: int, stop: int, near: float, limb: str) -> int:
        """The last of the hinges that make up the joint at `row`, before row `stop`."""
        nodes, vote = self.pair.sides[0], self.vote(limb)
        if (
            limb in ("hand", "foot")
            and len(self.tree.joints(self.tree.children[nodes[row]])) > 1
        ):
            return row
        for later in range(row + 1, min(stop, len(nodes))):
            if (
                self.gap(row, later) >= near
                or not self.joint[later]
                or self.still[later]
                or vote[later] < vote[row]
            ):
                break
            row = later
        return row


def is_beyond_hinges(gap: Floats, down: Floats, length: float) -> bool:
    """Whether a point so far from the ankle (3,) is one of the foot, not a hinge of the ankle.

    Toes and soles lie lower than the ankle, or far ahead of it.
    """
    drop = float(gap @ down)
    flat = float(np.linalg.norm(gap - drop * down))
    return drop > TOE_DROP * length or flat > TOE_FAR * length


def _triples(count: int) -> tuple[Ints, Ints, Ints]:
    """All i < j < k below `count`."""
    rows = np.array(list(combinations(range(count), 3)))
    return rows[:, 0], rows[:, 1], rows[:, 2]


def bell(value: Floats | float, middle: float, width: float) -> Floats:
    """Return the logarithm of a normal density but for its constant."""
    return np.asarray(-0.5 * ((value - middle) / width) ** 2)
