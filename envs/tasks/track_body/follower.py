"""Common parts of all bodies that follow a player's trackers."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from ambulo.configs.arrays import Floats, Ints
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.locomotion.observation import TRACKER_AGES
from ambulo.envs.reference.clips.clip_library import named_clips
from ambulo.envs.reference.clips.tracked_library import TrackedLibrary, tracked_library
from ambulo.envs.reference.reference import Reference
from ambulo.envs.simulation.frames import along_heading
from ambulo.envs.state_arrays import Arrays
from ambulo.envs.tasks.track import ClipFollower
from ambulo.ik.trackers.layout import TRACKED

STIFFNESS, DAMPING = 60.0, 15.0
"""Acceleration by distance, [1/s^2], and by velocity, [1/s]."""
TURN_STIFFNESS, TURN_DAMPING = 100.0, 4.0
"""Stiffness, [1/s^2], and damping, [1/s], of rotations. With more damping, the light pelvis
oscillates from one physics step to the next."""
INERTIA = 0.12
"""Moment of inertia about the root over the mass, [m^2], of a trunk with arms."""
ARM = 0.3
"""Largest moment over the largest force, [m]."""


class SupportForce:
    """Limited external wrenches that pull the roots of N bodies towards their references.

    They have no physical source; the limit says how far a motion is from one that ground
    contact alone could support (residual forces: Y. Yuan and K. Kitani, NeurIPS 2020).
    """

    def __init__(self, model: mujoco.MjModel, mass: float, most: float) -> None:
        """Create it for bodies of `mass`, [kg]; forces are at most `most` body weights."""
        weight = mass * float(np.linalg.norm(model.opt.gravity))
        self._mass, self._most = mass, most * weight

    def wrench(self, apart: Floats, slower: Floats, turn: Floats) -> Floats:
        """Force, [N], and moment, [N m], in the world. Shape (N, 6).

        Args:
            apart: Error of the root: position in the world, [m], and rotation in its own
                frame, [rad]. Shape (N, 6).
            slower: Error of its velocity, [m/s], [rad/s]. Shape (N, 6).
            turn: Rotations of the roots. Shape (N, 3, 3).
        """
        force = self._mass * (STIFFNESS * apart[:, :3] + DAMPING * slower[:, :3])
        own = TURN_STIFFNESS * apart[:, 3:] + TURN_DAMPING * slower[:, 3:]
        moment = INERTIA * self._mass * np.einsum("nij,nj->ni", turn, own)
        return np.concatenate(
            [_within(force, self._most), _within(moment, ARM * self._most)], axis=1
        )


def _within(vectors: Floats, longest: float) -> Floats:
    """Vectors (N, 3), shortened to at most `longest`."""
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, longest / np.maximum(size, longest)))


def tracked_clips(
    config: LocomotionConfig, reference: Reference, character: Character
) -> TrackedLibrary:
    """Poses computed from the trackers of the captured clips of `reference`.

    Raises:
        ConfigError: A clip has another frame rate.
        IKError: The body tracker does not exist.
    """
    substeps = config.environment.substeps
    clips = named_clips(reference, character, substeps)
    tables = {name: gait.captured or gait.table for name, gait in clips.items()}
    return tracked_library(tables, character, substeps, config.trackers)


class TrackerFollower(ClipFollower):
    """N bodies that follow the poses computed from a clip's trackers.

    A pose is observed only after its samples have arrived: after a step, a body is `pose_delay`
    control steps behind the newest sample.
    """

    tracked: TrackedLibrary
    """Tracked poses and captured motion; set before `__init__`."""

    def __init__(
        self,
        config: LocomotionConfig,
        reference: Reference,
        character: Character,
        **kwargs: Any,
    ) -> None:
        """Create the batch; see `LocomotionBatch`."""
        count = int(kwargs["num_envs"])
        self._late = config.trackers.pose_delay
        self.captured_distance: Floats = np.zeros(count)
        """Mean distance of the bodies from the captured ones at the time of the newest
        sample, in the world, [m]. Shape (N,)."""
        self.tracker_distance: Floats = np.zeros(count)
        """Distance of the tracked joints alone, [m]. Shape (N,)."""
        super().__init__(config, reference, character, **kwargs)
        most, mass = config.trackers.support, float(character.model.body_mass.sum())
        self._support_force: SupportForce | None = None
        if most > 0.0:
            self._support_force = SupportForce(character.model, mass, most)
        self._pushed: Floats | None = None
        self._orientations = self.simulation.bind("xmat")
        self._tracked_joints = np.array(TRACKED)[self.tracked.present]

    def episode_info(self) -> Arrays:
        """Return also the distances of the bodies from the captured motion, [m]."""
        return super().episode_info() | {
            "captured_distance": self.captured_distance.copy(),
            "tracker_distance": self.tracker_distance.copy(),
        }

    def newest(self) -> Ints:
        """Rows of the knot arrays of the newest samples after a step. Shape (N,)."""
        library = self.library
        return library.knot_rows(self.clip, self.frame + self._late * library.substeps)

    def captured_distances(self) -> Floats:
        """Distance of each body from the captured one at the newest sample, [m]. (N, B)."""
        captured = self.tracked.captured[self.newest()]
        return np.asarray(
            np.linalg.norm(self._bodies[:, self._parts] - captured, axis=2)
        )

    def _look(self) -> None:
        super()._look()
        apart = self.captured_distances()
        self.captured_distance[:] = apart.mean(axis=1)
        self.tracker_distance[:] = apart[:, self._tracked_joints].mean(axis=1)

    def _move(self, offsets: Floats) -> Floats:
        self._pushed = None  # pushes are reapplied
        return super()._move(offsets)

    def _pull(self, apart: Floats, slower: Floats, *, level: bool) -> None:
        """Apply the support force towards the reference, in addition to the pushes.

        Args:
            apart: Root of the reference minus the body's, in tangent space. Shape (N, 6).
            slower: Difference of their velocities. Shape (N, 6).
            level: Leave out moments that would tilt the body.
        """
        simulation, force = self.simulation, self._support_force
        assert force is not None
        if self._pushed is None:
            self._pushed = simulation.push[:, self._pelvis, :2].copy()
        turn = self._orientations[:, self._pelvis].reshape(-1, 3, 3)
        wrench = force.wrench(apart, slower, turn)
        if level:
            wrench[:, 3:5] = 0.0
        wrench[simulation.fault > 0] = 0.0
        if self.pushes.on:
            wrench[:, :2] += self._pushed
        simulation.push[:, self._pelvis] = wrench


def seen_trackers(
    tracked: TrackedLibrary, clip: Ints, newest: Ints, root: Floats, yaw: Floats
) -> dict[str, Floats]:
    """Observation parts by name: the last tracker samples relative to the roots of N bodies.

    Args:
        tracked: The clips.
        clip: The clip of each body. Shape (N,).
        newest: Physics step of it with the newest sample. Shape (N,).
        root: World positions of the roots, [m]. Shape (N, 3).
        yaw: Headings of the roots, [rad]. Shape (N,).

    Returns:
        `tracked`, the mask of present trackers, (N, 6); for each age in `TRACKER_AGES` the
        positions from the root, `trackers_<age>`, (N, 18), [m], and the first two axes,
        `tracker_axes_<age>`, (N, 36), in the heading frame of the root.
    """
    library, count, there = tracked.library, len(clip), tracked.present[:, None]
    found: dict[str, Floats] = {
        "tracked": np.tile(tracked.present.astype(np.float64), (count, 1))
    }
    for age in TRACKER_AGES:
        rows = library.knot_rows(clip, newest - age * library.substeps)
        places = np.where(there, tracked.places[rows] - root[:, None], 0.0)
        axes = tracked.axes[rows].reshape(count, -1, 3)
        for name, vectors in (("trackers", places), ("tracker_axes", axes)):
            turned = np.concatenate(
                [along_heading(vectors, yaw), vectors[..., 2:]], axis=-1
            )
            found[f"{name}_{age}"] = turned.reshape(count, -1)
    return found
