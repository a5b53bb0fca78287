"""`ambulo doctor`: versions, engines and caches, and what is missing for what."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import ambulo
from ambulo.commands.machine.caches import Cache, caches, size_text
from ambulo.commands.machine.engines import Engine, engines
from ambulo.commands.machine.packages import Extra, Package, extras, required_packages
from ambulo.common.command_line import Flags, command
from ambulo.common.files import json_text, write_or_print
from ambulo.common.flag_types import JsonFile
from ambulo.shipped import ELSEWHERE, shipped_models

BROKEN = 1
"""Exit code where a package that Ambulo itself needs is missing or too old."""


@dataclass(frozen=True)
class Diagnosis:
    """The state of this machine."""

    required: tuple[Package, ...]
    """Packages that Ambulo itself needs."""
    extras: tuple[Extra, ...]
    """Optional packages by extra."""
    engines: tuple[Engine, ...]
    """Programs and devices."""
    caches: tuple[Cache, ...]
    """Folders that fill by themselves."""
    models: tuple[str, ...]
    """Installed models."""
    missing_models: tuple[str, ...]
    """Models of the distribution ambulo-models that are not installed."""
    installed: bool
    """Whether Ambulo is an installed distribution rather than a folder on the path."""

    @property
    def healthy(self) -> bool:
        """Whether all that Ambulo itself needs is there."""
        return self.installed and not any(package.fault for package in self.required)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "ambulo": {
                "version": ambulo.__version__,
                "path": str(Path(ambulo.__file__).parent),
                "installed": self.installed,
                "healthy": self.healthy,
            },
            "python": {
                "version": platform.python_version(),
                "executable": sys.executable,
            },
            "platform": platform.platform(),
            "required": [_package_json(package) for package in self.required],
            "extras": [
                {
                    "name": extra.name,
                    "needed_for": extra.purpose,
                    "complete": self.installed and not extra.faults,
                    "install": extra.install,
                    "packages": [_package_json(package) for package in extra.packages],
                }
                for extra in self.extras
            ],
            "engines": [asdict(engine) for engine in self.engines],
            "caches": [asdict(row) | {"path": str(row.path)} for row in self.caches],
            "models": {
                "installed": list(self.models),
                "missing": list(self.missing_models),
            },
        }


@dataclass(frozen=True, kw_only=True)
class DoctorFlags(Flags):
    """Print versions, engines, caches, and what is missing for what."""

    json: JsonFile | None = None
    """as JSON, to FILE or to standard output"""


@command("ambulo doctor")
def main(flags: DoctorFlags) -> int:
    """Print the state of this machine; the exit code is 0 if it is healthy."""
    result = diagnose()
    if flags.json is not None:
        write_or_print(flags.json, json_text(result.to_json(), indent=2))
    else:
        print("\n".join(report(result)))
    return 0 if result.healthy else BROKEN


def diagnose() -> Diagnosis:
    """Inspect this machine; takes a few seconds, because programs are asked."""
    try:
        packages, installed = required_packages(), True
    except metadata.PackageNotFoundError:
        packages, installed = [], False
    models = shipped_models()
    return Diagnosis(
        required=tuple(package for package in packages if package.extra is None),
        extras=tuple(extras(packages)),
        engines=tuple(engines()),
        caches=tuple(caches()),
        models=tuple(models),
        missing_models=tuple(name for name in ELSEWHERE if name not in models),
        installed=installed,
    )


def report(found: Diagnosis) -> Iterator[str]:
    """Yield the lines that are printed."""
    yield f"Ambulo {ambulo.__version__} in {Path(ambulo.__file__).parent}"
    yield f"Python {platform.python_version()} at {sys.executable}"
    yield platform.platform()
    yield ""
    yield from _package_lines(found)
    yield ""
    yield "Engines and devices"
    for engine in found.engines:
        yield _line(engine.found, engine.name, engine.detail)
        if not engine.found:
            yield f"{'':<21}needed for: {engine.needed_for}"
    yield ""
    yield f"Models: {len(found.models)} installed"
    if found.missing_models:
        yield _line(False, "ambulo-models", ", ".join(found.missing_models))
    yield ""
    yield "Caches (may be deleted: they are made again)"
    for cache in found.caches:
        files = f"{cache.files} files"
        yield (
            f"  {cache.name:<24} {size_text(cache.bytes):>10} {files:>12}  {cache.path}"
        )


def _package_lines(found: Diagnosis) -> Iterator[str]:
    """Yield the lines on packages."""
    yield "Packages"
    if not found.installed:
        yield _line(False, "ambulo", "not installed: pip install -e . in the checkout")
        return
    faults = [package for package in found.required if package.fault]
    versions = ", ".join(f"{row.name} {row.version}" for row in found.required)
    yield _line(not faults, "required", _faults(faults) or versions)
    for extra in found.extras:
        yield _line(
            not extra.faults, extra.name, _faults(extra.faults) or extra.purpose
        )
        if extra.faults:
            yield f"{'':<21}needed for: {extra.purpose}"
            yield f"{'':<21}{extra.install}"


def _faults(packages: Sequence[Package]) -> str:
    """Return what is wrong with packages; empty if there are none."""
    return ", ".join(f"{package.name} ({package.fault})" for package in packages)


def _line(good: bool, name: str, detail: str) -> str:
    """Return a line with a mark, for terminals without colours too."""
    return f"  {'ok' if good else '--'}  {name:<14} {detail}"


def _package_json(package: Package) -> dict[str, str | None]:
    """Return a package as plain JSON values."""
    names = ("name", "wanted", "version", "fault")
    return {name: getattr(package, name) for name in names}
