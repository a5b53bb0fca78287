"""Installed packages beside those that Ambulo and each of its extras require."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from itertools import takewhile, zip_longest

from ambulo.common.extras import PURPOSES

DISTRIBUTION = "ambulo"
"""Name of the distribution whose requirements count."""
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[[^]]*\])?\s*([^;]*)(?:;(.*))?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_COMPARISONS = re.compile(r"(>=|<=|==|!=|<|>)\s*([\w.]+)")


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
        """What is wrong with it; None if nothing is."""
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
    """What needs the group."""
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
        requirements: lines as in a distribution's metadata (PEP 508, comparisons of
            release numbers alone); None: those of the installed distribution.

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


def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution; None: it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def accepts(wanted: str, version: str) -> bool:
    """Return whether a version meets comparisons such as `>=3.11,<4`.

    Release numbers alone are compared (PEP 440 without pre-releases and local parts).
    """
    compared = [
        (operator, _compare(_release(version), _release(bound)))
        for operator, bound in _COMPARISONS.findall(wanted)
    ]
    rules = {
        ">=": lambda sign: sign >= 0,
        "<=": lambda sign: sign <= 0,
        "==": lambda sign: sign == 0,
        "!=": lambda sign: sign != 0,
        "<": lambda sign: sign < 0,
        ">": lambda sign: sign > 0,
    }
    return all(rules[operator](sign) for operator, sign in compared)


def _package(line: str) -> Package:
    """Return the package of one requirement."""
    match = _REQUIREMENT.match(line)
    if match is None:
        raise ValueError(f"not a requirement: {line!r}")
    name, wanted, marker = match[1], match[2].strip(" ()"), match[3] or ""
    extra = _EXTRA.search(marker)
    version = installed_version(name)
    return Package(name, wanted, version, None if extra is None else extra[1])


def _release(version: str) -> tuple[int, ...]:
    """Return the leading whole numbers of a version: 2.13.0+cpu is (2, 13, 0)."""
    parts = takewhile(str.isdigit, re.split(r"[.+]", version))
    return tuple(int(part) for part in parts)


def _compare(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """Return -1, 0 or 1 as `a` is before, equal to or after `b`; missing parts are 0."""
    for left, right in zip_longest(a, b, fillvalue=0):
        if left != right:
            return -1 if left < right else 1
    return 0
