"""Read and write motion files of all formats, chosen by file name extension.

Reading converts lengths to metres and axes to ours (Z up, facing +X), writing converts them
back. Unusable files raise `MotionFileError`.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.motion.formats.acclaim import write_acclaim
from ambulo.motion.formats.amc import find_asf, read_amc, read_amc_motion
from ambulo.motion.formats.asf import read_asf
from ambulo.motion.formats.axes import CMU_AXES, UNITS, Axes
from ambulo.motion.formats.bvh import read_bvh, read_bvh_header
from ambulo.motion.formats.bvh_motion import (
    bvh_units,
    read_bvh_motion,
    write_bvh_motion,
)
from ambulo.motion.formats.deepmimic import is_deepmimic, read_deepmimic
from ambulo.motion.formats.gltf import ENDINGS as GLTF
from ambulo.motion.formats.gltf import gltf_units, read_gltf
from ambulo.motion.formats.npz import is_motion_npz, read_npz, write_npz
from ambulo.motion.formats.tpose import without_tpose
from ambulo.motion.motion import Motion
from ambulo.motion.roles.files import roles_beside, with_map

logger = logging.getLogger(__name__)

ENDINGS = (".bvh", ".amc", ".npz", ".txt", ".json")
"""File name extensions of motions that `read_motion` reads, in any case."""
WRITTEN = (".bvh", ".amc", ".npz")
"""File name extensions that `write_motion` writes."""


def read_motion(
    path: str | os.PathLike[str],
    *,
    asf: str | os.PathLike[str] | None = None,
    units: str | float = "auto",
    drop_tpose: bool = False,
    axes: Axes = CMU_AXES,
    strict: bool = False,
) -> Motion:
    """Return the motion in the file `path`; the extension determines the format.

    Repairs are logged (`Motion.notes`). A role map beside it, `NAME.roles.json`, gives the
    roles of its joints.

    Args:
        path: A BVH, AMC, NPZ or DeepMimic (.txt, .json) file, or a glTF file, of which one
            frame is read, the rest pose.
        asf: Skeleton of an AMC file; by default searched in the same folder.
        units: The unit of length of a BVH, AMC or glTF file: "m", "cm", "mm", "inch", "asf"
            (the CMU data base's), a number of metres, or "auto": that of the ASF, or the unit
                that gives a BVH skeleton the size of a human (`units_of`).
        drop_tpose: Whether to drop leading frames of a synthetic T-pose
            (`ambulo.motion.formats.tpose`).
        axes: Up and forward directions of a BVH, AMC or glTF file.
        strict: Refuse a file that needs any repair.
    """
    motion = read_unlogged(path, asf=asf, units=units, axes=axes, strict=strict)
    for note in motion.notes:
        logger.warning("%s: %s", path, note)
    return without_tpose(motion) if drop_tpose else motion


def read_unlogged(
    path: str | os.PathLike[str],
    *,
    asf: str | os.PathLike[str] | None = None,
    units: str | float = "auto",
    axes: Axes = CMU_AXES,
    strict: bool = False,
    roles: str | os.PathLike[str] | None = None,
) -> Motion:
    """`read_motion` for callers that report `Motion.notes` themselves.

    Args:
        path: As for `read_motion`, as are the following.
        asf: See there.
        units: See there.
        axes: See there.
        strict: See there.
        roles: Role map (`*.roles.json`) instead of the one beside the file.

    Raises:
        MotionFileError: The file, or the role map beside it, cannot be used.
        ConfigError: `roles` cannot be read, or names joints that the file lacks.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending == ".bvh":
        motion = read_bvh_motion(file, units, axes)
    elif ending == ".amc":
        motion = read_amc_motion(file, None if asf is None else Path(asf), units, axes)
    elif ending == ".npz":
        motion = read_npz(file)
    elif ending in {".txt", ".json"}:
        motion = read_deepmimic(file)
    elif ending in GLTF:
        motion = read_gltf(file, units, axes)
    else:
        raise _wrong_ending(file, (*ENDINGS, *GLTF))
    if strict and motion.notes:
        raise MotionFileError(file, 0, motion.notes[0])
    if roles is not None:
        return motion.replace(skeleton=with_map(motion.skeleton, roles))
    if (beside := roles_beside(file)) is None:
        return motion
    try:
        return motion.replace(skeleton=with_map(motion.skeleton, beside))
    except ConfigError as error:
        raise MotionFileError(file, 0, str(error)) from None


def write_motion(
    path: str | os.PathLike[str],
    motion: Motion,
    *,
    units: str | float = "auto",
    axes: Axes = CMU_AXES,
) -> None:
    """Write `motion` to `path` atomically; the extension determines the format.

    By default `.bvh` is in centimetres and `.amc` in the CMU data base's unit; beside `x.amc`
    its skeleton `x.asf` is written. `.npz` is always in metres and our axes.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending == ".bvh":
        write_bvh_motion(file, motion, units, axes)
    elif ending == ".amc":
        write_acclaim(file, motion, units, axes)
    elif ending == ".npz":
        write_npz(file, motion)
    else:
        raise _wrong_ending(file, WRITTEN)


def names_motion(name: str) -> bool:
    """Whether `name` ends like a file that can only be a motion: not .txt or .json."""
    return name.lower().endswith((*WRITTEN, *GLTF))


def find_motions(folder: str | os.PathLike[str]) -> list[Path]:
    """All motion files in `folder` and below it, sorted.

    `.txt`, `.json` and `.npz` files are included only if their contents look like a motion,
    since folders of clips also hold notes, splits and tables. Hidden files and folders are
    skipped.
    """
    root = Path(folder)
    if not root.is_dir():
        raise MotionFileError(root, 0, "is no folder")
    result = []
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            file = Path(parent, name)
            if not name.startswith(".") and _is_motion(file):
                result.append(file)
    return sorted(result)


def units_of(
    path: str | os.PathLike[str], asf: str | os.PathLike[str] | None = None
) -> str:
    """The unit of length that `read_motion` uses for "auto", such as "cm" or "0.025 m".

    See `ambulo.motion.formats.axes.likely_units` for the guess for BVH.
    """
    file = Path(path)
    ending = file.suffix.lower()
    if ending == ".bvh":
        header = read_bvh_header(file)
        if any(c.endswith("position") for j in header.joints[1:] for c in j.channels):
            header = read_bvh(file)  # channels give the distances
        return bvh_units(header)
    if ending == ".amc":
        skeleton = find_asf(file, read_amc(file).asf_name) if asf is None else Path(asf)
        metres = read_asf(skeleton).metres
        close = (n for n, m in UNITS.items() if abs(metres - m) <= 1e-9 * m)
        return next(close, f"{metres:g} m")
    return gltf_units(file) if ending in GLTF else "m"


def _wrong_ending(file: Path, endings: tuple[str, ...]) -> MotionFileError:
    rule = f"its ending must be one of {', '.join(endings)}, to say the format"
    return MotionFileError(file, 0, rule)


def _is_motion(file: Path) -> bool:
    ending = file.suffix.lower()
    if ending in {".txt", ".json"}:
        return is_deepmimic(file)
    return ending in ENDINGS and (ending != ".npz" or is_motion_npz(file))
