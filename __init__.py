"""The package `ambulo` for a script that lies beside a clone of that name.

Python would otherwise take the clone's folder for an empty namespace package and not look
at the installed one. No installation holds this file: `src/ambulo` is the package there.
"""

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
__file__ = str(_FOLDER / "src" / "ambulo" / "__init__.py")
__path__ = [str(Path(__file__).parent), str(_FOLDER)]
exec(compile(Path(__file__).read_text(encoding="utf-8"), __file__, "exec"))
