"""How a function is applied to many jobs: in a loop, or by workers where they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

Play = Callable[[Shared, Job], Result]
"""What makes a job's result of it and of what all jobs share."""


class Apply(Protocol):
    """Applies a function to jobs; results come in the order of the jobs, one by one."""

    def __call__(
        self,
        play: Play[Shared, Job, Result],
        shared: Shared,
        jobs: Iterable[Job],
        name: Callable[[Job], str] = str,
    ) -> Iterator[Result]:
        """Yield `play(shared, job)` for every job.

        Args:
            play: decided by its arguments alone, whoever calls it and how often.
            shared: what all jobs share.
            jobs: what differs.
            name: what errors call a job.
        """


def here(
    play: Play[Shared, Job, Result],
    shared: Shared,
    jobs: Iterable[Job],
    name: Callable[[Job], str] = str,
) -> Iterator[Result]:
    """Apply in a loop of this process, each job when its result is asked for."""
    for job in jobs:
        yield play(shared, job)
