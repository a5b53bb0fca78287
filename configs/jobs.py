"""Application of a function to many jobs: in a loop, or by worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

Play = Callable[[Shared, Job], Result]
"""Computes the result of a job from the shared data and the job."""


class Apply(Protocol):
    """Applies a function to jobs; yields the results one by one, in the order of the jobs."""

    def __call__(
        self,
        play: Play[Shared, Job, Result],
        shared: Shared,
        jobs: Iterable[Job],
        name: Callable[[Job], str] = str,
    ) -> Iterator[Result]:
        """Yield `play(shared, job)` for every job.

        Args:
            play: A pure function of its arguments.
            shared: Data that all jobs share.
            jobs: The jobs.
            name: Name of a job in errors.
        """


def here(
    play: Play[Shared, Job, Result],
    shared: Shared,
    jobs: Iterable[Job],
    name: Callable[[Job], str] = str,
) -> Iterator[Result]:
    """Apply in a loop of this process; each job runs when its result is requested."""
    for job in jobs:
        yield play(shared, job)
