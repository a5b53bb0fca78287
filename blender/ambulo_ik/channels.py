"""Bone channels of written poses, as values to compare and to restore.

An action overwrites our values whenever it is evaluated: at each change of the frame, but also
when the same frame is set again, a key is edited or a file is opened. These values show which
of the two a bone has.
"""

from __future__ import annotations

from collections.abc import Sequence

from bpy.types import Object, PoseBone

ROTATION_CHANNELS = {
    "QUATERNION": "rotation_quaternion",
    "AXIS_ANGLE": "rotation_axis_angle",
}
"""The channel of each rotation mode other than Euler angles."""

Channels = tuple[str, tuple[float, ...], tuple[float, ...]]
"""Name of a bone's rotation channel, its values, and the bone's location."""


def rotation_channel(bone: PoseBone) -> str:
    """Name of the channel that the rotation mode of `bone` reads."""
    return ROTATION_CHANNELS.get(bone.rotation_mode, "rotation_euler")


def read_channels(bones: Sequence[PoseBone]) -> list[Channels]:
    """Return the channels of each of `bones`."""
    return [
        (name, tuple(getattr(bone, name)), tuple(bone.location))
        for bone, name in zip(bones, map(rotation_channel, bones), strict=True)
    ]


def put_back(
    bones: Sequence[PoseBone], written: Sequence[Channels], under: Sequence[Channels]
) -> None:
    """Restore the channels `under` of the bones that still have `written`.

    Later changes by a user or an action are kept.
    """
    shown = read_channels(bones)
    for bone, now, ours, before in zip(bones, shown, written, under, strict=True):
        if now == ours and now != before and now[0] == before[0]:
            setattr(bone, before[0], before[1])
            bone.location = before[2]


def is_animated(armature: Object) -> bool:
    """Whether an action, a track or a driver may write the channels of `armature`."""
    animated = armature.animation_data
    return animated is not None and (
        animated.action is not None
        or bool(animated.nla_tracks)
        or bool(animated.drivers)
    )
