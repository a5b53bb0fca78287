"""Fair scheduling: equal time for sources, and for the clients of each.

Start-time fair queuing (Goyal, Vin and Cheng, 1997) with measured costs: each account has a
tag, which grows by the time spent on it; the account with the smallest tag is next. One that
had no work continues at the tag of the one in service, so that idle time is not saved up. A
source is a network address without its port: many sockets of one machine have the time of one
source.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

PATIENCE = 16
"""Smallest number of answered frames before a learning task while others wait."""
LESSONS = 9.0
"""Time for answers, as multiple of the last learning task, before the next one while answers
wait."""
LARGE = 128
"""Number of bones from which a rig's time counts twice: large rigs delay all others for
longer."""
Member = TypeVar("Member", bound=Hashable)


class Shares(Generic[Member]):
    """Members that take turns, each by the time spent on it."""

    def __init__(self) -> None:
        """Create it without members."""
        self._tags: dict[Member, float] = {}
        self._turn: deque[Member] = deque()
        self.now = 0.0
        """Tag of the member in service."""

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._turn)

    def __contains__(self, member: object) -> bool:
        """Return whether `member` is one."""
        return member in self._tags

    def add(self, member: Member, tag: float = 0.0) -> None:
        """Add `member`, whose tag is at least `tag`."""
        if member not in self._tags:
            self._tags[member] = max(tag, self.now)
            self._turn.append(member)

    def remove(self, member: Member) -> float:
        """Remove `member`; return its tag."""
        tag = self._tags.pop(member, None)
        if tag is None:
            return self.now
        self._turn.remove(member)
        return tag

    def next(self, has_work: Callable[[Member], bool]) -> Member | None:
        """Return the member with work and the least time so far; in rotation among equals."""
        best: Member | None = None
        for member in self._turn:
            if not has_work(member):
                continue
            tag = self._tags[member] = max(self._tags[member], self.now)
            if best is None or tag < self._tags[best]:
                best = member
        if best is not None:
            self.now = self._tags[best]
            self._turn.remove(best)
            self._turn.append(best)
        return best

    def charge(self, member: Member, seconds: float) -> None:
        """Add `seconds` of work to `member`, if it is one."""
        if member in self._tags:
            self._tags[member] += seconds


class FairShares(Generic[Member]):
    """Members of sources: sources take turns, and the members of each."""

    def __init__(self) -> None:
        """Create it without members."""
        self._sources: Shares[Hashable] = Shares()
        self._gone: dict[Hashable, float] = {}
        """Tags of sources that left before others had as much time."""
        self._members: dict[Hashable, Shares[Member]] = {}

    def add(self, member: Member, source: Hashable) -> None:
        """Add `member` to those of `source`."""
        self._sources.add(source, self._gone.pop(source, 0.0))
        self._members.setdefault(source, Shares()).add(member)

    def remove(self, member: Member, source: Hashable) -> None:
        """Remove `member`."""
        members = self._members.get(source)
        if members is None:
            return
        members.remove(member)
        if not len(members):
            self._gone[source] = self._sources.remove(source)
            now = self._sources.now
            self._gone = {s: tag for s, tag in self._gone.items() if tag > now}
            del self._members[source]

    def next(self, has_work: Callable[[Member], bool]) -> Member | None:
        """Return the next member with work of the next source."""

        def busy(source: Hashable) -> bool:
            return any(map(has_work, self._members[source]._turn))

        source = self._sources.next(busy)
        return None if source is None else self._members[source].next(has_work)

    def charge(self, member: Member, source: Hashable, seconds: float) -> None:
        """Add `seconds` of work to a member of `source`."""
        self._sources.charge(source, seconds)
        if source in self._members:
            self._members[source].charge(member, seconds)


class LessonPace:
    """Pace of learning tasks while answers wait: answers get most of the time."""

    def __init__(self) -> None:
        """Start without any task."""
        self._count = 0
        self._spent = self._lesson = 0.0

    @property
    def is_due(self) -> bool:
        """Whether answers had their time since the last task."""
        return self._count >= PATIENCE and self._spent >= LESSONS * self._lesson

    def answered(self, seconds: float) -> None:
        """Record an answer."""
        self._count += 1
        self._spent += seconds

    def learned(self, seconds: float) -> None:
        """Record a learning task."""
        self._count, self._spent, self._lesson = 0, 0.0, seconds
