"""Live trackers: at each change of the frame the tracker reads the empties and moves a body.

The body is the base of the frame; the solver moves hands, head and other joints with an empty
to the empties themselves, and keeps the feet at the body's. The player has the armature's own
proportions.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy.types import Object

from ambulo.configs.errors import ModelFileError, MotionError
from ambulo.ik.layers.goals import EffectorGoals
from ambulo.ik.pose import Pose
from ambulo.ik.rig import TARGETS
from ambulo.ik.solver.targets import Targets
from ambulo.motion.rotations import quat_conjugate, quat_multiply

from .binding import BindingError
from .session import SESSION, Bound

if TYPE_CHECKING:
    from ambulo.ik.trackers.conventions import TrackerSample
    from ambulo.ik.trackers.network import TrackerNetwork
    from ambulo.ik.trackers.rig_player import RigPlayer
    from ambulo.ik.trackers.shape import BodyShape

SHIPPED = "ik_trackers"
"""The model in the extension, if it existed when the extension was built."""
FEET = ("LeftFoot", "RightFoot")
HEAD = TARGETS.index("Head")
LONGEST = 0.5
"""Longest time between frames; after a longer one the body restarts, [s]."""


@dataclass
class Tracking:
    """A body that trackers move, while Blender runs."""

    player: RigPlayer
    """The player, in the size of `ik23`."""
    frame: float
    """Last tracked frame of the scene; NaN before the first."""
    pose: Pose
    """The body in that frame, on the armature's rig."""


def tracker_network(path: str) -> TrackerNetwork:
    """The network of a model file, read once; an empty path takes the shipped one.

    Raises:
        ModelFileError: The model is missing, damaged, or no body tracker.
    """
    from ambulo.policies.agents.body_tracker import load_tracker_network
    from ambulo.shipped import locate

    kept = SESSION.tracker_network
    if kept is not None and kept[0] == path:
        return kept[1]
    place = Path(bpy.path.abspath(path)) if path else locate(SHIPPED)
    if place is None:
        raise ModelFileError(f"{SHIPPED} did not come along: choose a model file")
    network, _ = load_tracker_network(place)
    SESSION.tracker_network = (path, network)
    return network


def follow_trackers(armature: Object, bound: Bound, targets: Targets) -> Targets:
    """Set the base of `bound` to the tracked body; return targets with the feet kept.

    Args:
        armature: An armature that follows trackers, in a scene.
        bound: Its binding; its base is replaced.
        targets: Targets of its empties, in our frame.

    Raises:
        BindingError: There is no empty for the head.
        ModelFileError: The network cannot be read.
    """
    scene = armature.users_scene[0]
    if bound.tracking is None:
        network = tracker_network(scene.ambulo_ik.tracker_model)
        bound.tracking = _begun(network, bound)
    tracking, now = bound.tracking, scene.frame_current_final
    if now != tracking.frame:
        _advance(armature, bound, tracking, targets, now)
    bound.base = tracking.pose
    reference = Targets.of_pose(bound.binding.rig, tracking.pose)
    return EffectorGoals.at(reference, FEET).lead(targets).targets()


def _advance(
    armature: Object, bound: Bound, tracking: Tracking, targets: Targets, now: float
) -> None:
    """Step the tracker with the empties of frame `now`."""
    if targets.position_weights[0, HEAD] == 0.0:
        raise BindingError("trackers need an empty for the head, of a weight above 0")
    render = armature.users_scene[0].render
    step = render.fps_base / render.fps
    elapsed = (now - tracking.frame) * step
    if not 0.0 < elapsed <= LONGEST:
        tracking.player.reset()
        elapsed = step
    size = bound.binding.size
    tracking.player.step(_sample(bound, targets), elapsed)
    pose = tracking.player.pose()
    scale = size * tracking.player.tracker.shape.scale
    tracking.pose = Pose(pose.root * scale, pose.rotations)
    tracking.frame = now
    told = tracking.player.problem()
    if armature.ambulo_ik.tracker_note != told:
        armature.ambulo_ik.tracker_note = told


def _begun(network: TrackerNetwork, bound: Bound) -> Tracking:
    from ambulo.ik.trackers.rig_player import RigPlayer
    from ambulo.ik.trackers.tracker import BodyTracker

    rig = bound.binding.rig
    tracker = BodyTracker(network, shape_on(bound), adapt=False)
    still = Pose(np.zeros((1, 3)), rig.start[None])
    return Tracking(RigPlayer(tracker, rig), float("nan"), still)


def shape_on(bound: Bound) -> BodyShape:
    """The armature's proportions, in the size of `ik23`; a person's without any."""
    from ambulo.ik.trackers.shape import BodyShape, shape_of

    skeleton, size = bound.binding.rig.skeleton, bound.binding.size
    try:
        return shape_of(skeleton.replace(offsets=skeleton.offsets / size))
    except MotionError:
        return BodyShape()


def _sample(bound: Bound, targets: Targets) -> TrackerSample:
    """The tracker sample that corresponds to `targets`, in human23's axes."""
    from ambulo.ik.trackers.conventions import TrackerSample

    rest = quat_conjugate(bound.binding.rig.target_rest)
    return TrackerSample(
        targets.positions[0] / bound.binding.size,
        quat_multiply(targets.rotations[0], rest),
        targets.position_weights[0] > 0.0,
    )


def resized(targets: Targets, size: float) -> Targets:
    """`targets` with positions scaled by `size` about the origin."""
    return dataclasses.replace(targets, positions=targets.positions * size)
