"""BVH files in the conventions of other makers, made from a motion of ours.

Everything is derived from world positions and orientations of joints, by other code than the one
that is tested: other names and trees, frames of joints, rest poses, axes, units, Euler orders and
channels. What the joints do in the world is the same, so the source is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from ambulo.motion.kinematics import motion_kinematics, rest_kinematics
from ambulo.motion.motion import Motion
from ambulo.motion.roles import roles_of

INCH = 0.0254
SIDES = ("left", "right")
LIMBS = ("clavicle", "upper_arm", "forearm", "hand", "thigh", "shin", "foot", "toe")
Y_UP = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])  # ours -> Y up, facing Z
Z_UP = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 1]])  # ours -> Z up, facing -Y
X_UP = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])  # ours -> X up, facing Y
MIRRORED = np.array([[0.0, -1, 0], [0, 0, 1], [1, 0, 0]])  # left-handed, Y up


def names(pattern: str, trunk: str, limbs: str, sides: tuple[str, str]) -> dict[str, str]:
    """Names by role: those of hips, spine, chest, neck and head, then of `LIMBS`."""
    words = dict(zip(("hips", "spine", "chest", "neck", "head"), trunk.split(), strict=True))
    for side, word in zip(SIDES, sides, strict=True):
        for limb, name in zip(LIMBS, limbs.split(), strict=True):
            words[f"{side}_{limb}"] = pattern.replace("S", word).replace("N", name)
    return {role: name.replace("~", " ") for role, name in words.items()}


MIXAMO = names(
    "mixamorig:SN",
    "mixamorig:Hips mixamorig:Spine mixamorig:Spine2 mixamorig:Neck mixamorig:Head",
    "Shoulder Arm ForeArm Hand UpLeg Leg Foot ToeBase", ("Left", "Right"),
)  # fmt: skip
UNREAL = names(
    "N_S", "pelvis spine_01 spine_03 neck_01 head",
    "clavicle upperarm lowerarm hand thigh calf foot ball", ("l", "r"),
)  # fmt: skip
UNITY = names(
    "SN", "Hips Spine UpperChest Neck Head",
    "Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot Toes", ("Left", "Right"),
)  # fmt: skip
ROKOKO = names(
    "SN", "Hips Spine1 Spine4 Neck Head",
    "Shoulder Arm ForeArm Hand Thigh Shin Foot Toe", ("Left", "Right"),
)  # fmt: skip
XSENS = names(
    "SN", "Pelvis L5 T8 Neck Head",
    "Shoulder UpperArm ForeArm Hand UpperLeg LowerLeg Foot Toe", ("Left", "Right"),
)  # fmt: skip
LAFAN = names(
    "SN", "Hips Spine Spine2 Neck Head",
    "Shoulder Arm ForeArm Hand UpLeg Leg Foot Toe", ("Left", "Right"),
)  # fmt: skip
RIGIFY = names(
    "DEF-N.S", "DEF-spine DEF-spine.001 DEF-spine.003 DEF-spine.004 DEF-spine.006",
    "shoulder upper_arm forearm hand thigh shin foot toe", ("L", "R"),
)  # fmt: skip
SMPL = names(
    "S_N", "Pelvis Spine1 Spine3 Neck Head",
    "Collar Shoulder Elbow Wrist Hip Knee Ankle Foot", ("L", "R"),
)  # fmt: skip
BIPED = names(
    "Bip01~S~N", "Bip01 Bip01~Spine Bip01~Spine2 Bip01~Neck Bip01~Head",
    "Clavicle UpperArm Forearm Hand Thigh Calf Foot Toe0", ("L", "R"),
)  # fmt: skip
NUMBERED = {role: f"joint_{n:02d}" for n, role in enumerate(XSENS)}


@dataclass(frozen=True)
class Maker:
    """A convention of motion files."""

    name: str
    names: dict[str, str]
    """Name of the joint of each role; other joints keep theirs."""
    axes: np.ndarray = field(default_factory=lambda: Y_UP)
    """The file's vector is this matrix times ours."""
    unit: float = 0.01
    """Metres in the file's unit."""
    rest: str = "own"
    """"own", "t", "a" or "i": a pose of that shape; "lines": each bone along X of its joint;
    "turned": an arbitrary frame for every joint; "y-up": own, but Y up whatever `axes` is."""
    order: str = "ZYX"
    """Order of rotation channels."""
    hinges: bool = False
    """One channel for joints that turn about one axis of the file."""
    ends: bool = True
    """End Sites."""
    toes: bool = True
    """Joints of toes."""
    twists: str = ""
    """"beside": bones beside forearms and thighs; "between": in their chains."""
    root: str = ""
    """Name of a root at the origin above the hips; none if empty."""
    moving: bool = False
    """Position channels on every joint, and offsets of 0."""


MAKERS = (
    Maker("mixamo", MIXAMO, rest="t", order="ZXY"),
    Maker("unreal", UNREAL, Z_UP, rest="a", root="root", twists="beside"),
    Maker("unity", UNITY, unit=1.0, rest="t", order="YXZ"),
    Maker("rokoko", ROKOKO, rest="t", order="YXZ", moving=True),
    Maker("xsens", XSENS, rest="i", order="YZX"),
    Maker("lafan", LAFAN, rest="lines"),
    Maker("lafan z-up inches", LAFAN, Z_UP, INCH, rest="lines", order="XYZ"),
    Maker("rigify", RIGIFY, Z_UP, 1.0, rest="a", twists="between", order="XYZ"),
    Maker("smpl", SMPL, Z_UP, 1.0, rest="y-up", order="XYZ"),
    Maker("biped", BIPED, Z_UP, INCH, rest="turned", order="ZYX"),
    Maker("x-up", UNITY, X_UP, 0.001, rest="t", order="XZY"),
    Maker("no ends, no toes", MIXAMO, unit=INCH, rest="a", ends=False, toes=False),
    Maker("one channel", LAFAN, hinges=True),
    Maker("lines, root, no ends", MIXAMO, rest="lines", ends=False, root="Reference"),
)
"""Conventions that must be read."""

REFUSED = (
    (Maker("left-handed", UNITY, MIRRORED, 1.0, rest="t"), "left and right"),
    (Maker("numbered", NUMBERED), "thighs"),
)
"""Conventions that cannot be read, and a word of the reason."""


def write_as(path: Path, motion: Motion, maker: Maker) -> None:
    """Write `motion` to the BVH file `path` as the maker's program would."""
    tree = _Tree.of(motion, maker)
    tree.change_frames(maker)
    path.write_text(_text(tree, motion.fps, maker))


@dataclass
class _Tree:
    """Joints in the file's axes: names, parents, and what they do in the world."""

    names: list[str]
    parents: list[int]
    places: list[np.ndarray]
    """World positions (T, 3), in the file's unit."""
    turns: list[np.ndarray]
    """World rotation matrices (T, 3, 3) of frames that are the file's axes at rest."""
    rest: list[np.ndarray]
    """Positions (3,) at rest."""
    tips: list[tuple[int, np.ndarray]]
    """Ends: joint, place at rest from the joint (3,)."""

    @staticmethod
    def of(motion: Motion, maker: Maker) -> _Tree:
        skeleton = motion.skeleton
        role_of = {joint: role for role, joint in roles_of(skeleton).items()}
        positions, orientations = motion_kinematics(motion)
        rest_places, rest_turns = rest_kinematics(skeleton)
        axes, scale = maker.axes, 1.0 / maker.unit
        turns = _matrices(orientations) @ np.swapaxes(_matrices(rest_turns), -1, -2)
        turns = axes @ turns @ axes.T
        places = scale * positions @ axes.T
        rest = scale * rest_places @ axes.T
        tips = [
            (joint, scale * axes @ (_matrices(rest_turns[joint]) @ tip))
            for joint, tip in zip(skeleton.tip_parents, skeleton.tips, strict=True)
        ]
        kept = [
            j
            for j in range(len(skeleton))
            if maker.toes or not _below_foot(skeleton.parents, j, role_of)
        ]
        index = {joint: n for n, joint in enumerate(kept)} | {-1: -1}
        tree = _Tree(
            [maker.names.get(role_of.get(j, ""), f"extra {skeleton.joints[j]}") for j in kept],
            [index[skeleton.parents[j]] for j in kept],
            [places[:, j] for j in kept],
            [turns[:, j] for j in kept],
            [rest[j] for j in kept],
            [(index[j], tip) for j, tip in tips if maker.ends and j in index],
        )
        if maker.twists:
            tree.add_twists(maker)
        if maker.root:
            tree.add_root(maker.root)
        return tree

    def add_root(self, name: str) -> None:
        """A joint at the origin above all others, which never moves."""
        frames = len(self.places[0])
        self.names.insert(0, name)
        self.parents = [-1, *(parent + 1 for parent in self.parents)]
        self.places.insert(0, np.zeros((frames, 3)))
        self.turns.insert(0, np.tile(np.eye(3), (frames, 1, 1)))
        self.rest.insert(0, np.zeros(3))
        self.tips = [(joint + 1, tip) for joint, tip in self.tips]

    def add_twists(self, maker: Maker) -> None:
        """A bone in the middle of each thigh and forearm, with half of the twist below it."""
        for start, end in (("thigh", "shin"), ("forearm", "hand")):
            for side in SIDES:
                top = self.names.index(maker.names[f"{side}_{start}"])
                low = self.names.index(maker.names[f"{side}_{end}"])
                bone = self.rest[low] - self.rest[top]
                twist = _half_twist(self.turns[top], self.turns[low], bone)
                place = 0.5 * (self.places[top] + self.places[low])
                self.names.append(f"{self.names[top]}.001" if maker.twists == "between" else f"{start}_twist_01_{side[0]}")
                self.parents.append(top)
                self.places.append(place)
                self.turns.append(self.turns[top] @ twist)
                self.rest.append(0.5 * (self.rest[top] + self.rest[low]))
                if maker.twists == "between":
                    self.parents[low] = len(self.names) - 1

    def change_frames(self, maker: Maker) -> None:
        """Give every joint another frame; its bones at rest follow from it."""
        count = len(self.names)
        by_role = {role: self.names.index(n) for role, n in maker.names.items() if n in self.names}
        frames = [np.eye(3)] * count  # at the old rest pose, in the file's axes
        if maker.rest in "tai":
            turns = _pose_turns(self, by_role, maker)
            frames = [turn.T for turn in turns]
        elif maker.rest == "lines":
            frames = [_along_x(self, joint, maker) for joint in range(count)]
        elif maker.rest == "turned":
            rng = np.random.default_rng(5)
            frames = list(Rotation.random(count, rng=rng).as_matrix())
        elif maker.rest == "y-up":
            frames = [maker.axes @ Y_UP.T] * count
        self.turns = [turn @ frame for turn, frame in zip(self.turns, frames, strict=True)]
        self.tips = [(joint, frames[joint].T @ tip) for joint, tip in self.tips]


def _pose_turns(tree: _Tree, by_role: dict[str, int], maker: Maker) -> list[np.ndarray]:
    """World turns of all joints from the old rest pose to a T-, A- or I-pose."""
    angle = {"t": 0.0, "a": 50.0, "i": 85.0}[maker.rest]
    turns = [np.eye(3)] * len(tree.names)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        arm, end = (by_role[f"{side}_{limb}"] for limb in ("upper_arm", "forearm"))
        bone = maker.axes.T @ (tree.rest[end] - tree.rest[arm])
        down = np.deg2rad(angle)
        goal = np.array([0.0, sign * np.cos(down), -np.sin(down)])
        turn = maker.axes @ _between(bone, goal) @ maker.axes.T
        for joint in range(len(tree.names)):
            if _is_below(tree.parents, joint, arm):
                turns[joint] = turn
    return turns


def _along_x(tree: _Tree, joint: int, maker: Maker) -> np.ndarray:
    """A frame with X along the joint's bone and Z as near as can be to the body's left."""
    children = [j for j, parent in enumerate(tree.parents) if parent == joint]
    bone = np.zeros(3)
    if children:
        # Hips and chest have several: the one that leads upwards.
        up = maker.axes @ [0.0, 0.0, 1.0]
        ends = [tree.rest[child] - tree.rest[joint] for child in children]
        bone = max(ends, key=lambda end: abs(end @ up) if len(ends) > 2 else np.linalg.norm(end))
        if len(ends) > 2 and bone @ up < 0.0:
            bone = -bone
    tips = [tip for owner, tip in tree.tips if owner == joint]
    if np.linalg.norm(bone) < 1e-6 and tips:
        bone = tips[0]
    if np.linalg.norm(bone) < 1e-6:
        bone = tree.rest[joint] - tree.rest[max(tree.parents[joint], 0)]
    if np.linalg.norm(bone) < 1e-6:
        bone = maker.axes @ [0.0, 0.0, 1.0]
    left = maker.axes @ [0.0, 1.0, 0.0]
    if np.linalg.norm(np.cross(left, bone)) < 0.5 * np.linalg.norm(bone):
        left = maker.axes @ [1.0, 0.0, 0.0]
    x = bone / np.linalg.norm(bone)
    y = np.cross(left, x)
    y = y / np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=-1)


def _text(tree: _Tree, fps: float, maker: Maker) -> str:
    """The file's text."""
    count, frames = len(tree.names), len(tree.places[0])
    columns: list[np.ndarray] = []
    specs = []
    local, offsets = [], []
    for joint, parent in enumerate(tree.parents):
        above = tree.turns[parent] if parent >= 0 else np.tile(np.eye(3), (frames, 1, 1))
        base = tree.places[parent] if parent >= 0 else np.zeros((frames, 3))
        local.append(np.swapaxes(above, -1, -2) @ tree.turns[joint])
        step = np.swapaxes(above, -1, -2) @ (tree.places[joint] - base)[..., None]
        offsets.append(step[..., 0])
    order: list[int] = []
    waiting = [0]
    while waiting:
        order.append(waiting.pop())
        waiting.extend(j for j in reversed(range(count)) if tree.parents[j] == order[-1])
    for joint in range(count):
        letters = maker.order
        angles = Rotation.from_matrix(local[joint]).as_euler(letters, degrees=True)
        if maker.hinges and joint > 0:
            letters, angles = _fewer(local[joint], letters, angles)
        channels = [f"{letter}rotation" for letter in letters]
        blocks = [angles]
        if joint == 0 or maker.moving or (maker.root and joint == 1):
            channels = ["Xposition", "Yposition", "Zposition", *channels]
            blocks.insert(0, offsets[joint])
        specs.append(channels)
        columns.append(np.concatenate(blocks, axis=1))
    lines = ["HIERARCHY", *_hierarchy(tree, offsets, specs, maker)]
    lines += ["MOTION", f"Frames: {frames}", f"Frame Time: {1.0 / fps:.8f}"]
    table = np.concatenate([columns[joint] for joint in order], axis=1)
    lines += [" ".join(f"{value:.6f}" for value in row) for row in table]
    return "\n".join(lines) + "\n"


def _hierarchy(
    tree: _Tree, offsets: list[np.ndarray], specs: list[list[str]], maker: Maker
) -> list[str]:
    lines: list[str] = []

    def write(joint: int, depth: int) -> None:
        tab = "  " * depth
        offset = np.zeros(3) if maker.moving or joint == 0 else offsets[joint].mean(axis=0)
        lines.append(f"{tab}{'JOINT' if depth else 'ROOT'} {tree.names[joint]}")
        lines.append(tab + "{")
        lines.append(f"{tab}  OFFSET " + " ".join(f"{v:.6f}" for v in offset))
        lines.append(f"{tab}  CHANNELS {len(specs[joint])} {' '.join(specs[joint])}")
        for child, parent in enumerate(tree.parents):
            if parent == joint:
                write(child, depth + 1)
        for owner, tip in tree.tips:
            if owner == joint:
                text = " ".join(f"{v:.6f}" for v in tip)
                lines.append(f"{tab}  End Site {{ OFFSET {text} }}")
        lines.append(tab + "}")

    write(0, 0)
    return lines


def _fewer(
    local: np.ndarray, letters: str, angles: np.ndarray
) -> tuple[str, np.ndarray]:
    """One channel where a joint turns about one axis, else all."""
    for letter in letters:
        alone = Rotation.from_matrix(local).as_rotvec(degrees=True)
        others = [axis for axis in range(3) if "XYZ"[axis] != letter]
        if np.abs(alone[:, others]).max() < 1e-6:
            return letter, alone[:, ["XYZ".index(letter)]]
    return letters, angles


def _matrices(quats: np.ndarray) -> np.ndarray:
    flat = np.asarray(quats).reshape(-1, 4)
    matrices = Rotation.from_quat(flat, scalar_first=True).as_matrix()
    return matrices.reshape(*np.shape(quats)[:-1], 3, 3)


def _between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    axis = np.cross(a, b)
    size = np.linalg.norm(axis)
    angle = np.arctan2(size, a @ b)
    return Rotation.from_rotvec(axis / max(size, 1e-12) * angle).as_matrix()


def _half_twist(top: np.ndarray, low: np.ndarray, bone: np.ndarray) -> np.ndarray:
    """Half of the twist of `low` against `top`, about `bone` (3,). (T, 3, 3)."""
    between = Rotation.from_matrix(np.swapaxes(top, -1, -2) @ low).as_quat(scalar_first=True)
    unit = bone / np.linalg.norm(bone)
    angle = 2.0 * np.arctan2(between[:, 1:] @ unit, between[:, 0])
    angle = (angle + np.pi) % (2.0 * np.pi) - np.pi
    return Rotation.from_rotvec(0.5 * angle[:, None] * unit).as_matrix()


def _is_below(parents: list[int], joint: int, top: int) -> bool:
    while joint >= 0 and joint != top:
        joint = parents[joint]
    return joint == top


def _below_foot(parents: tuple[int, ...], joint: int, role_of: dict[int, str]) -> bool:
    while (joint := parents[joint]) >= 0:
        if role_of.get(joint, "").endswith("foot"):
            return True
    return False
