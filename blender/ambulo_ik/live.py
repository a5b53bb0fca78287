"""Apply to Armature: whenever a target moves or the frame changes, solve and write once.

Two of Blender's rules determine this file. Matrices of bones and objects are those of the last
update of the view layer. And an action overwrites our pose whenever it is evaluated. So before
the frame changes, the bones get back the pose before the solve, the action overwrites that, the
result becomes the base, and the solution is written after it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Action, Depsgraph, Object, Scene, ViewLayer

from ambulo.configs.errors import AmbuloError
from ambulo.ik.pose import Pose
from ambulo.ik.solver.targets import Targets

from .binding import write_pose
from .channels import is_animated, put_back, read_channels
from .empties import read_targets
from .properties import targets_of
from .session import (
    SESSION,
    Bound,
    base_of,
    bound_to,
    paused,
    solve,
    take_base,
    use_network,
)
from .tracking import follow_trackers

_LOG = logging.getLogger(__name__)


def tick(armature: Object, *, new_base: bool = False) -> bool:
    """Solve for the targets of `armature` and write the pose, if anything changed.

    Args:
        armature: An armature that follows its targets; matrices must be fresh.
        new_base: Whether its present pose comes from its action.

    Returns:
        Whether a pose was written; the view layer needs an update then.
    """
    settings = armature.ambulo_ik
    try:
        bound = bound_to(armature)
        bones = bound.binding.bones(armature)
        first = bound.under is None and is_animated(armature)
        if new_base or first:
            take_base(armature, bound)
        targets = read_targets(armature, bound.binding)
        if settings.tracking:
            targets = follow_trackers(armature, bound, targets)
        seen = _inputs(armature, bound, targets)
        if seen == bound.seen and not _overwritten(armature, bound):
            return False
        solution = solve(bound, targets, _kept_near(armature, bound))
    except AmbuloError as error:
        # The pose is unchanged; the panel shows the reason.
        if settings.problem != str(error):
            settings.problem = str(error)
            _LOG.warning("%s: %s", armature.name, error)
        return False
    bound.seen = seen
    if bound.under is None:
        bound.under = read_channels(bones)
    write_pose(armature, bound.binding, solution.pose)
    bound.written = read_channels(bones)
    if settings.problem:
        settings.problem = ""
    for row, target in enumerate(targets_of(armature)):
        target.reached = bool(solution.reached[0, row])
        target.position_error = float(solution.position_residual[0, row])
        target.rotation_error = float(solution.rotation_residual[0, row])
    return True


def _overwritten(armature: Object, bound: Bound) -> bool:
    """Whether the action has overwritten our values since the last solve.

    A pose made by the user is neither: it stays until a target moves.
    """
    if bound.written is None or bound.under is None or not is_animated(armature):
        return False
    shown = read_channels(bound.binding.bones(armature))
    return shown != bound.written and all(
        now in (ours, under)
        for now, ours, under in zip(shown, bound.written, bound.under, strict=True)
    )


def _uncover(armature: Object) -> None:
    """Restore the pose before the last solve, for an action to overwrite."""
    bound = SESSION.bound.get(armature.session_uid)
    if bound is None or bound.written is None or bound.under is None:
        return
    bones = [armature.pose.bones.get(name) for name in bound.binding.names]
    if None not in bones:  # the next tick binds it again, or reports the reason
        put_back(bones, bound.written, bound.under)


def _settle(
    armatures: Sequence[Object],
    view_layer: ViewLayer,
    rebased: Sequence[Object] = (),
    *,
    update: bool = True,
) -> None:
    """Tick `armatures` until none has to move.

    Args:
        armatures: Targets of one may follow another: then there are as many passes as
            armatures, with an update between them.
        view_layer: View layer to update.
        rebased: Those with the pose of their action, which becomes their base.
        update: Update after the last pass too, if it wrote.
    """
    passes = len(armatures) if any(map(_hangs, armatures)) else 1
    for turn in range(passes):
        # A list: every armature must tick.
        if not any([tick(a, new_base=turn == 0 and a in rebased) for a in armatures]):
            break
        if update or turn < passes - 1:
            view_layer.update()


def _hangs(armature: Object) -> bool:
    """Whether a target of `armature` may follow another object."""
    empties = [target.empty for target in targets_of(armature) if target.empty]
    return any(empty.parent or empty.constraints for empty in empties)


def live_armatures(scene: Scene) -> list[Object]:
    """The armatures of `scene` that follow their targets."""
    return [
        result
        for result in scene.objects
        if result.type == "ARMATURE" and result.ambulo_ik.live
    ]


def _inputs(armature: Object, bound: Bound, targets: Targets) -> tuple[float, ...]:
    """All inputs of a solve except the network, as numbers to compare."""
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
    """The base pose, unless the network determines the free joints.

    With trackers it is always the base: the body that they move.
    """
    settings = armature.ambulo_ik
    network = SESSION.network is not None and settings.free_joints == "NETWORK"
    network &= not settings.tracking
    return None if network else base_of(armature, bound)


@persistent
def on_change(scene: Scene, depsgraph: Depsgraph) -> None:
    """Handle an update of the dependency graph: objects may have moved."""
    if SESSION.busy:
        return
    live = live_armatures(scene)
    if not live:
        return
    edited = any(isinstance(update.id, Action) for update in depsgraph.updates)
    with paused():
        rebased = [armature for armature in live if edited and is_animated(armature)]
        for armature in rebased:
            _uncover(armature)
        if rebased:
            depsgraph.view_layer.update()
        _settle(live, depsgraph.view_layer, rebased)


@persistent
def before_frame(scene: Scene, depsgraph: Depsgraph) -> None:
    """Before the frame changes: let actions overwrite their own pose, not ours.

    Otherwise bones without keys would carry the pose of one frame into the base of the next.
    """
    if SESSION.busy:
        return
    with paused():
        for armature in live_armatures(scene):
            if is_animated(armature):
                _uncover(armature)


@persistent
def on_frame(scene: Scene, depsgraph: Depsgraph) -> None:
    """After the frame changed: actions have written, targets may have moved.

    Blender itself updates once more after this handler, also when rendering.
    """
    if SESSION.busy:
        return
    live = live_armatures(scene)
    with paused():
        brought = [armature for armature in live if is_animated(armature)]
        _settle(live, depsgraph.view_layer, brought, update=False)


@persistent
def on_load(*_: object) -> None:
    """After another file was opened: its armatures are bound at first use."""
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
    "frame_change_pre": before_frame,
    "frame_change_post": on_frame,
    "load_post": on_load,
}


def register() -> None:
    """Add the handlers to Blender's lists."""
    for name, handler in _HANDLERS.items():
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Remove them, and clear the memory."""
    for name, handler in _HANDLERS.items():
        handlers = getattr(bpy.app.handlers, name)
        if handler in handlers:
            handlers.remove(handler)
    SESSION.reset()
