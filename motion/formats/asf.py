"""ASF files: the skeleton of the Acclaim format, as it is written and as a `Skeleton`.

Format: "Acclaim Motion Capture ASF/AMC" as documented by M. Schafer (1994) and J. Lander
("Working with Motion Capture File Formats", Game Developer, January 1998), in the dialect of
the CMU data base. Of a bone, `direction` times `length` is the vector from its start to its end
at rest, in world axes; children start at their parent's end. Its angles are measured in the
frame C of `axis`: the local rotation is C M C^-1, and the angles of `dof` act one after the
other about fixed axes (rx ry rz: M = Rz Ry Rx). Skin, mass and centre of mass are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.motion.euler import quat_from_euler
from ambulo.motion.formats.asf_text import Lines, asf_lines
from ambulo.motion.formats.axes import CMU_AXES, INCH, Axes, Vec3
from ambulo.motion.formats.disk import rules_of, write_bytes
from ambulo.motion.skeleton import MAX_JOINTS, Skeleton

ROOT = "root"
"""Name of the root, which is not a bone."""
ROOT_ORDER = ("TX", "TY", "TZ", "RX", "RY", "RZ")
_TURNS = ("rx", "ry", "rz")
_MOVES = ("tx", "ty", "tz", "l")


@dataclass(frozen=True)
class AsfBone:
    """One bone of `:bonedata`, in the file's units and axes."""

    name: str
    """Its name."""
    direction: Vec3
    """From start to end at rest, about of unit length."""
    length: float
    """Length, in the file's unit."""
    axis: Vec3 = (0.0, 0.0, 0.0)
    """Angles of the frame C, in the file's unit of angle, in the letters' order."""
    axis_order: str = "XYZ"
    """Letters in the order in which the angles of `axis` act about fixed axes."""
    dof: tuple[str, ...] = ()
    """The angles that move: "rx", "ry", "rz" in the file's order."""
    limits: tuple[tuple[float, float], ...] = ()
    """Lower and upper limit of each angle; may be infinite; () without limits."""


@dataclass(frozen=True)
class AsfFile:
    """Contents of an ASF file."""

    bones: tuple[AsfBone, ...]
    """All bones in the order of `:bonedata`."""
    children: dict[str, tuple[str, ...]]
    """Bones that start at the end of a bone, or at the root."""
    name: str = "VICON"
    """`:name`."""
    mass: float = 1.0
    """`:units mass`."""
    length: float = 1.0
    """`:units length`: the scale by which lengths are divided to give inches."""
    degrees: bool = True
    """`:units angle`: degrees, else radians."""
    root_order: tuple[str, ...] = ROOT_ORDER
    """Root channels in the file's order."""
    root_axis: str = "XYZ"
    """Letters in the order in which the angles of `orientation` act."""
    position: Vec3 = (0.0, 0.0, 0.0)
    """Added to the root's position of every frame."""
    orientation: Vec3 = (0.0, 0.0, 0.0)
    """Angles of the root's frame C."""
    documentation: tuple[str, ...] = field(default=(), compare=False)
    """Lines of `:documentation`."""

    @property
    def metres(self) -> float:
        """One unit of length of this file, [m]."""
        return INCH / self.length

    def bone(self, name: str) -> AsfBone | None:
        """The bone called `name`; None for the root."""
        return next((bone for bone in self.bones if bone.name == name), None)


def read_asf(path: Path) -> AsfFile:
    """The ASF file `path`; `MotionFileError` names the line and the rule it breaks."""
    lines = asf_lines(path)
    result: dict[str, object] = {}
    bones: dict[str, AsfBone] = {}
    children: dict[str, tuple[str, ...]] = {}
    while lines:
        section = lines.next()
        keyword = section.words[0].lower()
        if not keyword.startswith(":"):
            lines.fail(section.number, f"expected a section, got {keyword[:24]!r}")
        if keyword == ":name":
            result["name"] = " ".join(section.words[1:])
        elif keyword == ":units":
            _read_units(lines, result)
        elif keyword == ":documentation":
            result["documentation"] = tuple(line.text for line in lines.section())
        elif keyword == ":root":
            _read_root(lines, result)
        elif keyword == ":bonedata":
            _read_bones(lines, bones)
        elif keyword == ":hierarchy":
            _read_hierarchy(lines, bones, children)
        else:
            lines.section()
    if not bones:
        lines.fail(0, "is no ASF file: it has no :bonedata")
    if not children:
        lines.fail(0, "has no :hierarchy")
    asf = AsfFile(tuple(bones.values()), children, **result)  # type: ignore[arg-type]
    reached = _depth_first(asf)
    if len(reached) <= len(bones):
        lost = next(name for name in bones if name not in set(reached))
        lines.fail(0, f"bone {lost!r} is not joined to the root (missing or a cycle)")
    return asf


def asf_to_skeleton(
    asf: AsfFile, metres: float | None = None, axes: Axes = CMU_AXES, name: str = ""
) -> Skeleton:
    """The skeleton of `asf`: a joint at the start of each bone, the root first.

    `metres` is one unit of length; by default that of the file.
    """
    scale = asf.metres if metres is None else metres
    angle = np.pi / 180.0 if asf.degrees else 1.0
    bones = {bone.name: bone for bone in asf.bones}
    joints = _depth_first(asf)
    positions = {joint: i for i, joint in enumerate(joints)}
    parent_of = {c: p for p, group in asf.children.items() for c in group}
    ends = {b.name: np.array(b.direction) * b.length for b in asf.bones}
    ends[ROOT] = np.zeros(3)
    offsets = [np.array(asf.position)]
    frames = [_frame(asf.orientation, asf.root_axis, angle)]
    orders = [turn_order(asf.root_order)]
    limits: list[tuple[float, float]] = [(-np.pi, np.pi)] * len(orders[0])
    for joint in joints[1:]:
        bone = bones[joint]
        offsets.append(ends[parent_of[joint]])
        frames.append(_frame(bone.axis, bone.axis_order, angle))
        orders.append(turn_order(bone.dof))
        limits.extend(_limits(bone, angle))
    leaves = [j for j in joints if not asf.children.get(j)]
    named = [axes.order_to_ours(order) for order in orders]
    signs = np.concatenate([s for _, s in named])
    bounds = np.sort(np.array(limits).reshape(-1, 2) * signs[:, None], axis=1)
    return Skeleton(
        name=name or asf.name or "asf",
        joints=tuple(joints),
        parents=(-1, *(positions[parent_of[joint]] for joint in joints[1:])),
        offsets=axes.to_ours(np.array(offsets)) * scale,
        orders=tuple(order for order, _ in named),
        axes=axes.quat_to_ours(np.array(frames)),
        limits=bounds,
        tip_parents=tuple(positions[leaf] for leaf in leaves),
        tips=axes.to_ours(np.array([ends[leaf] for leaf in leaves])) * scale,
    )


def read_asf_skeleton(path: Path, metres: float | None = None) -> Skeleton:
    """The skeleton in the ASF file `path`, our axes, metres."""
    asf = read_asf(path)
    with rules_of(path):
        return asf_to_skeleton(asf, metres, name=path.stem)


def turn_order(channels: tuple[str, ...]) -> str:
    """The intrinsic rotation order of angles that act one after the other about fixed axes.

    rx ry rz: R = Rz Ry Rx, which is the intrinsic order "ZYX".
    """
    return "".join(c[1].upper() for c in reversed(channels) if c.lower() in _TURNS)


def write_asf(path: Path, asf: AsfFile) -> None:
    """Write `asf` atomically."""
    lines = [":version 1.10", f":name {asf.name}", ":units"]
    lines.append(f"  mass {asf.mass!r}")
    lines.append(f"  length {asf.length!r}")
    lines.append(f"  angle {'deg' if asf.degrees else 'rad'}")
    if asf.documentation:
        lines += [":documentation", *(f"  {text}" for text in asf.documentation)]
    lines += [":root", f"  order {' '.join(asf.root_order)}"]
    lines += [f"  axis {asf.root_axis}", f"  position {_spaced(asf.position)}"]
    lines += [f"  orientation {_spaced(asf.orientation)}", ":bonedata"]
    for number, bone in enumerate(asf.bones, start=1):
        lines += ["  begin", f"    id {number}", f"    name {bone.name}"]
        lines += [f"    direction {_spaced(bone.direction)}"]
        lines += [f"    length {bone.length!r}"]
        lines += [f"    axis {_spaced(bone.axis)} {bone.axis_order}"]
        if bone.dof:
            lines.append(f"    dof {' '.join(bone.dof)}")
        for i, (low, high) in enumerate(bone.limits):
            lines.append(f"    {'      ' if i else 'limits'} ({low!r} {high!r})")
        lines.append("  end")
    lines += [":hierarchy", "  begin"]
    lines += [f"    {p} {' '.join(group)}" for p, group in asf.children.items()]
    lines.append("  end")
    write_bytes(path, ("\n".join(lines) + "\n").encode())


def _spaced(values: Vec3) -> str:
    return " ".join(map(repr, values))


def _frame(angles: Vec3, order: str, unit: float) -> Floats:
    """The frame C, wxyz, of the file's axes; the first letter acts first."""
    if not any(angles):
        return np.array([1.0, 0.0, 0.0, 0.0])
    return quat_from_euler(np.array(angles[::-1]) * unit, order[::-1])


def _limits(bone: AsfBone, unit: float) -> list[tuple[float, float]]:
    """Limits in the order of the skeleton's angles, [rad]; half a turn if endless."""
    given = bone.limits or ((-np.inf, np.inf),) * len(bone.dof)
    limits = [
        (
            low * unit if np.isfinite(low) else -np.pi,
            high * unit if np.isfinite(high) else np.pi,
        )
        for low, high in given
    ]
    return [(min(pair), max(pair)) for pair in reversed(limits)]


def _depth_first(asf: AsfFile) -> list[str]:
    """The root and all bones connected to it, parents first."""
    order, waiting = [], [ROOT]
    while waiting:
        joint = waiting.pop()
        order.append(joint)
        waiting.extend(reversed(asf.children.get(joint, ())))
    return order


def _read_units(lines: Lines, found: dict[str, object]) -> None:
    for line in lines.section():
        key = line.words[0].lower()
        if key in {"mass", "length"}:
            value = lines.numbers(line, 1)[0]
            if value <= 0.0:
                lines.fail(line.number, f"units {key} must be above 0, got {value:g}")
            found[key] = value
        elif key == "angle":
            word = lines.word(line).lower()
            if word not in {"deg", "degree", "degrees", "rad", "radian", "radians"}:
                lines.fail(line.number, f"angle must be deg or rad, got {word[:24]!r}")
            found["degrees"] = word.startswith("deg")


def _read_root(lines: Lines, found: dict[str, object]) -> None:
    for line in lines.section():
        key = line.words[0].lower()
        if key == "order":
            order = tuple(word.upper() for word in line.words[1:])
            if len(set(order)) != len(order) or not set(order) <= set(ROOT_ORDER):
                lines.fail(
                    line.number,
                    f"root order must be some of {' '.join(ROOT_ORDER)}, each once",
                )
            found["root_order"] = order
        elif key == "axis":
            found["root_axis"] = lines.letters(line, lines.word(line))
        elif key in {"position", "orientation"}:
            found[key] = lines.vector(line)


def _read_bones(lines: Lines, bones: dict[str, AsfBone]) -> None:
    while lines and not lines.peek().words[0].startswith(":"):
        line = lines.next()
        if line.words[0].lower() != "begin":
            lines.fail(line.number, f"expected begin, got {line.words[0][:24]!r}")
        bone = _read_bone(lines, line.number)
        if not bone.name.isprintable():
            lines.fail(
                line.number, f"the bone name {bone.name[:48]!r} cannot be printed"
            )
        if bone.name in bones or bone.name == ROOT:
            lines.fail(line.number, f"two bones are called {bone.name[:48]!r}")
        if len(bones) + 1 == MAX_JOINTS:
            lines.fail(line.number, f"more than {MAX_JOINTS} bones")
        bones[bone.name] = bone


def _read_bone(lines: Lines, begin: int) -> AsfBone:
    values: dict[str, object] = {}
    limits: list[tuple[float, float]] = []
    limits_line = begin
    while True:
        line = lines.next("a bone's end")
        key = line.words[0].lower()
        if key == "end":
            break
        if key == "name":
            values["name"] = lines.word(line)
        elif key == "direction":
            values["direction"] = lines.vector(line)
        elif key == "length":
            values["length"] = lines.numbers(line, 1)[0]
        elif key == "axis":
            values["axis"] = lines.vector(line)
            letters = line.words[4] if len(line.words) > 4 else "XYZ"
            values["axis_order"] = lines.letters(line, letters)
        elif key == "dof":
            values["dof"] = _dof(lines, line.number, line.words[1:])
        elif key == "limits" or key.startswith("("):
            limits_line = line.number
            limits.extend(lines.pairs(line))
        elif key.startswith(":"):
            lines.fail(line.number, "a bone has no end")
    for key in ("name", "direction", "length"):
        if key not in values:
            lines.fail(begin, f"a bone without {key}")
    bone = AsfBone(limits=tuple(limits), **values)  # type: ignore[arg-type]
    if limits and len(limits) != len(bone.dof):
        rule = f"bone {bone.name!r} has {len(limits)} limits for {len(bone.dof)} dof"
        lines.fail(limits_line, rule)
    return bone


def _dof(lines: Lines, number: int, words: tuple[str, ...]) -> tuple[str, ...]:
    dof = tuple(word.lower() for word in words)
    for word in dof:
        if word in _MOVES:
            lines.fail(
                number, f"dof {word!r}: bones that change in length are not read"
            )
        if word not in _TURNS:
            lines.fail(number, f"dof must be some of rx ry rz, got {word[:24]!r}")
    if len(set(dof)) != len(dof):
        lines.fail(number, "a dof comes twice")
    return dof


def _read_hierarchy(
    lines: Lines, bones: dict[str, AsfBone], children: dict[str, tuple[str, ...]]
) -> None:
    taken: set[str] = set()
    for line in lines.section():
        parent, *group = line.words
        if parent.lower() in {"begin", "end"} and not group:
            continue
        for name in (parent, *group):
            if name != ROOT and name not in bones:
                lines.fail(line.number, f"{name[:48]!r} is no bone of :bonedata")
        for name in group:
            if name in taken or name == ROOT:
                lines.fail(line.number, f"{name[:48]!r} has two parents")
            taken.add(name)
        children[parent] = (*children.get(parent, ()), *group)
