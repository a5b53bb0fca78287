"""Characters as MJCF: XML and assets for MuJoCo's viewer, MJX, Warp and the like.

Not for running them here: what a file cannot carry, stable PD first of all, is in the README
beside it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from ambulo.configs.errors import CharacterError
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.myo import quiet
from ambulo.envs.characters.registry import load_character, load_spec
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.spd import joint_gains

ASSETS = "assets"
"""Folder of meshes and textures beside the XML."""
TOLERANCE = 2e-5
"""Largest difference of a number in the file, as a part of it: XML has six digits."""
COMPARED = (
    "opt.timestep", "opt.gravity", "body_parentid", "body_pos", "body_quat", "body_mass",
    "body_ipos", "body_inertia", "jnt_type", "jnt_axis", "jnt_pos", "jnt_range",
    "jnt_stiffness", "dof_armature", "dof_damping", "geom_type", "geom_pos", "geom_size",
    "geom_contype", "geom_conaffinity", "geom_friction", "site_pos", "tendon_range",
    "wrap_type", "wrap_objid", "actuator_gear", "actuator_gainprm", "actuator_biasprm",
    "actuator_dynprm", "actuator_forcerange", "actuator_ctrlrange", "actuator_trnid",
    "eq_data", "qpos0",
)  # fmt: skip
"""Numbers of the model that must be those of the character."""
NAMED = ("body", "jnt", "geom", "actuator")
"""Parts of the model whose names must be those of the character."""


def export_mjcf(name: str, folder: Path) -> list[Path]:
    """Write the character `name` as XML, assets and README into a new folder.

    MuJoCo reads the file again before it appears; the folder appears whole or not at all.

    Returns:
        The XML and the README.

    Raises:
        ConfigError: No such character.
        CharacterError: The folder is not empty, or the file is not the character.
    """
    character = load_character(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CharacterError(f"{folder}: exists already; give a new folder")
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        os.chmod(place, 0o755)
        names = _write(character, load_spec(name), place)
        if folder.is_dir():
            folder.rmdir()
        os.replace(place, folder)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return [folder / name for name in names]


def difference(found: mujoco.MjModel, wanted: mujoco.MjModel) -> str:
    """Return the first of `COMPARED` and `NAMED` that differs; "" if none does."""
    for field in COMPARED:
        a, b = (_field(model, field) for model in (found, wanted))
        if a.shape != b.shape:
            return f"{field}: {a.shape}, expected {b.shape}"
        limit = TOLERANCE * max(1e-2, float(np.abs(b).max(initial=0.0)))
        if not np.abs(a - b).max(initial=0.0) <= limit:
            return field
    for part in NAMED:
        count = wanted.njnt if part == "jnt" else getattr(wanted, f"n{_COUNTS[part]}")
        kind = getattr(mujoco.mjtObj, _KINDS[part])
        names = [
            [mujoco.mj_id2name(model, kind, k) for k in range(count)]
            for model in (found, wanted)
        ]
        if names[0] != names[1]:
            return f"names of {part}"
    return ""


_COUNTS = {"body": "body", "geom": "geom", "actuator": "u"}
_KINDS = {
    "body": "mjOBJ_BODY",
    "jnt": "mjOBJ_JOINT",
    "geom": "mjOBJ_GEOM",
    "actuator": "mjOBJ_ACTUATOR",
}


def _field(model: mujoco.MjModel, path: str) -> np.ndarray:
    value: object = model
    for part in path.split("."):
        value = getattr(value, part)
    return np.asarray(value, dtype=np.float64)


def _write(character: Character, spec: mujoco.MjSpec, place: Path) -> list[str]:
    """Write XML, assets and README of `character`; their names."""
    with quiet():
        spec.compile()
        root = ElementTree.fromstring(spec.to_xml())
    root.set("model", character.name)
    root.insert(0, ElementTree.Comment(COMMENT))
    _present(root, "option").set("timestep", repr(float(character.model.opt.timestep)))
    _name_defaults(root)
    _open_frames(root)
    _copy_assets(root, place)
    ElementTree.indent(root)
    file = place / f"{character.name}.xml"
    file.write_text(ElementTree.tostring(root, encoding="unicode") + "\n", "utf-8")
    found = difference(mujoco.MjModel.from_xml_path(str(file)), character.model)
    if found:
        raise CharacterError(
            f"{character.name}: MuJoCo's XML is another model: {found} differs"
        )
    readme = place / "README.md"
    readme.write_text(_readme(character), encoding="utf-8")
    return [file.name, readme.name]


def _present(root: ElementTree.Element, name: str) -> ElementTree.Element:
    """Return the child `name` of the XML's root, which MuJoCo always writes."""
    found = root.find(name)
    assert found is not None
    return found


def _name_defaults(root: ElementTree.Element) -> None:
    """Name the nested defaults that attached models without a prefix leave unnamed."""
    nested = root.findall("default//default")
    for number, row in enumerate(row for row in nested if not row.get("class")):
        row.set("class", f"attached_{number}")


def _open_frames(root: ElementTree.Element) -> None:
    """Put the contents of frames that move nothing in their place: dm_control has none."""
    for parent in list(root.iter()):
        for frame in [row for row in parent if row.tag == "frame"]:
            if set(frame.attrib) <= {"name"}:
                at = list(parent).index(frame)
                parent.remove(frame)
                for number, row in enumerate(frame):
                    parent.insert(at + number, row)


def _copy_assets(root: ElementTree.Element, place: Path) -> None:
    """Copy the files that the XML names into `place`, and make it name the copies."""
    compiler = _present(root, "compiler")
    for kind in ("mesh", "texture"):
        folder = Path(compiler.attrib.pop(f"{kind}dir", ""))
        rows = [row for row in root.findall(f"asset/{kind}") if row.get("file")]
        if rows:
            compiler.set(f"{kind}dir", ASSETS)
        for row in rows:
            source = folder / row.attrib["file"]
            goal = place / ASSETS / source.name
            goal.parent.mkdir(exist_ok=True)
            if goal.exists() and goal.read_bytes() != source.read_bytes():
                raise CharacterError(f"{source}: another asset has the same name")
            shutil.copyfile(source, goal)
            row.set("file", goal.name)


def _readme(character: Character) -> str:
    """Return what the XML cannot carry, in words."""
    model = character.model
    control_dt = LocomotionEnvironmentConfig().control_dt
    coupling = joint_coupling(model)
    stiffness, damping = joint_gains(model, character.gains, coupling)
    rows = [
        (model.joint(int(model.dof_jntid[dof])).name, kp, kd)
        for dof, kp, kd in zip(coupling.independent, stiffness, damping, strict=True)
    ][6:]
    table = "\n".join(
        f"| {joint} | {kp:g} | {kd:g} |" for joint, kp, kd in dict.fromkeys(rows)
    )
    muscles = model.na > 0
    drives = (
        f"{model.nu} muscles; a control is an excitation in [0, 1]"
        if muscles
        else f"{model.nu} motors; a control is a torque, [N m], within its force range"
    )
    return README.format(
        name=character.name, file=f"{character.name}.xml", step=model.opt.timestep,
        nq=model.nq, nv=model.nv, mass=model.body_subtreemass[0], drives=drives,
        control=control_dt, substeps=round(control_dt / model.opt.timestep), table=table,
        after=MUSCLE_TEXT if muscles else MOTOR_TEXT,
        assets=ASSETS_TEXT if model.nmesh else "",
    )  # fmt: skip


COMMENT = (
    " A body of Ambulo. README.md beside this file tells what it cannot carry: stable PD and "
    "its gains, the control rate, the environments. "
)
MOTOR_TEXT = (
    "The torque is the motor's control, cut off at its force range. Without a controller\n"
    "the body falls."
)
MUSCLE_TEXT = (
    "Muscles cannot be given torques: at every second physics step Ambulo finds the\n"
    "activations that make the torque (an exact solver, or the model `muscle_nn_myolegs`),\n"
    "and from them the excitations. This is in Python, not in the file."
)
ASSETS_TEXT = (
    "\n`assets/` holds the meshes and textures of the package myo-sim, under its licence "
    "(Apache 2.0).\n"
)
README = """# {name}

`{file}` is the body {name} of Ambulo as MuJoCo XML: SI units, Z up, facing +X at rest.

* {nq} positions, {nv} degrees of freedom, {mass:.4g} kg. The root is a free joint.
* {drives}.
* Physics step {step:.6g} s. Numbers in the file have six digits.
{assets}
## What the file does not carry

**Stable PD.** In Ambulo's environments an action moves the target pose of the joints; every
physics step stable PD (Tan, Liu and Turk 2011) turns the target into torques. It solves one
linear system with the mass matrix, so that stiff gains stay stable:

    (M + dt Kd) a = -Kp (q + dt v - target) - Kd v - bias + contact forces
    torque = -Kp (q + dt v - target) - Kd (v + dt a)

Ordinary PD actuators with these gains behave otherwise at this step size. The gains:

| joint | stiffness, [N m / rad] | damping, [N m s / rad] |
|---|---|---|
{table}

{after}

**Control.** An action lasts {control:.4g} s by default, {substeps} physics steps.
Observations, rewards, references and the end of episodes belong to the environment.
"""
