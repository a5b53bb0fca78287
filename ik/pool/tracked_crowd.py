"""Many tracked players: their trackers advance here, and one job refines all bodies.

The history of the trackers stays in the caller's process. Workers only get targets and poses of
one moment, so that no state is lost with a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ambulo.configs.errors import IKError, nearest
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.pool.slots import JobResult
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig
from ambulo.ik.solver.targets import Targets
from ambulo.ik.trackers.conventions import TrackerSample
from ambulo.ik.trackers.rig_player import RigPlayer
from ambulo.ik.trackers.tracker import BodyTracker

Solve = Callable[[Targets, Pose], JobResult]

FEET = ("LeftFoot", "RightFoot")
"""Rows that are kept at the tracked body, unless they have trackers."""


@dataclass(frozen=True, eq=False)
class CrowdFrame:
    """Poses of B players at one moment, in the order of `names`."""

    names: tuple[str, ...]
    """The players with samples."""
    pose: Pose
    """Their poses on the rig, which meet the trackers; where the job failed, `base`."""
    base: Pose
    """Poses of the tracked bodies before the refinement."""
    targets: Targets
    """The targets."""
    result: JobResult
    """The job's answer."""
    problems: dict[str, str]
    """Problems of each player's sample, in a line; players without any are left out."""

    def of(self, name: str) -> Pose:
        """The pose of one player; `IKError` if it had no sample."""
        if name not in self.names:
            raise IKError(f"no player {name!r}{nearest(name, self.names)}")
        row = self.names.index(name)
        return self.pose[row : row + 1]


class TrackedCrowd:
    """Tracked players by name on one rig. Not for several threads at once."""

    def __init__(self, rig: Rig, solve: Solve) -> None:
        """A crowd without players.

        Args:
            rig: A rig with the bones of `ik23`.
            solve: `NeuralIKPool.solve`: one job for all players of a moment.
        """
        self.rig = rig
        self._solve = solve
        self._players: dict[str, RigPlayer] = {}
        self._waited: dict[str, float] = {}

    def __len__(self) -> int:
        """The number of players."""
        return len(self._players)

    def __contains__(self, name: object) -> bool:
        """Whether there is a player of that name."""
        return name in self._players

    @property
    def names(self) -> tuple[str, ...]:
        """The players, in the order in which they came."""
        return tuple(self._players)

    def add(self, name: str, tracker: BodyTracker) -> None:
        """Add a player; only the crowd may step its tracker."""
        if name in self._players:
            raise IKError(f"there is a player {name!r} already")
        self._players[name] = RigPlayer(tracker, self.rig)
        self._waited[name] = 0.0

    def remove(self, name: str) -> None:
        """Remove a player; `IKError` for an unknown name."""
        self.player(name)
        del self._players[name], self._waited[name]

    def player(self, name: str) -> RigPlayer:
        """Return a player; `IKError` for an unknown name."""
        if name not in self._players:
            raise IKError(f"no player {name!r}{nearest(name, self._players)}")
        return self._players[name]

    def waited(self, name: str) -> float:
        """Time that a player has had no sample, [s]."""
        return self._waited[name]

    def step(
        self,
        samples: Mapping[str, TrackerSample | None],
        dt: float,
        ground: float | Mapping[str, float] = 0.0,
    ) -> CrowdFrame:
        """Advance all players by `dt` and refine their poses in one job.

        Args:
            samples: Readings of the trackers of each player; None: all are lost. Players left
                out wait, and later advance by the whole time.
            dt: Time since the last call, above 0, [s].
            ground: Height of the ground, [m], or one for each player.

        Raises:
            IKError: No samples, more than the pool's capacity, an unknown player, a time that
                does not increase, arrays of other shapes, or a closed pool.
        """
        if not samples:
            raise IKError("no samples: give those of one player at least")
        if not (np.isfinite(dt) and dt > 0.0):
            raise IKError(f"the time must grow: dt must be above 0 s, got {dt:g}")
        players = {name: self.player(name) for name in samples}
        for name in self._waited:
            self._waited[name] += dt
        for name, player in players.items():
            height = ground if isinstance(ground, float | int) else ground[name]
            player.step(samples[name], self._waited[name], height)
            self._waited[name] = 0.0
        poses = [player.pose() for player in players.values()]
        base = Pose(
            np.concatenate([pose.root for pose in poses]),
            np.concatenate([pose.rotations for pose in poses]),
        )
        wanted = Targets.concatenate([player.targets() for player in players.values()])
        reference = Targets.of_pose(self.rig, base)
        targets = EffectorGoals.at(reference, FEET).lead(wanted).targets()
        result = self._solve(targets, base)
        problems = {name: player.problem() for name, player in players.items()}
        return CrowdFrame(
            tuple(players),
            base if result.solution is None else result.solution.pose,
            base,
            targets,
            result,
            {name: line for name, line in problems.items() if line},
        )
