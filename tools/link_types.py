"""Show the package mapping to static tools: link the folders under build/typing/ambulo.

Type checkers and import-linter do not follow the `package-dir` mapping of an editable
install. This script builds the tree that they expect from pyproject.toml: copies of
the files of `src/ambulo`, and a link to each mapped folder (a directory junction on
Windows, which needs no rights). Nothing at run time uses it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "typing" / "ambulo"


def main() -> int:
    """Make `build/typing/ambulo` anew and print where it is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["setuptools"]["package-dir"]
    TARGET.mkdir(parents=True, exist_ok=True)
    for entry in TARGET.iterdir():
        _remove(entry)
    for name, folder in folders.items():
        source = ROOT / folder
        if name == "ambulo":
            for file in source.iterdir():
                if file.is_file():
                    shutil.copy2(file, TARGET / file.name)
        elif source.is_dir():
            _link(source, TARGET / name.removeprefix("ambulo."))
    print(f"linked {len(folders) - 1} folders under {TARGET.relative_to(ROOT)}")
    return 0


def _remove(entry: Path) -> None:
    """Delete a copied file, a cache folder or a link, never what a link points to."""
    if entry.is_symlink() or entry.is_file():
        entry.unlink()
    elif _is_junction(entry):
        entry.rmdir()  # a junction: removes the link alone
    else:
        shutil.rmtree(entry)


def _is_junction(entry: Path) -> bool:
    """Whether the folder `entry` is a Windows directory junction."""
    # Against the resolved parent: a checkout behind a link is no junction.
    return entry.resolve() != entry.parent.resolve() / entry.name


def _link(source: Path, link: Path) -> None:
    if sys.platform == "win32":
        subprocess.run(
            ["cmd", "/c", "mklink", "/J", str(link), str(source)], check=True
        )
    else:
        link.symlink_to(source, target_is_directory=True)


if __name__ == "__main__":
    sys.exit(main())
