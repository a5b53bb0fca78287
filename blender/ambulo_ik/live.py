"""Apply to Armature: whenever a target moves or the frame changes, solve and write once.

Two of Blender's rules shape this file. Matrices of bones and objects are those of the last
update of the view layer. And an action writes its pose over ours at each change of the
frame: so the pose it brought becomes the base, and ours is written after it.
"""

from __future__ import annotations

import logging

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Depsgraph, Object, Scene

from ambulo.configs.errors import AmbuloError
from ambulo.ik.pose import Pose
from ambulo.ik.solver.targets import Targets

from .binding import read_pose, write_pose
from .empties import read_targets
from .properties import targets_of
from .session import SESSION, Bound, base_of, bound_to, paused, use_network
from .solving import solve

_LOG = logging.getLogger(__name__)


def tick(armature: Object, *, new_base: bool = False) -> bool:
    """Solve for the targets of `armature` and write the pose, if anything changed.

    Args:
        armature: An armature that follows its targets; matrices must be fresh.
        new_base: Whether the pose that it shows was brought by its action.

    Returns:
        Whether a pose was written; the view layer needs an update then.
    """
    settings = armature.ambulo_ik
    try:
        bound = bound_to(armature)
        if new_base:
            bound.base = read_pose(armature, bound.binding)
        targets = read_targets(armature, bound.binding)
        seen = _inputs(armature, bound, targets)
        if seen == bound.seen:
            return False
        solution = solve(bound, targets, _kept_near(armature, bound))
    except AmbuloError as error:
        # The pose stays as it is; the panel shows why.
        if settings.problem != str(error):
            settings.problem = str(error)
            _LOG.warning("%s: %s", armature.name, error)
        return False
    bound.seen = seen
    write_pose(armature, bound.binding, solution.pose)
    if settings.problem:
        settings.problem = ""
    for row, target in enumerate(targets_of(armature)):
        target.reached = bool(solution.reached[0, row])
        target.position_error = float(solution.position_residual[0, row])
        target.rotation_error = float(solution.rotation_residual[0, row])
    return True


def live_armatures(scene: Scene) -> list[Object]:
    """The armatures of `scene` that follow their targets."""
    return [
        result
        for result in scene.objects
        if result.type == "ARMATURE" and result.ambulo_ik.live
    ]


def _inputs(armature: Object, bound: Bound, targets: Targets) -> tuple[float, ...]:
    """Everything that a solve depends on but the network, as numbers to compare."""
    base = _kept_near(armature, bound)
    present = targets.position_weights + targets.rotation_weights > 0.0
    return tuple(
        np.concatenate(
            [
                np.where(present[..., None], targets.positions, 0.0).ravel(),
                np.where(present[..., None], targets.rotations, 0.0).ravel(),
                targets.position_weights.ravel(),
                targets.rotation_weights.ravel(),
                *(() if base is None else (base.root.ravel(), base.rotations.ravel())),
            ]
        ).tolist()
    )


def _kept_near(armature: Object, bound: Bound) -> Pose | None:
    """The base pose, unless joints that nothing leads are the network's."""
    network = (
        SESSION.network is not None and armature.ambulo_ik.free_joints == "NETWORK"
    )
    return None if network else base_of(armature, bound)


@persistent
def on_change(scene: Scene, depsgraph: Depsgraph) -> None:
    """After the dependency graph was updated: something in the scene may have moved."""
    if SESSION.busy:
        return
    live = live_armatures(scene)
    if not live:
        return
    with paused():
        # A list: every armature has its tick.
        if any([tick(armature) for armature in live]):
            depsgraph.view_layer.update()


@persistent
def on_frame(scene: Scene, depsgraph: Depsgraph) -> None:
    """After the frame changed: actions have written, targets may have moved.

    Blender itself updates once more after this handler, also in a rendering.
    """
    if SESSION.busy:
        return
    with paused():
        for armature in live_armatures(scene):
            animated = armature.animation_data
            brought = animated is not None and (
                animated.action is not None or bool(animated.nla_tracks)
            )
            tick(armature, new_base=brought)


@persistent
def on_load(*_: object) -> None:
    """After another file was opened: its armatures are bound when they are used."""
    SESSION.reset()
    for scene in bpy.data.scenes:
        if scene.ambulo_ik.weights:
            try:
                use_network(scene.ambulo_ik.weights)
            except (AmbuloError, OSError) as error:
                _LOG.warning("%s: %s", scene.ambulo_ik.weights, error)
            break


_HANDLERS = {
    "depsgraph_update_post": on_change,
    "frame_change_post": on_frame,
    "load_post": on_load,
}


def register() -> None:
    """Put the handlers into Blender's lists."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Take them out again, and forget what was in memory."""
    for name, handler in _HANDLERS.items():
        handlers = getattr(bpy.app.handlers, name)
        if handler in handlers:
            handlers.remove(handler)
    SESSION.reset()
