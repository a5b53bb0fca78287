"""Names of joints: their side, and votes for roles.

The dictionary is `configs/joint_names.json`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from ambulo.motion.roles.tree import RoleTree

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\x00-\x7f]+")


@dataclass(frozen=True, eq=False)
class JointNames:
    """The dictionary of joint names."""

    votes: dict[str, dict[str, float]]
    """Votes for roles without side, by name."""
    sides: dict[str, str]
    """Side by its word."""
    prefixes: re.Pattern[str]
    """Prefixes of names that programs add."""
    fillers: frozenset[str]
    """Words that say nothing."""
    helpers: re.Pattern[str]
    """Parts of names of bones that only help others: they vote for nothing."""


@dataclass(frozen=True)
class NameVote:
    """Side of a joint, and votes for roles, by its name."""

    side: str
    """"left", "right" or ""."""
    key: str
    """The rest of the name, in small letters."""
    votes: tuple[tuple[str, float], ...]
    """Roles without side, and how much the name says for each."""

    def for_role(self, limb: str) -> float:
        """Return the vote for a role without side."""
        return next((vote for role, vote in self.votes if role == limb), 0.0)


@cache
def joint_names() -> JointNames:
    """Return the dictionary."""
    text = files("ambulo.configs").joinpath("joint_names.json").read_text("utf-8")
    data = json.loads(text)
    votes: dict[str, dict[str, float]] = {}
    for role, words in data["words"].items():
        for word, vote in words.items():
            votes.setdefault(word, {})[role] = float(vote)
    prefixes = "|".join(rf"{prefix}\w*?" for prefix in data["prefixes"])
    return JointNames(
        votes,
        data["sides"],
        re.compile(rf"^(.*[:|]|({prefixes})[ _.\-]+)", re.IGNORECASE),
        frozenset(data["fillers"]),
        re.compile("|".join(data["helpers"])),
    )


@lru_cache(maxsize=4096)
def name_vote(name: str) -> NameVote:
    """Return what `name` says: "mixamorig:LeftUpLeg" is the left thigh."""
    known = joint_names()
    side, key = _split(name, known)
    votes: dict[str, float] = {}
    if not known.helpers.search(name.lower()):
        votes = known.votes.get(key) or known.votes.get(key.rstrip("0123456789"), {})
    return NameVote(side, key, tuple(votes.items()))


def votes_of(tree: RoleTree) -> tuple[NameVote, ...]:
    """Return what the names of all nodes say; nothing where there are none, nor of ends."""
    blank = NameVote("", "", ())
    if not tree.names:
        return (blank,) * len(tree.parents)
    return tuple(
        blank if node in tree.ends else name_vote(name)
        for node, name in enumerate(tree.names)
    )


def _split(name: str, known: JointNames) -> tuple[str, str]:
    """Side and the rest of a name ("LeftUpLeg", "thigh.L", "lfemur", "左足")."""
    bare = known.prefixes.sub("", known.prefixes.sub("", name, 1), 1)
    side = ""
    if bare[:1] in ("左", "右"):
        side, bare = known.sides[bare[0]], bare[1:]
    words = [word.lower() for word in _WORD.findall(bare)]
    for word in words:
        if not side and word in known.sides and len(words) > 1:
            side = known.sides[word]
            words.remove(word)
            break
    key = "".join([word for word in words if word not in known.fillers] or words)
    if not side and key not in known.votes:
        for start in ("left", "right", "l", "r"):
            rest = key.removeprefix(start)
            plain = rest.rstrip("0123456789")
            if rest != key and (rest in known.votes or plain in known.votes):
                return known.sides[start], rest
    return side, key
