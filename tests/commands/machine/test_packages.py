"""Versions of packages against requirements."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ambulo.commands.machine.packages import accepts, extras, required_packages
from ambulo.common.extras import EXTRAS, PURPOSES

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OF_DEVELOPERS = {"dev", "docs"}
"""Extras that no command needs."""


@pytest.mark.parametrize(
    ("wanted", "version", "good"),
    [
        (">=3.11,<4", "3.17.0", True),
        ("<4,>=3.11", "4.0.0", False),
        (">=3.11,<4", "3.9", False),
        (">=2.6", "2.13.0+cpu", True),
        (">=2.0", "2", True),
        ("==1.2", "1.2.0", True),
        ("!=1.2", "1.2.0", False),
        ("", "0.0.1", True),
    ],
)
def test_versions_are_compared_by_number(wanted: str, version: str, good: bool) -> None:
    assert accepts(wanted, version) is good


def test_requirements_are_read() -> None:
    lines = [
        "numpy>=2.1",
        "torch >= 900; extra == 'train'",
        "no-such-thing; extra=='ray'",
    ]
    numpy, torch, none = required_packages(lines)
    assert (numpy.name, numpy.wanted, numpy.extra, numpy.fault) == (
        "numpy", ">=2.1", None, None,
    )  # fmt: skip
    assert torch.extra == "train"
    assert torch.fault is not None
    assert "needs >=900" in torch.fault
    assert none.fault == "not installed"
    by_name = {extra.name: extra for extra in extras([numpy, torch, none])}
    assert [row.name for row in by_name["ray"].faults] == ["no-such-thing"]
    assert by_name["ray"].install == "pip install 'ambulo[ray]'"
    assert by_name["tune"].faults == ()


def test_every_extra_has_its_purpose() -> None:
    optional = set(PROJECT["project"]["optional-dependencies"])
    assert optional - OF_DEVELOPERS == set(PURPOSES)
    assert set(EXTRAS) <= set(PURPOSES)
