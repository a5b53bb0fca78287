"""Operators of body trackers: recordings onto armatures, and empties as live trackers."""

from pathlib import Path

from bpy.props import StringProperty
from bpy.types import Context, Object
from bpy_extras.io_utils import ImportHelper

from ambulo.configs.errors import IKError, MotionError
from ambulo.ik.pose import Pose

from .binding import BindingError
from .empties import add_empties, adopt_empties, has_empty
from .operators_common import UNDO, ArmatureOperator
from .pose_data import key_poses
from .properties import targets_of
from .session import Bound, keep_base, solver_of
from .tracking import resized, tracker_network

NEEDED = ("Head", "LeftHand", "RightHand")
"""Trackers that get an empty if there is none; feet and hips are trackers if they have one."""


class AMBULO_OT_play_trackers(ArmatureOperator, ImportHelper):
    """Key the body of a recording of trackers onto the active armature as a new action"""

    bl_idname = "ambulo_ik.play_trackers"
    bl_label = "Play Trackers"
    bl_options = UNDO

    filter_glob: StringProperty(default="*.trackers;*.jsonl;*.txt", options={"HIDDEN"})

    def run_on(self, context: Context, armature: Object, bound: Bound) -> str:
        """Track the recording at the scene's rate, and key each frame."""
        from ambulo.ik.trackers.recording import read_recording
        from ambulo.ik.trackers.rig_poses import recording_on_rig
        from ambulo.ik.trackers.session import track_recording

        path, scene = Path(self.filepath), context.scene
        if not self.filepath:
            raise MotionError("choose a recording of trackers")
        network = tracker_network(scene.ambulo_ik.tracker_model)
        recording = read_recording(path)
        rate = scene.render.fps / scene.render.fps_base
        try:
            tracked = track_recording(network, recording, rate=rate)
        except IKError as error:
            raise MotionError(f"{path.name}: {error}") from None
        rig, size = bound.binding.rig, bound.binding.size
        ground = recording.header.ground_height
        poses, targets = recording_on_rig(rig, tracked, ground)
        base = Pose(poses.root * size, poses.rotations)
        solution = solver_of(bound).solve(resized(targets, size), base)
        armature.ambulo_ik.live = False
        start = scene.frame_start
        frames = range(start, start + len(base))
        key_poses(armature, bound.binding, solution.pose, frames, path.stem)
        scene.frame_set(scene.frame_current)
        lost = {
            name: sum(count for status, count in counts.items() if status != "ok")
            for name, counts in tracked.trackers.items()
        }
        told = [f"{name} in {count} rows" for name, count in lost.items() if count]
        without = f"; not used: {', '.join(told)}" if told else ""
        return f"{path.stem}: frames {frames[0]} to {frames[-1]}{without}"


class AMBULO_OT_follow_trackers(ArmatureOperator):
    """Let empties be trackers (head, hands, and feet and hips that have one) of a whole body"""

    bl_idname = "ambulo_ik.follow_trackers"
    bl_label = "Follow Trackers"
    bl_options = UNDO

    def run_on(self, context: Context, armature: Object, bound: Bound) -> str:
        """Take empties by name, make those that are needed, and track at once."""
        from .live import tick

        settings = armature.ambulo_ik
        tracker_network(context.scene.ambulo_ik.tracker_model)
        keep_base(armature, bound)
        bound.seen, bound.tracking = (), None
        adopt_empties(context, armature)
        add_empties(context, armature, bound.binding, NEEDED)
        settings.tracking = settings.live = True
        tick(armature)
        context.view_layer.update()
        if settings.problem:
            settings.live = False
            raise BindingError(settings.problem)
        used = [row.name for row in targets_of(armature) if has_empty(context, row)]
        return f"trackers: {', '.join(used)}"


CLASSES = (AMBULO_OT_play_trackers, AMBULO_OT_follow_trackers)
