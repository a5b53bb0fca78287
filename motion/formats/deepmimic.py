"""Motions of the DeepMimic format: JSON, 44 numbers a frame (reading only).

The character and the layout of a frame are those of `humanoid3d` (Peng et al., "DeepMimic", ACM
Transactions on Graphics 37(4), 2018): seconds to the next frame, root position and rotation,
then joints in the order below, a quaternion wxyz for a ball and an angle about the file's Z for
a hinge. Y is up, the character faces +X, metres.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionFileError
from ambulo.configs.json_text import unique_keys
from ambulo.configs.reading import open_regular
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.formats.axes import Axes
from ambulo.motion.formats.disk import read_text, rules_of
from ambulo.motion.formats.mending import can_be_evened, evened, noted, unit_quats
from ambulo.motion.formats.number_kernels import MAX_VALUE
from ambulo.motion.motion import Motion
from ambulo.motion.rotations import quat_normalize
from ambulo.motion.skeleton import Skeleton

AXES = Axes(up="Y", forward="X")
"""Axes of the format."""
NUMBERS = 44
"""Numbers in a frame."""
ROUNDED = 0.02
"""Tolerance of quaternions' length that counts as rounding of their digits."""
MAX_BYTES = 2**28
"""Largest accepted DeepMimic motion, [bytes]."""


class _Joint(NamedTuple):
    name: str
    parent: int
    kind: str  # ball, hinge or fixed
    place: tuple[float, float, float]  # in the parent's frame, Y up, facing +X


_ANKLE, _SOLE = 0.421546 + 0.409870, 0.05
_JOINTS = (
    _Joint("root", -1, "ball", (0.0, _ANKLE + _SOLE, 0.0)),
    _Joint("chest", 0, "ball", (0.0, 0.236151, 0.0)),
    _Joint("neck", 1, "ball", (0.0, 0.223894, 0.0)),
    _Joint("right_hip", 0, "ball", (0.0, 0.0, 0.084887)),
    _Joint("right_knee", 3, "hinge", (0.0, -0.421546, 0.0)),
    _Joint("right_ankle", 4, "ball", (0.0, -0.409870, 0.0)),
    _Joint("right_shoulder", 1, "ball", (-0.02405, 0.24350, 0.18311)),
    _Joint("right_elbow", 6, "hinge", (0.0, -0.274788, 0.0)),
    _Joint("right_wrist", 7, "fixed", (0.0, -0.258947, 0.0)),
    _Joint("left_hip", 0, "ball", (0.0, 0.0, -0.084887)),
    _Joint("left_knee", 9, "hinge", (0.0, -0.421546, 0.0)),
    _Joint("left_ankle", 10, "ball", (0.0, -0.409870, 0.0)),
    _Joint("left_shoulder", 1, "ball", (-0.02405, 0.24350, -0.18311)),
    _Joint("left_elbow", 12, "hinge", (0.0, -0.274788, 0.0)),
    _Joint("left_wrist", 13, "fixed", (0.0, -0.258947, 0.0)),
)
# Ends of the collision shapes: head top, toes and heels, hands.
_TIPS = (
    (2, (0.0, 0.2775, 0.0)),
    (5, (0.1335, -_SOLE, 0.0)),
    (5, (-0.0435, -_SOLE, 0.0)),
    (8, (0.0, -0.04, 0.0)),
    (11, (0.1335, -_SOLE, 0.0)),
    (11, (-0.0435, -_SOLE, 0.0)),
    (14, (0.0, -0.04, 0.0)),
)


@lru_cache(maxsize=1)
def deepmimic_skeleton() -> Skeleton:
    """The skeleton of the format's humanoid, our axes; knees bend at positive angles."""
    hinge = AXES.order_to_ours("Z")[0]
    orders = {"ball": AXES.order_to_ours("ZYX")[0], "hinge": hinge, "fixed": ""}
    return Skeleton(
        name="deepmimic",
        joints=tuple(joint.name for joint in _JOINTS),
        parents=tuple(joint.parent for joint in _JOINTS),
        offsets=AXES.to_ours(np.array([joint.place for joint in _JOINTS])),
        orders=tuple(orders[joint.kind] for joint in _JOINTS),
        tip_parents=tuple(joint for joint, _ in _TIPS),
        tips=AXES.to_ours(np.array([tip for _, tip in _TIPS])),
    )


def is_deepmimic(path: Path) -> bool:
    """Whether the start of a text file looks like this format."""
    try:
        with open_regular(path) as file:
            start = file.read(4096)
    except OSError:
        return False
    return (
        start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"Frames"' in start
    )


def read_deepmimic(path: Path) -> Motion:
    """The motion in the DeepMimic file `path`; `MotionFileError` names the rule it breaks.

    The last frame's time has no meaning. Uneven times and lengths of quaternions are repaired.
    """
    frames = _frames(path)
    steps = frames[:, 0][:-1] if len(frames) > 1 else frames[:, 0]
    fps, even = _rate(path, steps)
    notes = []
    skeleton = deepmimic_skeleton()
    rotations = np.zeros((len(frames), len(_JOINTS), 4))
    rotations[..., 0] = 1.0
    at = 4
    for j, joint in enumerate(_JOINTS):
        if joint.kind == "ball":
            quats, note = unit_quats(frames[:, at : at + 4], joint.name, ROUNDED)
            notes.append(note)
            lengths = np.linalg.norm(quats, axis=1)
            bad = np.flatnonzero(np.abs(lengths - 1.0) > ROUNDED)
            if len(bad):
                rule = (
                    f"the quaternion of {joint.name!r} has length {lengths[bad[0]]:.3g}"
                )
                _fail(path, int(bad[0]), f"{rule}; expected 1")
            rotations[:, j] = AXES.quat_to_ours(quat_normalize(quats))
            at += 4
        elif joint.kind == "hinge":
            order, signs = AXES.order_to_ours("Z")
            rotations[:, j] = quat_from_euler(frames[:, at : at + 1] * signs, order)
            at += 1
    with rules_of(path):
        motion = Motion(
            skeleton=skeleton,
            fps=fps,
            root_positions=AXES.to_ours(frames[:, 1:4]),
            rotations=rotations,
            name=path.stem,
        )
    motion = noted(motion, *notes)
    return motion if even else evened(motion, steps)


def _frames(path: Path) -> Floats:
    """All frames of the file. Shape (T, 44)."""
    text = read_text(path, MAX_BYTES)
    try:
        content = json.loads(
            text, object_pairs_hook=unique_keys, parse_constant=_no_constant
        )
    except json.JSONDecodeError as error:
        raise MotionFileError(
            path, error.lineno, f"is not valid JSON: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = str(error).split(";", maxsplit=1)[0] or "too deep"
        raise MotionFileError(path, 0, f"is not valid JSON: {reason}") from None
    frames = content.get("Frames") if isinstance(content, dict) else None
    if not isinstance(frames, list):
        raise MotionFileError(
            path, 0, 'is no DeepMimic motion: it has no list "Frames"'
        )
    if not frames:
        raise MotionFileError(path, 0, "has no frames")
    for number, frame in enumerate(frames):
        _check_frame(path, number, frame)
    return np.array(frames, dtype=np.float64)


def _check_frame(path: Path, number: int, frame: object) -> None:
    if not isinstance(frame, list) or len(frame) != NUMBERS:
        got = len(frame) if isinstance(frame, list) else type(frame).__name__
        _fail(path, number, f"expected {NUMBERS} numbers, got {got}")
    for value in frame:
        if type(value) not in {int, float} or not abs(value) <= MAX_VALUE:
            _fail(path, number, f"{str(value)[:24]!r} is not a number that can be used")


def _rate(path: Path, steps: Floats) -> tuple[float, bool]:
    """Frames per second, and whether all frames are equally spaced in time."""
    step = float(np.median(steps))
    if not 1e-6 <= step <= 1e4:
        _fail(path, 0, f"expected a time above 0 to the next frame, got {step:g}")
    bad = np.flatnonzero(np.abs(steps - step) > 0.01 * step)
    if len(bad) and not can_be_evened(steps):
        rule = f"{steps[bad[0]]:g} s to the next frame, others {step:g} s"
        _fail(path, int(bad[0]), f"{rule}; frames must be equally spaced")
    whole = round(1.0 / step)
    near = whole > 0 and abs(1.0 / whole - step) <= 0.001 * step
    return float(whole) if near else 1.0 / step, not len(bad)


def _fail(path: Path, frame: int, rule: str) -> NoReturn:
    raise MotionFileError(path, 0, f"frame {frame}: {rule}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
