"""Installed packages beside those that Ambulo and each of its extras require."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from ambulo.common.extras import PURPOSES
from ambulo.common.run_folder import installed_version

DISTRIBUTION = "ambulo"
"""Name of the distribution whose requirements count."""
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")


@dataclass(frozen=True)
class Package:
    """A required package and its state on this machine."""

    name: str
    """Name of its distribution."""
    wanted: str
    """Accepted versions, such as `>=3.11,<4`; empty: any."""
    version: str | None
    """Installed version; None: not installed."""
    extra: str | None
    """The extra that brings it; None: Ambulo itself requires it."""

    @property
    def fault(self) -> str | None:
        """Reason why it cannot be used; None if it can."""
        if self.version is None:
            return "not installed"
        if not accepts(self.wanted, self.version):
            return f"version {self.version}, needs {self.wanted}"
        return None


@dataclass(frozen=True)
class Extra:
    """A group of optional packages."""

    name: str
    """Word in `pip install 'ambulo[...]'`."""
    purpose: str
    """Features that need the group."""
    packages: tuple[Package, ...]
    """Its packages; those of other extras are not counted here."""

    @property
    def faults(self) -> tuple[Package, ...]:
        """The packages that are missing or too old or too new."""
        return tuple(package for package in self.packages if package.fault)

    @property
    def install(self) -> str:
        """The command that installs it."""
        return f"pip install 'ambulo[{self.name}]'"


def required_packages(requirements: Iterable[str] | None = None) -> list[Package]:
    """Return every package that Ambulo or an extra requires, in declared order.

    Args:
        requirements: lines as in a distribution's metadata (PEP 508); None: those of
            the installed distribution.

    Raises:
        PackageNotFoundError: Ambulo runs from a folder and is not installed.
    """
    lines = metadata.requires(DISTRIBUTION) if requirements is None else requirements
    return [_package(line) for line in lines or ()]


def extras(packages: Iterable[Package]) -> list[Extra]:
    """Return the extras that a user may install, with their packages."""
    rows = list(packages)
    return [
        Extra(name, purpose, tuple(row for row in rows if row.extra == name))
        for name, purpose in PURPOSES.items()
    ]


def accepts(wanted: str, version: str) -> bool:
    """Return whether a version meets comparisons such as `>=3.11,<4` (PEP 440)."""
    return SpecifierSet(wanted).contains(version, prereleases=True)


def _package(line: str) -> Package:
    """Return the package of one requirement."""
    requirement = Requirement(line)
    extra = _EXTRA.search(str(requirement.marker or ""))
    version = installed_version(requirement.name)
    return Package(
        requirement.name,
        str(requirement.specifier),
        version,
        None if extra is None else extra[1],
    )
