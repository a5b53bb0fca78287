"""The folders that Ambulo fills by itself, and their sizes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ambulo.configs.caches import user_cache

COMPILED = ("envs", "ik", "motion", "muscle", "rig_server")
"""Subpackages with code that numba compiles and keeps."""


@dataclass(frozen=True)
class Cache:
    """A folder of files that can be made again."""

    name: str
    """Kind of its files."""
    path: Path
    """The folder, which may not exist."""
    files: int
    """Number of files."""
    bytes: int
    """Their size, [bytes]."""
    variable: str | None
    """Environment variable that moves it."""


def caches() -> list[Cache]:
    """Return the caches of this user; those not yet made hold no files."""
    from ambulo.envs.godot.locate import installed_engine
    from ambulo.envs.reference.cached import cache_folder
    from ambulo.motion.datasets.prepare import default_cache

    moved = "XDG_CACHE_HOME"
    folders = default_cache(), cache_folder(), installed_engine().parents[1]
    motions, references, engine = folders
    return [
        _cache("prepared motion", motions, "AMBULO_MOTION_CACHE"),
        _cache("feasible references", references, "AMBULO_REFERENCE_CACHE"),
        _cache("Godot engine", engine, moved),
        _cache("rest of the cache folder", user_cache(), moved, folders),
        compiled_code(),
    ]


def compiled_code() -> Cache:
    """Return numba's compiled kernels, which lie beside the code or in NUMBA_CACHE_DIR."""
    variable = "NUMBA_CACHE_DIR"
    named = os.environ.get(variable)
    roots = [Path(named)] if named else kernel_folders()
    sizes = [
        size
        for root in roots
        for path, size in _files(root)
        if path.suffix in (".nbi", ".nbc")
    ]
    return Cache("compiled kernels", roots[0], len(sizes), sum(sizes), variable)


def kernel_folders() -> list[Path]:
    """Return the folders of the subpackages that hold compiled code."""
    specs = [find_spec(f"ambulo.{name}") for name in COMPILED]
    return [
        Path(folder)
        for spec in specs
        if spec is not None
        for folder in spec.submodule_search_locations or ()
    ]


def size_text(size: int) -> str:
    """Return a number of bytes in a unit that suits it: 1536 is 1.5 KiB."""
    value, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024.0:
            break
        value, unit = value / 1024.0, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def _cache(name: str, path: Path, variable: str, others: Sequence[Path] = ()) -> Cache:
    """Return the state of a folder without the `others` inside it."""
    sizes = [
        size
        for file, size in _files(path)
        if not any(file.is_relative_to(other) for other in others)
    ]
    return Cache(name, path, len(sizes), sum(sizes), variable)


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield every file in a folder with its size; what cannot be read is left out."""
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            try:
                yield path, path.lstat().st_size
            except OSError:
                continue
