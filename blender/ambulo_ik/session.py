"""State of the add-on while Blender runs; nothing here is saved in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy.types import Object

from ambulo.configs.errors import ModelFileError
from ambulo.ik.pose import Pose
from ambulo.ik.rig import Rig, load_rig

from .binding import Binding, BindingError, bind, even_scale, read_pose
from .channels import Channels, read_channels

if TYPE_CHECKING:
    from ambulo.ik.solver.network import IKNetwork
    from ambulo.ik.solver.refine import Solution
    from ambulo.ik.solver.solver import NeuralIKSolver
    from ambulo.ik.solver.targets import Targets
    from ambulo.ik.trackers.network import TrackerNetwork

    from .pose_data import PoseClip
    from .tracking import Tracking

RIG = "ik23"
"""The rig that armatures are bound to."""

_BASE_KEY = "ambulo_ik_base"
"""Custom property of an armature: its pose when Apply began."""


@dataclass
class Bound:
    """An armature with its binding, solver and base pose."""

    binding: Binding
    """Its constants."""
    rest: tuple[bytes, tuple[str, ...]]
    """Bones at rest and their names; the armature is bound again when they change."""
    solver: NeuralIKSolver | None = None
    """Created at first use."""
    base: Pose | None = None
    """Starting pose of the solver; the solution depends on it and the targets alone, so that
    the same targets give the same pose however they were reached."""
    seen: tuple[float, ...] = ()
    """The inputs of the last solve: the next one waits until they change."""
    under: list[Channels] | None = None
    """The channels of its bones before the last solve; None until the first."""
    written: list[Channels] | None = None
    """The channels written by the last solve."""
    tracking: Tracking | None = None
    """The body that its empties move as trackers; None without any."""


@dataclass
class Session:
    """The add-on's state in memory."""

    network: IKNetwork | None = None
    """The network in use; None is the solver without one."""
    data: PoseClip | None = None
    """Poses that were extracted or loaded."""
    tracker_network: tuple[str, TrackerNetwork] | None = None
    """The last network of body trackers, with its file."""
    bound: dict[int, Bound] = field(default_factory=dict)
    """Armatures by `session_uid` of the object, which survives undo and renaming."""
    busy: int = 0
    """Above 0: handlers ignore the armatures."""

    def reset(self) -> None:
        """Clear everything, as after another file was opened."""
        self.network = None
        self.data = None
        self.tracker_network = None
        self.bound.clear()


SESSION = Session()


@contextmanager
def paused() -> Iterator[None]:
    """Keep the handlers from solving inside the block."""
    SESSION.busy += 1
    try:
        yield
    finally:
        SESSION.busy -= 1


def rig() -> Rig:
    """The rig that armatures are bound to."""
    return load_rig(RIG)


def bound_to(armature: Object) -> Bound:
    """The binding of `armature`, cached until its scale or its bones change."""
    if armature is None or armature.type != "ARMATURE":
        raise BindingError("select an armature first")
    kept = SESSION.bound.get(armature.session_uid)
    rest = _rest(armature)
    if kept is None or kept.rest != rest or kept.binding.scale != even_scale(armature):
        kept = Bound(bind(armature, rig()), rest)
        SESSION.bound[armature.session_uid] = kept
    return kept


def _rest(armature: Object) -> tuple[bytes, tuple[str, ...]]:
    # Not from updates of the dependency graph: writing a pose also updates the armature.
    bones = armature.data.bones
    matrices = np.empty(16 * len(bones), dtype=np.float32)
    bones.foreach_get("matrix_local", matrices)
    return matrices.tobytes(), tuple(bone.name for bone in bones)


def use_network(path: str) -> None:
    """Load the network `path`; an empty path selects none.

    Args:
        path: A network's folder, its file of weights, or a shipped name.
    """
    from ambulo.ik.solver.network import load_ik_network

    if not path:
        SESSION.network = None
    else:
        place = Path(bpy.path.abspath(path))
        if place.suffix == ".zip":
            raise ModelFileError(
                f"{place}: a model of another kind; Play Trackers and Follow Trackers use "
                "body trackers"
            )
        if place.suffix == ".safetensors":
            if not place.is_file():
                raise ModelFileError(f"{place}: no such file")
            place = place.parent
        network = load_ik_network(place if place.is_dir() else path)
        if network.is_published:
            raise ModelFileError(
                f"{place}: a network with the published layout, which needs all targets"
            )
        SESSION.network = network
    for bound in SESSION.bound.values():
        bound.seen = ()


def solver_of(bound: Bound) -> NeuralIKSolver:
    """The solver for an armature, without a network: see `solve`."""
    from ambulo.ik.solver.solver import NeuralIKSolver

    if bound.solver is None:
        bound.solver = NeuralIKSolver(bound.binding.rig)
    return bound.solver


def solve(bound: Bound, targets: Targets, base: Pose | None = None) -> Solution:
    """Poses that meet `targets` on the armature's own proportions.

    Args:
        bound: The armature.
        targets: Targets in our frame.
        base: Pose near which free joints stay; None uses the network's, or the rig's starting
            pose without one.
    """
    if base is None and SESSION.network is not None:
        base = predict(bound, targets)
    return solver_of(bound).solve(targets, base)


def predict(bound: Bound, targets: Targets) -> Pose:
    """Predict a pose with the network, scaled to its size and back to the armature's."""
    assert SESSION.network is not None
    size = bound.binding.size
    smaller = replace(targets, positions=targets.positions / size)
    guess = SESSION.network.predict(smaller)
    return Pose(guess.root * size, guess.rotations)


def keep_base(armature: Object, bound: Bound) -> None:
    """Use the present pose of `armature` as its base, and store it in the file."""
    base = take_base(armature, bound)
    numbers = [*base.root[0].tolist(), *base.rotations[0].ravel().tolist()]
    armature[_BASE_KEY] = numbers


def take_base(armature: Object, bound: Bound) -> Pose:
    """Use the present pose of `armature` as its base; needs a fresh view layer."""
    bound.base = read_pose(armature, bound.binding)
    bound.under = read_channels(bound.binding.bones(armature))
    return bound.base


def base_of(armature: Object, bound: Bound) -> Pose:
    """The base pose of `armature`: in memory, else from the file, else its present pose."""
    if bound.base is None:
        numbers = list(armature.get(_BASE_KEY, ()))
        joints = len(bound.binding.names)
        if len(numbers) == 3 + 4 * joints:
            rotations = [numbers[3 + 4 * i : 7 + 4 * i] for i in range(joints)]
            bound.base = Pose([numbers[:3]], [rotations])  # type: ignore[arg-type]
        else:
            bound.base = read_pose(armature, bound.binding)
    return bound.base
