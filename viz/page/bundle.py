"""Run npm's packages for the page: installed once from the lock, then bundled by esbuild."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ambulo.configs.caches import user_cache
from ambulo.configs.errors import AmbuloError

SOURCES = Path(__file__).resolve().parent
"""Folder of the page's own sources, beside this file."""
LOCK = "package-lock.json"
_READY = ".ready"
_WAIT = 600.0
"""Time limit of npm or esbuild, [s]."""


class PageError(AmbuloError):
    """The page cannot be built."""


def package_folder() -> Path:
    """Return the folder with the packages of the lock file, which npm fills at first use.

    Raises:
        PageError: Npm is missing, or fails.
    """
    lock = (SOURCES / LOCK).read_bytes()
    folder = user_cache(f"page-{hashlib.sha256(lock).hexdigest()[:12]}")
    if (folder / _READY).is_file():
        return folder
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise PageError("the page needs Node.js 20 or newer with npm to be built")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", LOCK):
        shutil.copyfile(SOURCES / name, folder / name)
    flags = ["--ignore-scripts", "--no-audit", "--no-fund"]
    run_tool([npm, "ci", *flags], folder)
    (folder / _READY).touch()
    return folder


def bundle(name: str, packages: Path, out: Path) -> None:
    """Write the script `name` and all its imports as one classic script.

    Args:
        name: File of `SOURCES`.
        packages: See `package_folder`.
        out: File to write.

    Raises:
        PageError: Esbuild fails.
    """
    tools = packages / "node_modules" / ".bin"
    program = shutil.which("esbuild", path=str(tools)) or tools / "esbuild"
    flags = ["--bundle", "--format=iife", "--minify", "--target=es2022"]
    flags += ["--define:import.meta.url=document.baseURI", "--log-level=error"]
    modules = {"NODE_PATH": str(packages / "node_modules")}
    run_tool(
        [str(program), str(SOURCES / name), *flags, f"--outfile={out}"],
        out.parent,
        modules,
    )


def run_tool(
    command: Sequence[str], folder: Path, more: dict[str, str] | None = None
) -> None:
    """Run a program in `folder`; `PageError` with its last line if it fails."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **(more or {})}, timeout=_WAIT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageError(f"{name} cannot be run: {error}") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise PageError(f"{name} failed: {lines[-1] if lines else 'without a word'}")
