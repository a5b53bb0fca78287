"""A user's body as a compiled MuJoCo model: MJCF, URDF, MjSpec, or a function that makes one.

What URDF files hold that MuJoCo refuses or reads wrongly is mended here, with a note.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

import mujoco
import numpy as np

from ambulo.configs.errors import ConfigError
from ambulo.configs.reading import read_regular
from ambulo.envs.characters.own.mesh_points import hull_obj, mesh_points

MODEL_FILES = (".xml", ".urdf", ".mjcf")
"""Ends of the names of files that hold a body."""
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
"""A function that makes a body: `package.module:function`."""
MIN_MASS, MIN_INERTIA = 1e-6, 1e-9
"""Smallest mass, [kg], and moment of inertia, [kg m^2], of a link that moves."""
INERTIA = (
    ("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2),
    ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2),
)  # fmt: skip
"""Where the numbers of a URDF's inertia stand in its matrix."""
Source: TypeAlias = mujoco.MjSpec | mujoco.MjModel | str | Path


@dataclass(frozen=True, eq=False)
class SourceModel:
    """A user's model, compiled, before anything of it is changed."""

    name: str
    """Name of the file without its end, or of the function or model."""
    model: mujoco.MjModel
    """The model; meshes are their hulls."""
    digest: str
    """SHA-256 of the file, or of the model as XML."""
    notes: tuple[str, ...] = ()
    """Repairs and omissions, a line each."""
    missing: tuple[tuple[str, str], ...] = ()
    """Body and mesh file of each shape whose mesh is not there."""


def is_own(text: str) -> bool:
    """Whether `text` names a file of a body or a function that makes one."""
    return text.lower().endswith(MODEL_FILES) or bool(FUNCTION.fullmatch(text))


def read_source(source: Source) -> SourceModel:
    """Return the model in a file, of a function `package:function`, XML text or MjSpec.

    Raises:
        ConfigError: It cannot be read, or MuJoCo refuses it.
    """
    if isinstance(source, mujoco.MjModel):
        name = source.names[: source.names.index(b"\0")].decode() or "body"
        return SourceModel(name, source, _digest(repr_of(source)))
    if isinstance(source, mujoco.MjSpec):
        return _compiled(source, source.modelname or "body")
    text = str(source)
    if text.lstrip()[:1] == "<":
        return _from_text(text, Path(), "body")
    if FUNCTION.fullmatch(text):
        return _from_function(text)
    path = Path(text)
    try:
        data = read_regular(path).decode()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is no XML in UTF-8") from None
    return _from_text(data, path, path.stem)


def repr_of(model: mujoco.MjModel) -> str:
    """Return the numbers of a model that decide how it moves, as text."""
    fields = (
        model.body_parentid, model.body_pos, model.body_quat, model.body_mass,
        model.body_inertia, model.jnt_type, model.jnt_axis, model.jnt_range,
    )  # fmt: skip
    return model.names.hex() + "".join(field.tobytes().hex() for field in fields)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _from_function(text: str) -> SourceModel:
    """Import a module and call its function."""
    module, _, function = text.partition(":")
    try:
        found = import_module(module)
    except Exception as error:  # whatever the user's code raises
        raise ConfigError(
            f"{text}: cannot be imported: {type(error).__name__}: {error}"
        ) from error
    try:
        make = getattr(found, function)
    except AttributeError:
        raise ConfigError(f"{text}: {module} has no {function!r}") from None
    try:
        made = make() if callable(make) else make
    except Exception as error:
        raise ConfigError(
            f"{text}: calling it without arguments failed: "
            f"{type(error).__name__}: {error}"
        ) from error
    if not isinstance(made, (mujoco.MjSpec, mujoco.MjModel, str, Path)):
        raise ConfigError(
            f"{text}: returned {type(made).__name__}; expected MjSpec, MjModel, XML or a path"
        )
    if isinstance(made, str) and FUNCTION.fullmatch(made):
        raise ConfigError(f"{text}: returned the name of a function, {made}")
    source = read_source(made)
    return SourceModel(
        function, source.model, source.digest, source.notes, source.missing
    )


def _from_text(text: str, path: Path, name: str) -> SourceModel:
    """A model of MJCF or URDF text; `path` is its file."""
    label = f"{path}: " if path.name else ""
    if re.search(r"<!(DOCTYPE|ENTITY)", text):
        raise ConfigError(f"{label}XML with its own entities is not read")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"{label}is no XML: {error}") from None
    if any("xacro}" in element.tag for element in root.iter()):
        raise ConfigError(f"{label}has xacro macros: expand them first")
    if root.tag == "robot":
        return _urdf(root, path, name, _digest(text))
    if root.tag != "mujoco":
        raise ConfigError(
            f"{label}<{root.tag}> is neither MJCF (mujoco) nor URDF (robot)"
        )
    with _refusals(label):
        spec = (
            mujoco.MjSpec.from_file(str(path))
            if path.name
            else mujoco.MjSpec.from_string(text)
        )
    return _compiled(spec, name, label=label, folder=path.parent, digest=_digest(text))


@contextmanager
def _refusals(label: str) -> Iterator[None]:
    """MuJoCo's errors as ours, in one line, without its warnings."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (ValueError, mujoco.FatalError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise ConfigError(f"{label}MuJoCo: {'; '.join(lines[:2])}") from None
    finally:
        mujoco.set_mju_user_warning(before)


def _compiled(
    spec: mujoco.MjSpec,
    name: str,
    *,
    label: str = "",
    folder: Path = Path(),
    digest: str = "",
    notes: tuple[str, ...] = (),
) -> SourceModel:
    """Compile a spec, without the shapes whose mesh files are not there."""
    missing: list[tuple[str, str]] = []
    place = folder / spec.meshdir if spec.meshdir else folder
    gone = {
        mesh.name or Path(mesh.file).stem: mesh.file
        for mesh in spec.meshes
        if mesh.file
        and mesh.file not in spec.assets
        and not (place / mesh.file).is_file()
    }
    for geom in list(spec.geoms):
        if geom.meshname in gone:
            missing.append((geom.parent.name, gone[geom.meshname]))
            spec.delete(geom)
    for mesh in list(spec.meshes):
        if (mesh.name or Path(mesh.file).stem) in gone:
            spec.delete(mesh)
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    # What a body does not need, and what may name parts of a scene that is not here.
    for unused in (
        *(*spec.keys, *spec.skins, *spec.textures),
        *(*spec.pairs, *spec.excludes, *spec.sensors),
    ):
        spec.delete(unused)
    if missing:
        files = sorted({file for _, file in missing})
        notes = (*notes, f"{len(files)} mesh files are not there: {files[0]}, ...")
    if missing:
        label += f"without {missing[0][1]}, a mesh that is not there: "
    with _refusals(label):
        model = spec.compile()
        digest = digest or _digest(spec.to_xml())
    numbers = np.c_[model.body_pos, model.body_quat, model.body_inertia]
    for body in np.flatnonzero(~np.isfinite(numbers).all(axis=1)):
        raise ConfigError(f"body {model.body(body).name!r}: its place is not finite")
    return SourceModel(name, model, digest, notes, tuple(missing))


def _urdf(root: ElementTree.Element, path: Path, name: str, digest: str) -> SourceModel:
    """A URDF robot: meshes found and made hulls, numbers that MuJoCo refuses mended."""
    notes: list[str] = []
    missing: list[tuple[str, str]] = []
    assets: dict[str, bytes] = {}
    for extra in [*root.findall("gazebo"), *root.findall("transmission")]:
        root.remove(extra)
    for origin in root.iter("origin"):
        for key in ("xyz", "rpy"):
            if key in origin.attrib:
                origin.set(key, origin.attrib[key].replace(",", " "))
    moved = {
        str(child.get("link"))
        for joint in root.findall("joint")
        if joint.get("type") != "fixed" and (child := joint.find("child")) is not None
    }
    light = [
        str(link.get("name"))
        for link in root.findall("link")
        if _mended_inertia(link, str(link.get("name")) in moved)
    ]
    if light:
        notes.append(
            f"{len(light)} links have no positive inertia, as {light[0]}: made tiny"
        )
    for link in root.findall("link"):
        _use_shapes(link, path, assets, missing, notes)
    for extension in root.findall("mujoco"):
        root.remove(extension)
    extension = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(
        extension,
        "compiler",
        fusestatic="false",
        discardvisual="false",
        strippath="true",
        balanceinertia="true",
        boundmass="0",
    )
    text = ElementTree.tostring(root, encoding="unicode")
    with _refusals(f"{path}: " if path.name else ""):
        spec = mujoco.MjSpec.from_string(text, assets=assets)
    if missing:
        notes.append(f"{len(missing)} mesh files are not there: {missing[0][1]}, ...")
    found = _compiled(
        spec,
        name,
        label=f"{path}: " if path.name else "",
        folder=path.parent,
        digest=digest,
        notes=tuple(notes),
    )
    return SourceModel(found.name, found.model, digest, found.notes, tuple(missing))


def _mended_inertia(link: ElementTree.Element, moves: bool) -> bool:
    """Give a link that moves a positive mass and inertia; whether it had none."""
    inertial = link.find("inertial")
    mass = None if inertial is None else inertial.find("mass")
    inertia = None if inertial is None else inertial.find("inertia")
    value = 0.0 if mass is None else float(mass.get("value", "0"))
    if value < 0.0:
        raise ConfigError(
            f"link {link.get('name')!r}: its mass {value:g} kg is negative"
        )
    matrix = np.zeros((3, 3))
    for key, row, column in INERTIA:
        number = 0.0 if inertia is None else float(inertia.get(key, "0"))
        matrix[row, column] = matrix[column, row] = number
    moments, axes = np.linalg.eigh(matrix)
    if value >= MIN_MASS and moments.min() >= MIN_INERTIA:
        return False
    if not moves and value == 0.0:
        if inertial is not None:
            link.remove(inertial)
        return False
    if inertial is None:
        inertial = ElementTree.SubElement(link, "inertial")
    mass = ElementTree.SubElement(inertial, "mass") if mass is None else mass
    if inertia is None:
        inertia = ElementTree.SubElement(inertial, "inertia")
    mass.set("value", repr(max(value, MIN_MASS)))
    # At least that of a ball of 1 cm radius for its mass.
    moments = np.maximum(moments, max(4e-5 * value, MIN_INERTIA))
    matrix = axes @ np.diag(moments) @ axes.T
    for key, row, column in INERTIA:
        inertia.set(key, repr(float(matrix[row, column])))
    return True


def _use_shapes(
    link: ElementTree.Element,
    path: Path,
    assets: dict[str, bytes],
    missing: list[tuple[str, str]],
    notes: list[str],
) -> None:
    """Keep what a link collides with, else what is seen of it; meshes become hulls."""
    shapes = link.findall("collision")
    unused = link.findall("visual") if shapes else []
    shapes = shapes or link.findall("visual")
    for shape in unused:
        link.remove(shape)
    for shape in shapes:
        mesh = shape.find("geometry/mesh")
        ball = shape.find("geometry/sphere")
        if ball is not None and float(ball.get("radius", "0")) <= 0.0:
            link.remove(shape)
        if mesh is None:
            continue
        file = str(mesh.get("filename", ""))
        found = find_mesh(file, path)
        if found is None:
            missing.append((str(link.get("name")), file))
            link.remove(shape)
            continue
        try:
            hull = hull_obj(mesh_points(found))
        except (OSError, ValueError) as error:
            notes.append(f"{found.name}: left out: {error}")
            link.remove(shape)
            continue
        key = f"mesh{len(assets)}.obj"
        assets[key] = hull
        mesh.set("filename", key)


def find_mesh(name: str, path: Path) -> Path | None:
    """Return the file that a URDF means by `package://...` or a path; None if there is none.

    The end of the path is looked for beside the URDF and beside the folders above it.
    """
    plain = re.sub(r"^(package|file|model)://", "", name).lstrip("/")
    parts = Path(plain).parts
    if ".." not in parts:
        for above in (path.parent, *path.resolve().parents):
            for start in range(len(parts)):
                candidate = above.joinpath(*parts[start:])
                if candidate.is_file():
                    return candidate
        return None
    candidate = path.parent / plain
    return candidate if candidate.is_file() else None
